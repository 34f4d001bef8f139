import { createHmac } from 'node:crypto';
import { webhookEvents } from '../../config/check-webhooks.ts';
import type { Webhook, WebhookEvent } from '../../config/model.ts';
import { globalsCategory } from '../../config/schema.ts';
import { splitStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import type { DeliveryView } from '../ports.ts';

/** The document or global of an event, and what happened to it; `key` is its key in the schema. */
export type DeliverySubject = {
  target: { kind: 'collection' | 'global'; slug: string };
  key: string;
  id: string;
  event: WebhookEvent;
};

/** The subject of an event; null if webhooks are not told of it. */
export function subjectOf(
  { type, stream }: Pick<Header, 'type' | 'stream'>,
  names: CollectionNames,
): DeliverySubject | null {
  const event = webhookEvents.find((one) => one === type);
  if (event === undefined) return null;
  const [category, id] = splitStream(stream);
  if (category === globalsCategory) return { target: { kind: 'global', slug: id }, key: stream, id, event };
  return { target: { kind: 'collection', slug: names.slugFor(category) }, key: category, id, event };
}

/**
 * The message about an event. It has no content, so that nothing must be erased at a receiver. `id` is null for a
 * global.
 */
type Message = Pick<DeliveryView, 'type' | 'timestamp' | 'data'>;

/** The message about an event, the same for each attempt. */
export function messageOf(
  { type, stream, recordedAt, version, position, batch }: Header,
  names: CollectionNames,
): Message {
  const [category, id] = splitStream(stream);
  const about = category === globalsCategory ? { global: id, id: null } : { collection: names.slugFor(category), id };
  return { type, timestamp: recordedAt, data: { ...about, version, position, batch: batch ?? null } };
}

/**
 * The id of a delivery: the same for each attempt, different for each webhook. It has no dot, as the signature
 * requires.
 */
export function deliveryIdOf(event: string, webhook: string): string {
  return `${event}_${webhook}`;
}

/**
 * The headers of a message (Standard Webhooks, version 1: HMAC-SHA256 over id, time of the attempt and body).
 *
 * @param message `at` is the time of the attempt, in milliseconds since the epoch.
 */
export function signedHeaders(
  { secret }: Pick<Webhook, 'secret'>,
  { id, body, at }: { id: string; body: string; at: number },
) {
  const timestamp = String(Math.floor(at / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'user-agent': 'Annals',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}
