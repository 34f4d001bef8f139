import { hash, randomFillSync } from 'node:crypto';
import type { JsonObject } from '../../config/schema.ts';
import type { EventType } from './catalogue.ts';

/** The cause of an event: a user, an API key, the service. `id` is opaque: never an e-mail, a name or a key. */
export type Actor = { type: 'user' | 'apiKey' | 'system' | 'anonymous'; id?: string };

/**
 * The public part of an event. Its canonical JSON (RFC 8785), stored byte for byte, is the leaf of the tree; it holds
 * no personal data and no secret, so it stays when a payload is erased.
 */
export type Header = {
  /** The version of the header; 1 in events from before log format 3. */
  v: 1 | 2;
  log: string;
  /** Place in the whole log, gap-free from 1. */
  position: number;
  /** UUID v7. */
  id: string;
  stream: string;
  /** Place in the stream, gap-free from 1. */
  version: number;
  type: EventType;
  /** Version of this type's `data`, for upcasters. */
  schemaVersion: number;
  /** ISO 8601, UTC, milliseconds; never decreases along the log, except at a correction of the clock. */
  recordedAt: string;
  actor: Actor;
  /** The request that caused the event. */
  correlationId: string;
  /** UUID v7, equal in all events of one bulk call; never in a header of version 1. */
  batch?: string;
  /** `sha256:` and the hexadecimal commitment to the payload. */
  payload: string;
};

/** The erasable part of an event. `salt` makes the commitment unguessable once the payload is gone. */
export type Payload = { salt: string; data: JsonObject; context: Context };

/** The kinds of bulk calls. */
export type BulkKind =
  | 'create'
  | 'upsert'
  | 'update'
  | 'delete'
  | 'publish'
  | 'unpublish'
  | 'discard'
  | 'undo'
  | 'release';

/**
 * The personal data and free text of an event, kept out of the header; in an event of a bulk call also its kind, and
 * the batch that it undoes.
 */
export type Context = {
  ip?: string;
  userAgent?: string;
  reason?: string;
  rule?: string;
  call?: BulkKind;
  undoes?: string;
};

/**
 * The canonical JSON (RFC 8785) of a header: members in the order of their names, no white space. `JSON.stringify`
 * writes strings and safe integers as RFC 8785 wants them, and a header holds nothing else; a test compares it with
 * an independent implementation.
 */
export function encodeHeader(header: Header): string {
  const { actor } = header;
  return JSON.stringify({
    actor: actor.id === undefined ? { type: actor.type } : { id: actor.id, type: actor.type },
    batch: header.v === 1 ? undefined : header.batch,
    correlationId: header.correlationId,
    id: header.id,
    log: header.log,
    payload: header.payload,
    position: header.position,
    recordedAt: header.recordedAt,
    schemaVersion: header.schemaVersion,
    stream: header.stream,
    type: header.type,
    v: header.v,
    version: header.version,
  });
}

/** A header from its text in the log; the values are not checked. */
export function headerOf(text: string): Header {
  return JSON.parse(text);
}

/** A payload from its text in the log; null if it has been erased. */
export function payloadOf(text: string): Payload;
export function payloadOf(text: string | null): Payload | null;
export function payloadOf(text: string | null): Payload | null {
  return text === null ? null : JSON.parse(text);
}

/** The payload's text as it is stored, with a fresh salt of 32 random bytes in base64. */
export function encodePayload(data: JsonObject, context: Context): string {
  return JSON.stringify({ salt: randomSalt(), data, context } satisfies Payload);
}

// Asking the system for 32 bytes at a time costs more than hashing the payload.
const pool = Buffer.alloc(32 * 128);
let used = pool.length;

function randomSalt(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += 32;
  return pool.toString('base64', used - 32, used);
}

const payloadDomain = 'annals-payload-v1\0';

/** The commitment to a payload: SHA-256 of "annals-payload-v1", a zero byte and the stored bytes. */
export function commitmentOf(body: string | Buffer): string {
  const input = typeof body === 'string' ? payloadDomain + body : Buffer.concat([Buffer.from(payloadDomain), body]);
  return `sha256:${hash('sha256', input, 'hex')}`;
}
