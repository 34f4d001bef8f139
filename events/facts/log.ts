import { DomainError } from '../../config/errors.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { EventType } from './catalogue.ts';
import type { Actor, Context, Header } from './envelope.ts';

/** A fact to be recorded. `data` holds results, so that a replay needs no hook, clock or randomness. */
export type NewEvent = { type: EventType; data: JsonObject };

/**
 * A unique value: `scope` is `<slug>.<field path>`, `value` its JSON text, so that 1 and "1" differ. `former` is an
 * older text of the same value, under which a stream may still hold it.
 */
export type Claim = { scope: string; value: string; former?: string };

/** Events to be appended to one stream. */
export type Change = {
  stream: string;
  /**
   * The version that the writer expects the stream to have; 0 for a stream that must not exist yet; null if the events
   * are true whatever came before them.
   */
  expectedVersion: number | null;
  events: NewEvent[];
  claims: Claim[];
  releases: Claim[];
  /** The rule that admits the change, if it is not the rule of the whole command. */
  rule?: string;
};

/** A change that claims and releases no unique value; by default its events are true whatever came before them. */
export function changeOf(stream: string, events: NewEvent[], expectedVersion: number | null = null): Change {
  return { stream, expectedVersion, events, claims: [], releases: [] };
}

/** The changes that one request wants to append, decided as a whole. */
export type Command = Change & {
  /**
   * Changes of other streams that are recorded after its own change, in this order: all or nothing. All values that the
   * command gives up are free for each of its changes, in any order; its stream must hold a value before the command.
   */
  otherStreams?: Change[];
  /** Kept with it for as long as the client may repeat it. */
  idempotency?: IdempotencyRecord;
  /** Streams whose payloads so far go, with all that was derived from them: the command's event says that they did. */
  erases?: string[];
  actor: Actor;
  correlationId: string;
  /** The bulk call that the command belongs to: a UUID v7. */
  batch?: string;
  context: Context;
};

/** A recorded event. `data` and `context` are null once its payload has been erased. */
export type RecordedEvent = { header: Header; data: JsonObject | null; context: Context | null };

/**
 * The name of a write that a client may send again, to get the first answer again. Both are keyed hashes, so nothing is
 * learnt from them. `key`: of the actor, the route and the `Idempotency-Key`; `fingerprint`: of the body.
 */
export type IdempotencyRecord = { key: string; fingerprint: string };

/**
 * The first answer under an idempotency key: what is needed to give it again. `position` and `version` are those of its
 * stream.
 */
export type FirstAnswer = { fingerprint: string; stream: string; position: number; version: number };

/**
 * The result of a command. `position`, of its last event, and `version` are about its own stream. A conflict means that
 * nothing was recorded. Stale versions are looked for first, in all streams: a decision made on one must be made anew.
 */
export type Outcome =
  | { ok: true; position: number; version: number; recordedAt: string }
  | { ok: false; conflict: 'version'; version: number }
  | { ok: false; conflict: 'claim'; claim: Claim }
  /** A command with this idempotency key was recorded before. */
  | { ok: false; conflict: 'idempotency'; first: FirstAnswer };

/**
 * The append port: the only way anything changes. Each command is answered once it is durable and can be read.
 *
 * @throws UnknownOutcomeError, UnreadError; DomainError `unavailable` if there was no disk space; then nothing was
 * recorded.
 */
export type Append = (command: Command) => Promise<Outcome>;

/**
 * Thrown if the writer ended before it answered a command: only the next start finds out whether the command was
 * recorded. Nothing that the command names may be undone, for its commit may be on the disk although it cannot be seen.
 */
export class UnknownOutcomeError extends Error {
  override name = 'UnknownOutcomeError';
}

/** Thrown if a command was recorded, but cannot be read yet. */
export class UnreadError extends DomainError {
  override name = 'UnreadError';
}
