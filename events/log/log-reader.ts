import { pluckLate, type Sqlite } from '../../storage/sqlite.ts';
import { clockStream } from '../facts/catalogue.ts';
import { headerOf, payloadOf } from '../facts/envelope.ts';
import { openErasures } from '../facts/erasures.ts';
import type { RecordedEvent } from '../facts/log.ts';
import { readCheckpoints } from '../proof/checkpoints.ts';
import { rootOf, treeAt } from '../proof/merkle.ts';
import { openNote, parseCheckpoint, parseVerifierKey } from '../proof/notes.ts';
import type { TreeHead } from '../proof/proofs.ts';
import { missingEvent } from '../store/altered.ts';
import { readStoredTree } from '../store/stored-tree.ts';
import { readStreamIndex } from '../store/stream-index.ts';
import type { EventText } from './event-checks.ts';
import { readEvents } from './event-reader.ts';

export type LogReader = ReturnType<typeof readLog>;

/**
 * Reads a log. Safe beside a running writer: every call sees a whole batch or nothing of it. A file that is not a log
 * of this format can be opened too; `isLog` then says so.
 *
 * The reader gives the events that were recorded: it compares each header with the tree that the head proves, and each
 * payload with the commitment in its header. An event that differs, that is missing, or that was erased and still has
 * its payload is an AlteredEventError. Which events a stream has is taken from the index, except for gaps, which are
 * noticed.
 */
export function readLog(db: Sqlite) {
  const tree = readStoredTree(db);
  const { head } = tree;
  const streams = readStreamIndex(db);
  const { streamTexts, hashes, ...events } = readEvents(db, tree);
  const selectClaim = pluckLate<[scope: string, value: string], string>(
    db,
    'SELECT stream FROM claims WHERE scope = ? AND value = ?',
  );

  return {
    head,
    ...streams,
    ...events,
    /** Hashes of the tree that the head proves. */
    hashes,
    /** The hashes as they are stored, not proven. */
    storedHashes: tree.hashes,
    /** The events at positions `after + 1` to `upTo`, in order. */
    range: (after: number, upTo: number): RecordedEvent[] => events.texts(after, upTo).map(eventOf),
    /** All events of a stream, oldest first. */
    stream: (name: string): RecordedEvent[] => streamTexts(name).map(eventOf),
    /** See {@link positionAt}. */
    positionAt: (time: string): number =>
      positionAt({ head, headers: events.headers, positionsOf: streams.positionsOf }, time),
    /** The stream that holds a unique value; null for a value that is free. */
    holderOf: (scope: string, value: string): string | null => selectClaim().get(scope, value) ?? null,
    /** The root the tree had when it held `size` events. */
    rootAt: (size: number): Buffer => rootOf(treeAt(size, hashes)),
    signedHeads: (keys: readonly string[]): TreeHead[] => signedHeads(db, keys),
    erasures: openErasures(db),
  };
}

/** The heads in the checkpoints of a log that one of these verifier keys has signed. */
function signedHeads(db: Sqlite, keys: readonly string[]): TreeHead[] {
  const verifiers = keys.map(parseVerifierKey);
  return [...readCheckpoints(db).all()].flatMap(({ note }) => {
    const head = parseCheckpoint(openNote(note, verifiers)?.text ?? '');
    return head ? [head] : [];
  });
}

/** The stored texts of one event. @throws AlteredEventError if it is missing. */
export function textAt(log: Pick<LogReader, 'texts'>, position: number): EventText {
  const [text] = log.texts(position - 1, position);
  if (!text) throw missingEvent(position);
  return text;
}

/** The event in its stored texts. */
export function eventOf({ header, body }: EventText): RecordedEvent {
  const payload = payloadOf(body);
  return { header: headerOf(header), data: payload?.data ?? null, context: payload?.context ?? null };
}

/** The parts of a log that the times of its events are read from. */
type TimedLog = Pick<LogReader, 'head' | 'headers' | 'positionsOf'>;

/**
 * The position of the last event recorded at or before a time (ISO 8601, UTC, milliseconds); 0 when all are later.
 * Events that a wrong clock recorded count as recorded when it was corrected.
 */
function positionAt(log: TimedLog, time: string): number {
  // Times after a correction of the clock may be earlier than times before it.
  const corrections = log.positionsOf(clockStream, 0, Number.MAX_SAFE_INTEGER);
  let high = log.head().size;
  // Between two corrections times only go up.
  for (const start of corrections.reverse()) {
    if (timeAt(log, start) <= time) return lastWithin(log, time, { low: start, high });
    high = start - 1;
  }
  return lastWithin(log, time, { low: 0, high });
}

function lastWithin(log: TimedLog, time: string, between: { low: number; high: number }): number {
  let { low, high } = between;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (timeAt(log, middle) <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

function timeAt(log: TimedLog, position: number): string {
  const [header] = log.headers(position - 1, position);
  if (header === undefined) throw missingEvent(position);
  return headerOf(header).recordedAt;
}
