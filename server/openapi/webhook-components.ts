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
  origin: described(text, 'The origin of the URL, the rest of which may be secret.'),
  collections: slugs,
  globals: slugs,
  events: listOf(choice(webhookEvents)),
  position: described(count, 'The position of the log up to which events were processed.'),
  waiting: described(count, 'The number of deliveries that are still to be made.'),
  parked: described(count, 'The number of deliveries that failed for 3 days.'),
  lastDeliveredAt: orNull(time),
});

const delivery = closed({
  id: described(text, 'The header `webhook-id` of each attempt.'),
  state: choice(['waiting', 'parked']),
  type: text,
  timestamp: described(time, 'The time at which the event was recorded.'),
  data: closed(
    {
      collection: text,
      global: text,
      release: described(text, 'The id of a release that failed.'),
      id: orNull(text),
      version: place,
      position: place,
      batch: orNull(text),
      cause: described(
        choice(['published', 'unpublished']),
        'Present if readers see the change because a draft was published, or a document unpublished.',
      ),
    },
    ['id', 'version', 'position', 'batch'],
  ),
  attempts: count,
  lastAttemptAt: orNull(time),
  nextAttemptAt: described(
    orNull(time),
    'The time of the next attempt; null if the delivery is parked, or waits for an earlier one of its document.',
  ),
  error: described(orNull(text), 'The reason why the last attempt failed.'),
});

/** The schemas of the routes of webhooks. */
export const webhookSchemas = {
  Webhook: webhook,
  DeliveryList: pageOf(refTo('Delivery', delivery)),
  Webhooks: pageOf(refTo('Webhook', webhook)),
  Delivery: delivery,
};
