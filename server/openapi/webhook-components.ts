import { webhookEvents } from '../../config/check-webhooks.ts';
import {
  choice,
  closed,
  count,
  described,
  either,
  listOf,
  orNull,
  pageOf,
  place,
  refTo,
  text,
  time,
} from './basics.ts';

const slugs = either(choice(['*']), listOf(text));

const webhook = closed({
  name: text,
  origin: described(text, 'Of its URL, the rest of which may be secret.'),
  collections: slugs,
  globals: slugs,
  events: listOf(choice(webhookEvents)),
  position: described(count, 'Up to which position of the log events were looked at.'),
  waiting: described(count, 'Deliveries that are still to be made.'),
  parked: described(count, 'Deliveries that failed for 3 days.'),
  lastDeliveredAt: orNull(time),
});

const delivery = closed({
  id: described(text, 'The header `webhook-id` of each attempt.'),
  state: choice(['waiting', 'parked']),
  type: text,
  timestamp: described(time, 'When the event was recorded.'),
  data: closed(
    { collection: text, global: text, id: orNull(text), version: place, position: place, batch: orNull(text) },
    ['id', 'version', 'position', 'batch'],
  ),
  attempts: count,
  lastAttemptAt: orNull(time),
  nextAttemptAt: described(orNull(time), 'Null: it is parked, or waits for an earlier one of its document.'),
  error: described(orNull(text), 'Why the last attempt failed.'),
});

/** The schemas of the routes of webhooks. */
export const webhookSchemas = {
  Webhook: webhook,
  DeliveryList: pageOf(refTo('Delivery', delivery)),
  Webhooks: closed({ webhooks: listOf(refTo('Webhook', webhook)) }),
  Delivery: delivery,
};
