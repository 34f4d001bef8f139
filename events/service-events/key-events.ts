import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import { keyStream } from '../facts/catalogue.ts';
import type { Actor } from '../facts/envelope.ts';
import { type Change, changeOf, type RecordedEvent } from '../facts/log.ts';
import type { LogReader } from '../log/log-reader.ts';

/** A key as events name it. If its verifier key is lost, there is only the id, which is part of each signature. */
export type NamedKey = { id: string; verifierKey?: string };

/**
 * A change of a key that signs a log. `signed`: the most events that a disowned key is known to have vouched for.
 * `handover`: the note in which the key named its successor, see {@link readHandover}.
 */
export type KeyChange =
  | { kind: 'replaced'; from: NamedKey; to: NamedKey; handover?: string; reason: string }
  | { kind: 'disowned'; key: NamedKey; signed?: number; reason: string };

/** A change of a key as the log has recorded it. */
export type KeyEvent = { position: number; recordedAt: string; actor: Actor; change: KeyChange };

/**
 * The event of a change; its command has the reason in its context.
 *
 * @param expectedVersion the version of the stream of keys that was read: of several nodes that record a change, one
 * succeeds.
 */
export function decideKeyChange(change: KeyChange, expectedVersion: number): Change {
  const data: JsonObject =
    change.kind === 'replaced'
      ? { from: change.from, to: change.to, ...(change.handover === undefined ? {} : { handover: change.handover }) }
      : { key: change.key, ...(change.signed === undefined ? {} : { signed: change.signed }) };
  return changeOf(keyStream, [{ type: `log.key.${change.kind}`, data }], expectedVersion);
}

/** The events about the keys of a log, oldest first. An event that does not name its keys is left out. */
export function readKeyEvents(log: Pick<LogReader, 'stream'>): KeyEvent[] {
  return log.stream(keyStream).flatMap((event) => {
    const change = changeIn(event);
    const { position, recordedAt, actor } = event.header;
    return change ? [{ position, recordedAt, actor, change }] : [];
  });
}

/** The version of the stream of keys. */
export function keyStreamVersion(log: Pick<LogReader, 'stream'>): number {
  return log.stream(keyStream).at(-1)?.header.version ?? 0;
}

/** Whether two changes are the same, apart from their reasons. */
export function isSameChange(one: KeyChange, other: KeyChange): boolean {
  if (one.kind === 'disowned') return other.kind === 'disowned' && one.key.id === other.key.id;
  return other.kind === 'replaced' && one.from.id === other.from.id && one.to.id === other.to.id;
}

function changeIn({ header: { type }, data, context }: RecordedEvent): KeyChange | null {
  const reason = context?.reason ?? '';
  if (type === 'log.key.replaced') {
    const [from, to] = [keyIn(data?.from), keyIn(data?.to)];
    const { handover } = data ?? {};
    return from && to && { kind: 'replaced', from, to, ...(typeof handover === 'string' && { handover }), reason };
  }
  if (type !== 'log.key.disowned') return null;
  const key = keyIn(data?.key);
  return key && { kind: 'disowned', key, ...(typeof data?.signed === 'number' && { signed: data.signed }), reason };
}

function keyIn(value: Json | undefined): NamedKey | null {
  const { id, verifierKey } = isObject(value) ? value : {};
  if (typeof id !== 'string') return null;
  return { id, ...(typeof verifierKey === 'string' && { verifierKey }) };
}
