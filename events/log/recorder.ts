import type { Sqlite } from '../../storage/sqlite.ts';
import { batchStream, clockStream, schemaVersionOf } from '../facts/catalogue.ts';
import { commitmentOf, encodeHeader, encodePayload, type Header, headerOf } from '../facts/envelope.ts';
import { declaredBy, type ErasedStream, staysErased } from '../facts/erasures.ts';
import { keepIdempotencyRecords } from '../facts/idempotency.ts';
import type { Change, Claim, Command, NewEvent, Outcome } from '../facts/log.ts';
import { filesNamedIn } from '../facts/named-files.ts';
import { collectMissing } from '../segments/offloaded.ts';
import { payloadColumns, withSegments } from '../segments/segments.ts';
import type { Ids } from '../store/ids.ts';
import { BrokenLogError } from '../store/log-file.ts';
import { openHeaderRows } from './header-rows.ts';
import type { LogReader } from './log-reader.ts';
import { type Batch, lastTime, type Tip } from './log-tip.ts';
import type { Rows, ShippedClaim, ShippedErasure } from './shipment.ts';

export type Recorder = ReturnType<typeof openRecorder>;

type Recorded = { reader: LogReader; tip: Tip; ids: Ids; now: () => number };

/**
 * A command that is being written: all its events have one time, and go into one batch. `first`: the position of the
 * first of them.
 */
type Unit = { command: Command; batch: Batch; recordedAt: string; first: number };

/** Where and when an event is recorded. */
type Place = Pick<Header, 'stream' | 'version' | 'position' | 'recordedAt'>;

/**
 * Records commands, each inside a transaction of the caller's. It remembers nothing: where the log ends is the tip's to
 * say.
 */
