import { createHmac } from 'node:crypto';
import { webhookEvents } from '../../config/check-webhooks.ts';
import type { Webhook, WebhookEvent } from '../../config/model.ts';
import { globalsCategory } from '../../config/schema.ts';
import { releaseIdOf, splitStream } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import type { DeliveryView } from '../ports.ts';

/**
 * The document, global or release of an event, and what happened to it; `key` is its key in the schema. The slug of a
 * release is its id.
 */
export type DeliverySubject = {
  target: { kind: 'collection' | 'global' | 'release'; slug: string };
  key: string;
  id: string;
  event: WebhookEvent;
};

/** An event, and whether its document was public before it. */
export type ToldEvent = Pick<Header, 'type' | 'stream'> & { wasPublic: boolean };

/** The events of webhooks in which publications are told, and their causes. */
const asForReaders: { readonly [type: string]: { event: WebhookEvent; cause: 'published' | 'unpublished' } } = {
  'document.published': { event: 'document.updated', cause: 'published' },
  'document.unpublished': { event: 'document.deleted', cause: 'unpublished' },
  'global.published': { event: 'global.updated', cause: 'published' },
};

/** The event of webhooks in which an event is told: of what is public, it says what readers see of it. */
function toldAs({ type, wasPublic }: Pick<ToldEvent, 'type' | 'wasPublic'>) {
  const told = asForReaders[type];
  if (told) return type === 'document.published' && !wasPublic ? { ...told, event: 'document.created' as const } : told;
  const event = webhookEvents.find((one) => one === type);
  return event === undefined ? null : { event, cause: null };
}

/** The subject of an event; null if webhooks are not told of it. */
export function subjectOf({ type, stream, wasPublic }: ToldEvent, names: CollectionNames): DeliverySubject | null {
  const event = toldAs({ type, wasPublic })?.event;
  if (event === undefined) return null;
  const release = releaseIdOf(stream);
  if (release !== null) return { target: { kind: 'release', slug: release }, key: stream, id: release, event };
  const [category, id] = splitStream(stream);
  if (category === globalsCategory) return { target: { kind: 'global', slug: id }, key: stream, id, event };
  return { target: { kind: 'collection', slug: names.slugFor(category) }, key: category, id, event };
}

/**
 * The message about an event. It has no content, so that nothing must be erased at a receiver. `id` is null for a
 * global and for a release.
 */
type Message = Pick<DeliveryView, 'type' | 'timestamp' | 'data'>;

/** The message about an event, the same for each attempt. */
export function messageOf(
  { type, stream, recordedAt, version, position, batch, wasPublic }: Header & ToldEvent,
  names: CollectionNames,
): Message {
  const { event, cause } = toldAs({ type, wasPublic }) ?? { event: type, cause: null };
  const [category, id] = splitStream(stream);
  const release = releaseIdOf(stream);
  const document =
    category === globalsCategory ? { global: id, id: null } : { collection: names.slugFor(category), id };
  const about = release === null ? document : { release, id: null };
  const data = { ...about, version, position, batch: batch ?? null, ...(cause && { cause }) };
  return { type: event, timestamp: recordedAt, data };
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
