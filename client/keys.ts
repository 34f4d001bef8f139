import { segment } from './address.ts';
import type { Keys } from './api.ts';
import type { Caller } from './calls.ts';
import { isPage } from './documents.ts';
import type { CallOptions, KeyedOptions, ReasonOptions } from './options.ts';
import type { AnyConfig } from './types/config.ts';

const path = '/api/keys';

/** The calls about API keys. With its idempotency key, a repeated call gives the same secret again. */
export function keysOf({ bodyOf }: Caller) {
  const pathOf = (id: string) => `${path}/${segment('the id of an API key', id)}`;

  return {
    list: (options?: object) => bodyOf({ method: 'GET', path, options, gives: isPage }),
    get: async (id: string, options?: CallOptions) => bodyOf({ method: 'GET', path: pathOf(id), options }),
    create: (data: object, options?: KeyedOptions) => bodyOf({ method: 'POST', path, data, options, isKeyed: true }),
    rotate: (id: string, { overlapSeconds, ...options }: KeyedOptions & { overlapSeconds?: number | undefined } = {}) =>
      bodyOf({ method: 'POST', path: `${pathOf(id)}/rotate`, data: { overlapSeconds }, options, isKeyed: true }),
    revoke: (id: string, options?: ReasonOptions) => bodyOf({ method: 'DELETE', path: pathOf(id), options }),
  } satisfies Record<keyof Keys<AnyConfig>, unknown>;
}
