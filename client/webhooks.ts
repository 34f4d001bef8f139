import { segment } from './address.ts';
import { isObject } from './answers.ts';
import type { Webhooks } from './api.ts';
import type { Caller } from './calls.ts';
import type { CallOptions } from './options.ts';

const path = '/api/webhooks';

/** The calls about webhooks. */
export function webhooksOf({ bodyOf }: Caller) {
  const webhookOf = (name: string) => `${path}/${segment('the name of a webhook', name)}`;
  const pathOf = (name: string) => `${webhookOf(name)}/deliveries`;

  return {
    list: async (options?: CallOptions) => {
      const gives = (body: unknown) => isObject(body) && Array.isArray(body.webhooks);
      return (await bodyOf<{ webhooks: unknown[] }>({ method: 'GET', path, options, gives })).webhooks;
    },
    deliveries: async (name: string, options?: object) => bodyOf({ method: 'GET', path: pathOf(name), options }),
    retry: async (name: string, id: string, options?: CallOptions) => {
      const call = `${pathOf(name)}/${segment('the id of a delivery', id)}/retry`;
      return bodyOf({ method: 'POST', path: call, options, isRepeatable: true });
    },
    retryAll: async (name: string, options?: CallOptions) =>
      bodyOf({ method: 'POST', path: `${webhookOf(name)}/retry`, options, isRepeatable: true }),
  } satisfies Record<keyof Webhooks, unknown>;
}
