import type { Webhook } from '../../config/model.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import type { DeliveryView, WebhookPort, WebhookView } from '../ports.ts';
import { entriesOf } from '../queries/pages.ts';
import type { Deliveries, Delivery } from './deliveries.ts';
import { messageOf, type ToldEvent } from './messages.ts';

type Options = {
  webhooks: readonly Webhook[];
  deliveries: Deliveries;
  told: (position: number) => Header & ToldEvent;
  names: CollectionNames;
  now: () => number;
};

/**
 * Webhooks and deliveries as answers show them: without secrets, and only with the origin of a URL, whose path may hold
 * one.
 */
export function openViews({ webhooks, deliveries, told, names, now }: Options): WebhookPort {
  const isKnown = (name: string) => webhooks.some((webhook) => webhook.name === name);

  async function viewOf({ name, url, collections, globals, events }: Webhook): Promise<WebhookView> {
    const { deliveredAt, ...progress } = await deliveries.progress(name);
    const { origin } = new URL(url);
    return { name, origin, collections, globals, events, ...progress, lastDeliveredAt: timeOf(deliveredAt) };
  }

  function deliveryOf({ id, position, isParked, attempts, triedAt, dueAt, failure }: Delivery): DeliveryView {
    return {
      id,
      state: isParked ? 'parked' : 'waiting',
      ...messageOf(told(position), names),
      attempts,
      lastAttemptAt: timeOf(triedAt),
      nextAttemptAt: timeOf(dueAt),
      error: failure,
    };
  }

  return {
    page: async (asked) => ({
      webhooks: await Promise.all(entriesOf(webhooks, asked).map(viewOf)),
      total: webhooks.length,
    }),
    async find(name) {
      const webhook = webhooks.find((one) => one.name === name);
      return webhook ? viewOf(webhook) : null;
    },
    async deliveries(name, query) {
      if (!isKnown(name)) return null;
      const { found, total } = await deliveries.page(name, query);
      return { deliveries: found.map(deliveryOf), total };
    },
    async delivery(name, id) {
      const delivery = isKnown(name) ? await deliveries.find(name, id) : null;
      return delivery && deliveryOf(delivery);
    },
    async retryAll(name) {
      const webhook = webhooks.find((one) => one.name === name);
      if (!webhook) return null;
      await deliveries.retryAll(name, now());
      return viewOf(webhook);
    },
    async retry(name, id) {
      const delivery = isKnown(name) ? await deliveries.retry(name, id, now()) : null;
      return delivery && deliveryOf(delivery);
    },
  };
}

function timeOf(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