export function openRecorder(db: Sqlite, { reader, tip, ids, now }: Recorded) {
  const headers = openHeaderRows(db, () => tip.head().log);
  const insertPayload = db.prepare('INSERT INTO payloads VALUES (?, 0, ?)');
  const claims = openClaims(db, reader.holderOf);
  const idempotencyRecords = keepIdempotencyRecords(db);
  const erasing = openErasing(db);

  /** Records a command. Nothing is written before every conflict of every change has been looked for. */
  function record(command: Command, batch: Batch): Outcome {
    const { stream, events, otherStreams = [], idempotency } = command;
    // Before all else: a command that was recorded conflicts with itself.
    const first = idempotency && idempotencyRecords.find(idempotency.key, now());
    if (first) return { ok: false, conflict: 'idempotency', first };
    const before = reader.versionOf(stream);
    const conflict = conflictOf(command, before);
    if (conflict) return conflict;

    // Only a correction of the clock may be earlier than what is before it.
    const recordedAt = stream === clockStream ? timeNow() : timeAfter(batch);
    const erased = declaredBy(command, reader.versionOf);
    const unit = { command, batch, recordedAt, first: lastPosition(batch) + 1 };
    write(unit, command, before);
    const position = lastPosition(batch);
    for (const change of otherStreams) write(unit, change, reader.versionOf(change.stream));
    if (erased.length > 0) {
      const taken = erasing.erase(position, erased);
      batch.rows?.erasures.push(taken);
    }
    const version = before + events.length;
    if (idempotency) {
      const answer = { stream, position, version };
      const keptAt = now();
      idempotencyRecords.keep(idempotency, answer, keptAt);
      batch.rows?.idempotencyRecords.push({ ...idempotency, ...answer, recordedAt: keptAt });
    }
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

  function write({ command, batch, recordedAt, first }: Unit, change: Change, before: number): void {
    const { stream } = change;
    const { rule } = change;
    const cause = rule === undefined ? command : { ...command, context: { ...command.context, rule } };
    const released = claims.release(stream, change.releases);
    claims.take(stream, change.claims);
    if (batch.rows) noteClaims(batch.rows, { position: first, stream }, { released, taken: change.claims });
    const after = lastPosition(batch);
    change.events.forEach((event, index) => {
      const place = { stream, version: before + index + 1, position: after + index + 1, recordedAt };
      const { header, text, body } = insert(cause, event, place);
      batch.recorded.push({ header, data: event.data, context: cause.context });
      batch.leaves.push(text);
      batch.rows?.bodies.push(body);
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
    headers.put(header, text);
    insertPayload.run(position, body);
    return { header, text, body };
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

  /** Forgets idempotency records that are too old. */
  function prune(): void {
    // The log's own time stays ahead where a clock that was wrong for a moment has been put back.
    idempotencyRecords.prune(Math.min(Date.parse(tip.head().recordedAt) || 0, now()));
  }

  return { record, prune, claims, erasing, idempotencyRecords };
}

/** Notes in rows which values a change has given up, and which it has taken. */
function noteClaims(
  { claims }: Rows,
  by: Pick<ShippedClaim, 'position' | 'stream'>,
  { released, taken }: { released: readonly Claim[]; taken: readonly Claim[] },
): void {
  for (const { scope, value } of released) claims.push({ ...by, scope, value, isTaken: false });
  for (const { scope, value } of taken) claims.push({ ...by, scope, value, isTaken: true });
}

function isStale(expectedVersion: number | null, version: number): boolean {
  return expectedVersion !== null && expectedVersion !== version;
}

/** A value, and the stream that has it. */
type Held = Pick<ShippedClaim, 'scope' | 'value' | 'stream'>;

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

  /** @returns each value as the stream held it. @throws BrokenLogError when it does not hold one of them. */
  function release(stream: string, claims: readonly Claim[]): Claim[] {
    return claims.map(({ scope, value, former }) => {
      const held = [value, former].find((text) => text && remove.run(scope, text, stream).changes === 1);
      if (held === undefined) throw new BrokenLogError(`stream ${stream} does not hold its value of ${scope}`);
      return { scope, value: held };
    });
  }

  /**
   * Puts these in the place of all claims. Of two streams with one value, the second holds it under its former text.
   */
  function replaceAll(claims: Iterable<{ claim: Claim; stream: string }>): void {
    db.exec('DELETE FROM claims');
    for (const { claim, stream } of claims) {
      const { scope, value, former } = claim;
      insert.run(scope, former && holderOf(scope, value) !== null ? former : value, stream);
    }
  }

  /** The same, and gives what that changes: the claims that are gone, then those that are new. */
  function exchangeAll(claims: Iterable<{ claim: Claim; stream: string }>): Omit<ShippedClaim, 'position'>[] {
    db.exec('CREATE TEMP TABLE former_claims AS SELECT scope, value, stream FROM claims');
    replaceAll(claims);
    const between = (one: string, other: string, isTaken: boolean) =>
      db
        .prepare<[], Held>(`SELECT scope, value, stream FROM ${one} EXCEPT SELECT scope, value, stream FROM ${other}`)
        .all()
        .map((held) => ({ ...held, isTaken }));
    const changes = [...between('former_claims', 'claims', false), ...between('claims', 'former_claims', true)];
    db.exec('DROP TABLE former_claims');
    return changes;
  }

  return { conflictOver, take, release, replaceAll, exchangeAll };
}

type PayloadRow = { position: number; header: string; body: string | null };

/** Takes payloads out of a log that is being written; every call inside a transaction of the caller's. */
export function openErasing(db: Sqlite) {
  const insert = db.prepare('INSERT INTO erasures VALUES (?, ?, 0)');
  const selectPayloads = withSegments(db).prepare<[stream: string, versions: number], PayloadRow>(
    `SELECT events.position, header, ${payloadColumns} FROM headers AS events LEFT JOIN payloads USING (position)
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

  /**
   * Deletes what streams have said so far, what they claim, and the idempotency records kept for them.
   *
   * @param position of the event.
   * @returns what there was of that.
   */
  function erase(position: number, streams: readonly ErasedStream[]): ShippedErasure {
    const rows = collectMissing(() => streams.flatMap(({ stream, versions }) => selectPayloads.all(stream, versions)));
    const gone = rows
      .flatMap(({ header, position, body }) => (body === null ? [] : [{ position, body, header: headerOf(header) }]))
      .filter(({ header }) => !staysErased(header.type));
    const files = [...new Set(gone.flatMap(({ header, body }) => [...filesNamedIn(header, body)]))];
    // From here on payloads may be deleted.
    insert.run(position, JSON.stringify(files));
    const names = streams.map(({ stream }) => stream);
    const idempotencyOf = new Set(names);
    for (const { position, header } of gone) {
      deletePayload.run(position);
      insertRemoval.run(position, position);
      if (header.batch !== undefined) idempotencyOf.add(batchStream(header.batch));
    }
    for (const stream of names) deleteClaims.run(stream);
    for (const stream of idempotencyOf) deleteCommands.run(stream);
    const payloads = gone.map(({ position }) => position);
    return { position, payloads, streams: names, idempotencyOf: [...idempotencyOf], files };
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
