import type { Sqlite } from '../storage/sqlite.ts';
import { gathering } from './away.ts';
import { filesNamedIn } from './blobs.ts';
import { batchStream, clockStream, schemaVersionOf } from './catalogue.ts';
import { commitmentOf, encodeHeader, encodePayload, type Header, headerOf } from './envelope.ts';
import { declaredBy, type ErasedStream, staysErased } from './erasures.ts';
import { keepIdempotencyRecords } from './idempotency.ts';
import type { Ids } from './ids.ts';
import type { Change, Claim, Command, NewEvent, Outcome } from './log.ts';
import { BrokenLogError } from './log-file.ts';
import type { LogReader } from './log-reader.ts';
import { type Batch, lastTime, type Tip } from './log-tip.ts';
import { payloadColumns, withSegments } from './segments.ts';

type Recorded = { reader: LogReader; tip: Tip; ids: Ids; now: () => number };

/** A command that is being written: all its events have one time, and go into one batch. */
type Unit = { command: Command; batch: Batch; recordedAt: string };

/** Where and when an event is recorded. */
type Place = Pick<Header, 'stream' | 'version' | 'position' | 'recordedAt'>;

/** Records commands, each inside a transaction of the caller's. It remembers nothing: where the log ends is the tip's to say. */
export function openRecorder(db: Sqlite, { reader, tip, ids, now }: Recorded) {
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)');
  const insertPayload = db.prepare('INSERT INTO payloads VALUES (?, 0, ?)');
  const claims = openClaims(db, reader.holderOf);
  const attempts = keepIdempotencyRecords(db);
  const erasing = openErasing(db);

  /** Records a command. Nothing is written before every conflict of every change has been looked for. */
  function record(command: Command, batch: Batch): Outcome {
    const { stream, events, otherStreams = [], attempt } = command;
    // Before all else: an attempt that was recorded conflicts with itself.
    const first = attempt && attempts.find(attempt.key, now());
    if (first) return { ok: false, conflict: 'attempt', first };
    const before = reader.versionOf(stream);
    const conflict = conflictOf(command, before);
    if (conflict) return conflict;

    // Only a correction of the clock may be earlier than what is before it.
    const recordedAt = stream === clockStream ? timeNow() : timeAfter(batch);
    const erased = declaredBy(command, reader.versionOf);
    const unit = { command, batch, recordedAt };
    write(unit, command, before);
    const position = lastPosition(batch);
    for (const change of otherStreams) write(unit, change, reader.versionOf(change.stream));
    if (erased.length > 0) erasing.erase(position, erased);
    const version = before + events.length;
    if (attempt) attempts.keep(attempt, { stream, position, version }, now());
    return { ok: true, position, version, recordedAt };
  }

  /** The first conflict of a command whose stream has a version before it; null for none. */
  function conflictOf(command: Command, before: number): Outcome | null {
    if (isStale(command.expectedVersion, before)) return { ok: false, conflict: 'version', version: before };
    // Most commands are about one stream alone, and are spared what several need.
    return command.otherStreams?.length
      ? conflictAmong([command, ...command.otherStreams])
      : claims.conflictOver(command.claims);
  }

  /** Of several changes, each finds those before it: their events count, and their values are taken. */
  function conflictAmong(changes: readonly Change[]): Outcome | null {
    const versions = new Map<string, number>();
    for (const { stream, expectedVersion, events } of changes) {
      const version = versions.get(stream) ?? reader.versionOf(stream);
      if (isStale(expectedVersion, version)) return { ok: false, conflict: 'version', version };
      versions.set(stream, version + events.length);
    }
    return claims.conflictOver(changes.flatMap((change) => change.claims));
  }

  function write({ command, batch, recordedAt }: Unit, change: Change, before: number): void {
    const { stream } = change;
    const { rule } = change;
    const cause = rule === undefined ? command : { ...command, context: { ...command.context, rule } };
    claims.release(stream, change.releases);
    claims.take(stream, change.claims);
    const after = lastPosition(batch);
    change.events.forEach((event, index) => {
      const place = { stream, version: before + index + 1, position: after + index + 1, recordedAt };
      const { header, text } = insert(cause, event, place);
      batch.recorded.push({ header, data: event.data, context: cause.context });
      batch.leaves.push(text);
    });
  }

  function insert(command: Command, event: NewEvent, { stream, version, position, recordedAt }: Place) {
    const body = encodePayload(event.data, command.context);
    const header: Header = {
      v: 2,
      log: tip.head().log,
      position,
      id: ids.next().id,
      stream,
      version,
      type: event.type,
      schemaVersion: schemaVersionOf[event.type],
      recordedAt,
      actor: command.actor,
      correlationId: command.correlationId,
      ...(command.batch === undefined ? {} : { batch: command.batch }),
      payload: commitmentOf(body),
    };
    const text = encodeHeader(header);
    insertEvent.run(position, header.id, stream, version, text);
    insertPayload.run(position, body);
    return { header, text };
  }

  function lastPosition({ leaves }: Batch): number {
    return tip.head().size + leaves.length;
  }

  function timeAfter({ recorded }: Batch): string {
    const last = recorded.length > 0 ? lastTime(recorded) : tip.head().recordedAt;
    const time = timeNow();
    return time > last ? time : last;
  }

  function timeNow(): string {
    return new Date(now()).toISOString();
  }

  /** Forgets attempts that are too old. */
  function prune(): void {
    // The log's own time stays ahead where a clock that was wrong for a moment has been put back.
    attempts.prune(Math.min(Date.parse(tip.head().recordedAt) || 0, now()));
  }

  return { record, prune, replaceClaims: claims.replaceAll, erasing };
}

