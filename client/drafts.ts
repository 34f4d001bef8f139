import { segment } from './address.ts';
import type { Drafts, DraftTarget } from './api.ts';
import type { Caller } from './calls.ts';
import { isPage } from './documents.ts';
import type { CallOptions, WriteOptions } from './options.ts';
import type { AnyConfig } from './types/config.ts';

const path = '/api/drafts';

/** The calls about unsaved changes of the user. */
export function draftsOf({ bodyOf }: Caller) {
  return {
    list: (options?: object) => bodyOf({ method: 'GET', path, options, gives: isPage }),
    get: (target: DraftTarget<AnyConfig>, options?: CallOptions) =>
      bodyOf({ method: 'GET', path: pathOf(target), options }),
    keep: (target: DraftTarget<AnyConfig>, draft: object, options?: WriteOptions) =>
      bodyOf({
        method: 'PUT',
        path: pathOf(target),
        data: draft,
        options,
        isRepeatable: options?.ifMatch === undefined,
      }),
    drop: (target: DraftTarget<AnyConfig>, options?: WriteOptions) =>
      bodyOf({ method: 'DELETE', path: pathOf(target), options }),
  } satisfies Record<keyof Drafts<AnyConfig>, unknown>;
}

function pathOf(target: DraftTarget<AnyConfig>): string {
  if ('global' in target) return `${path}/globals/${segment('the slug of a global', target.global)}`;
  return `${path}/${segment('the slug of a collection', target.collection)}/${segment('id', target.id)}`;
}
