import { segment } from './address.ts';
import type { Keys } from './api.ts';
import type { Caller } from './calls.ts';
import { isPage } from './documents.ts';
import type { CallOptions, ReasonOptions } from './options.ts';
import type { AnyConfig } from './types/config.ts';

const path = '/api/keys';

/**
 * The calls about API keys. Only reads are repeated after a failure: a repeated rotation, for example, would make
 * another secret.
 */
export function keysOf({ bodyOf }: Caller) {
  const pathOf = (id: string) => `${path}/${segment('the id of an API key', id)}`;

  return {
    list: (options?: object) => bodyOf({ method: 'GET', path, options, gives: isPage }),
    get: async (id: string, options?: CallOptions) => bodyOf({ method: 'GET', path: pathOf(id), options }),
    create: (data: object, options?: ReasonOptions) => bodyOf({ method: 'POST', path, data, options }),
    rotate: (
      id: string,
      { overlapSeconds, ...options }: ReasonOptions & { overlapSeconds?: number | undefined } = {},
    ) => bodyOf({ method: 'POST', path: `${pathOf(id)}/rotate`, data: { overlapSeconds }, options }),
    revoke: (id: string, options?: ReasonOptions) => bodyOf({ method: 'DELETE', path: pathOf(id), options }),
  } satisfies Record<keyof Keys<AnyConfig>, unknown>;
}