function isStale(expectedVersion: number | null, version: number): boolean {
  return expectedVersion !== null && expectedVersion !== version;
}

/** The table of unique values, for the writer of a log: every call inside a transaction of the caller's. */
export function openClaims(db: Sqlite, holderOf: LogReader['holderOf']) {
  const insert = db.prepare('INSERT INTO claims VALUES (?, ?, ?)');
  const remove = db.prepare('DELETE FROM claims WHERE scope = ? AND value = ? AND stream = ?');

  /** The conflict over the first value that is taken, or that is claimed twice; null when all are free. */
  function conflictOver(claims: readonly Claim[]): Outcome | null {
    const claimed = new Set<string>();
    const taken = claims.find(({ scope, value, former }) => {
      const known = claimed.size;
      const isSecond = claimed.add(`${scope}\n${value}`).size === known;
      return isSecond || holderOf(scope, value) !== null || (former && holderOf(scope, former) !== null);
    });
    return taken ? { ok: false, conflict: 'claim', claim: taken } : null;
  }

  function take(stream: string, claims: readonly Claim[]): void {
    for (const { scope, value } of claims) insert.run(scope, value, stream);
  }

  /** @throws BrokenLogError when the stream does not hold one of the values. */
  function release(stream: string, claims: readonly Claim[]): void {
    for (const { scope, value, former } of claims) {
      const isReleased = [value, former].some((text) => text && remove.run(scope, text, stream).changes === 1);
      if (!isReleased) throw new BrokenLogError(`stream ${stream} does not hold its value of ${scope}`);
    }
  }

  /** Puts these in the place of all claims. Of two streams with one value, the second holds it under its former text. */
  function replaceAll(claims: Iterable<{ claim: Claim; stream: string }>): void {
    db.exec('DELETE FROM claims');
    for (const { claim, stream } of claims) {
      const { scope, value, former } = claim;
      insert.run(scope, former && holderOf(scope, value) !== null ? former : value, stream);
    }
  }

  return { conflictOver, take, release, replaceAll };
}

type PayloadRow = { position: number; header: string; body: string | null };

/** Takes payloads out of a log that is being written; every call inside a transaction of the caller's. */
export function openErasing(db: Sqlite) {
  const insert = db.prepare('INSERT INTO erasures VALUES (?, ?, 0)');
  const selectPayloads = withSegments(db).prepare<[stream: string, versions: number], PayloadRow>(
    `SELECT events.position, header, ${payloadColumns} FROM events LEFT JOIN payloads USING (position)
     WHERE stream = ? AND version <= ? ORDER BY version`,
  );
  const deletePayload = db.prepare('DELETE FROM payloads WHERE position = ?');
  // From here on no reader takes it from its segment.
  const insertRemoval = db.prepare(
    'INSERT INTO removals SELECT ? WHERE ? <= (SELECT last FROM segments ORDER BY first DESC LIMIT 1)',
  );
  const deleteClaims = db.prepare('DELETE FROM claims WHERE stream = ?');
  const deleteCommands = db.prepare('DELETE FROM commands WHERE stream = ?');
  const updateFiles = db.prepare('UPDATE erasures SET files = ? WHERE position = ? AND done = 0');
  const updateDone = db.prepare("UPDATE erasures SET done = 1 WHERE done = 0 AND position <= ? AND files = '[]'");

  /** Deletes what streams have said so far, what they claim, and the attempts kept for them. @param position of the event. */
  function erase(position: number, streams: readonly ErasedStream[]): void {
    const rows = gathering(() => streams.flatMap(({ stream, versions }) => selectPayloads.all(stream, versions)));
    const gone = rows
      .flatMap(({ header, position, body }) => (body === null ? [] : [{ position, body, header: headerOf(header) }]))
      .filter(({ header }) => !staysErased(header.type));
    const files = new Set(gone.flatMap(({ header, body }) => [...filesNamedIn(header, body)]));
    // From here on payloads may be deleted.
    insert.run(position, JSON.stringify([...files]));
    for (const { position, header } of gone) {
      deletePayload.run(position);
      insertRemoval.run(position, position);
      if (header.batch !== undefined) deleteCommands.run(batchStream(header.batch));
    }
    for (const { stream } of streams) {
      deleteClaims.run(stream);
      deleteCommands.run(stream);
    }
  }

  return {
    erase,
    /** Notes which files of an erasure are still to be removed. */
    setFiles: (position: number, files: readonly string[]): void => {
      updateFiles.run(JSON.stringify(files), position);
    },
    /** Ends the erasures up to a position that have no file left to be removed. */
    finish: (position: number): void => {
      updateDone.run(position);
    },
  };
}
