import { segment } from './address.ts';
import type { Caller } from './calls.ts';
import { isPage } from './documents.ts';
import type { CallOptions, WriteOptions } from './options.ts';
import type { AnyConfig } from './types/config.ts';
import type { Releases, ReleaseTarget } from './types/releases.ts';

const path = '/api/releases';

/** The calls about releases. */
export function releasesOf({ bodyOf }: Caller) {
  const pathOf = (id: string, end = '') => `${path}/${segment('the id of a release', id)}${end}`;
  const post = async (
    id: string,
    end: string,
    { data, options }: { data?: object; options?: WriteOptions | undefined },
  ) => bodyOf({ method: 'POST', path: pathOf(id, end), ...(data && { data }), options, isKeyed: true });

  return {
    list: (options?: object) => bodyOf({ method: 'GET', path, options, gives: isPage }),
    get: async (id: string, options?: CallOptions) => bodyOf({ method: 'GET', path: pathOf(id), options }),
    create: (data: object, options?: WriteOptions) => bodyOf({ method: 'POST', path, data, options, isKeyed: true }),
    update: async (id: string, data: object, options?: WriteOptions) =>
      bodyOf({ method: 'PATCH', path: pathOf(id), data, options, isKeyed: true }),
    setItems: (id: string, items: readonly object[], options?: WriteOptions) =>
      post(id, '/items', { data: { items }, options }),
    removeItem: async (id: string, target: ReleaseTarget<AnyConfig>, options?: WriteOptions) =>
      bodyOf({ method: 'DELETE', path: pathOf(id, `/items/${itemOf(target)}`), options, isKeyed: true }),
    schedule: (id: string, time: object, options?: WriteOptions) => post(id, '/schedule', { data: time, options }),
    unschedule: (id: string, options?: WriteOptions) => post(id, '/unschedule', { options }),
    check: async (id: string, options?: CallOptions) =>
      bodyOf({ method: 'POST', path: pathOf(id, '/check'), options, isRepeatable: true }),
    publish: (id: string, options?: WriteOptions) => post(id, '/publish', { options }),
    archive: async (id: string, options?: WriteOptions) =>
      bodyOf({ method: 'DELETE', path: pathOf(id), options, isKeyed: true }),
  } satisfies Record<keyof Releases<AnyConfig>, unknown>;
}

function itemOf(target: ReleaseTarget<AnyConfig>): string {
  if ('global' in target) return `globals/${segment('the slug of a global', target.global)}`;
  return `${segment('the slug of a collection', target.collection)}/${segment('id', target.id)}`;
}
