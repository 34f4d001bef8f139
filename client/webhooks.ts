import { segment } from './address.ts';
import type { Webhooks } from './api.ts';
import type { Caller } from './calls.ts';
import { isPage } from './documents.ts';
import type { CallOptions } from './options.ts';

const path = '/api/webhooks';

/** The calls about webhooks. */
export function webhooksOf({ bodyOf }: Caller) {
  const webhookOf = (name: string) => `${path}/${segment('the name of a webhook', name)}`;
  const pathOf = (name: string) => `${webhookOf(name)}/deliveries`;
  const deliveryOf = (name: string, id: string) => `${pathOf(name)}/${segment('the id of a delivery', id)}`;

  return {
    list: (options?: object) => bodyOf({ method: 'GET', path, options, gives: isPage }),
    get: async (name: string, options?: CallOptions) => bodyOf({ method: 'GET', path: webhookOf(name), options }),
    deliveries: async (name: string, options?: object) =>
      bodyOf({ method: 'GET', path: pathOf(name), options, gives: isPage }),
    delivery: async (name: string, id: string, options?: CallOptions) =>
      bodyOf({ method: 'GET', path: deliveryOf(name, id), options }),
    retry: async (name: string, id: string, options?: CallOptions) =>
      bodyOf({ method: 'POST', path: `${deliveryOf(name, id)}/retry`, options, isRepeatable: true }),
    retryAll: async (name: string, options?: CallOptions) =>
      bodyOf({ method: 'POST', path: `${webhookOf(name)}/retry`, options, isRepeatable: true }),
  } satisfies Record<keyof Webhooks, unknown>;
}
