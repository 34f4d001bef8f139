import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import { clockStream, schemaVersionOf } from '../facts/catalogue.ts';
import { commitmentOf, encodeHeader, encodePayload, type Header } from '../facts/envelope.ts';
import { declaredBy } from '../facts/erasures.ts';
import { keepIdempotencyRecords } from '../facts/idempotency.ts';
import type { Change, Command, NewEvent, Outcome } from '../facts/log.ts';
import type { Ids } from '../store/ids.ts';
import { openClaims } from './claim-rows.ts';
import { openErasing } from './erasing.ts';
import { type HeaderRows, openHeaderRows } from './header-rows.ts';
import type { LogReader } from './log-reader.ts';
import { type Batch, lastTime, type Tip } from './log-tip.ts';

export type Recorder = ReturnType<typeof openRecorder>;

type Tools = { reader: LogReader; tip: Tip; ids: Ids; now: () => number };

/** The tools and the statements with which commands are recorded. */
type RecorderParts = Tools & {
  headers: HeaderRows;
  insertPayload: Statement;
  claims: ReturnType<typeof openClaims>;
  idempotencyRecords: ReturnType<typeof keepIdempotencyRecords>;
  erasing: ReturnType<typeof openErasing>;
};

/** A command that is being written: all its events have one time, and go into one batch. */
type Unit = { parts: RecorderParts; command: Command; batch: Batch; recordedAt: string };

/** An event, and where and when it is recorded. */
type PlacedEvent = Pick<Header, 'stream' | 'version' | 'position' | 'recordedAt'> & { event: NewEvent };

/**
 * Prepares what records commands, each inside a transaction of the caller's. A recorder remembers nothing: the tip
 * knows where the log ends.
 */
export function openRecorder(db: Sqlite, tools: Tools) {
  const { reader, tip } = tools;
  const parts: RecorderParts = {
    ...tools,
    headers: openHeaderRows(db, () => tip.head().log),
    insertPayload: db.prepare('INSERT INTO payloads VALUES (?, 0, ?)'),
    claims: openClaims(db, reader.holderOf),
    idempotencyRecords: keepIdempotencyRecords(db),
    erasing: openErasing(db),
  };
  const { claims, idempotencyRecords, erasing } = parts;
  return {
    /** Records a command. Nothing is written before every conflict of every change has been looked for. */
    record: (command: Command, batch: Batch): Outcome => record(parts, command, batch),
    /** Forgets idempotency records that are too old. */
    prune: (): void => prune(parts),
    claims,
    idempotencyRecords,
    erasing,
  };
}

function record(parts: RecorderParts, command: Command, batch: Batch): Outcome {
  const { reader, claims, idempotencyRecords, erasing, now, tip } = parts;
  const { stream, events, otherStreams = [], idempotency } = command;
  // Before all else: a command that was recorded conflicts with itself.
  const first = idempotency && idempotencyRecords.find(idempotency.key, now());
  if (first) return { ok: false, conflict: 'idempotency', first };
  const before = reader.versionOf(stream);
  const changes = [command, ...otherStreams];
  const conflict = conflictOf(parts, changes, new Map([[stream, before]]));
  if (conflict) return conflict;

  // Only a correction of the clock may be earlier than the event before it.
  const recordedAt = stream === clockStream ? timeOf(now()) : timeAfter(parts, batch);
  const erased = declaredBy(command, reader.versionOf);
  const unit = { parts, command, batch, recordedAt };
  const moved = claims.exchange(changes);
  const ofFirst = lastPosition(tip, batch) + 1;
  for (const one of moved) batch.rows?.claims.push({ position: ofFirst, ...one });
  write(unit, command, before);
  const position = lastPosition(tip, batch);
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

/**
 * The first conflict of the changes of a command; null for none. Each sees the events of those before it.
 *
 * @param versions of streams that were read already; it is changed.
 */
function conflictOf(
  { reader, claims }: RecorderParts,
  changes: readonly Change[],
  versions: Map<string, number>,
): Outcome | null {
  for (const { stream, expectedVersion, events } of changes) {
    const version = versions.get(stream) ?? reader.versionOf(stream);
    if (isStale(expectedVersion, version)) return { ok: false, conflict: 'version', version };
    versions.set(stream, version + events.length);
  }
  return claims.conflictOver(changes);
}

function write({ parts, command, batch, recordedAt }: Unit, change: Change, before: number): void {
  const { tip } = parts;
  const { stream, rule } = change;
  const cause = rule === undefined ? command : { ...command, context: { ...command.context, rule } };
  const after = lastPosition(tip, batch);
  change.events.forEach((event, index) => {
    const placed = { event, stream, version: before + index + 1, position: after + index + 1, recordedAt };
    const { header, text, body } = insert(parts, cause, placed);
    batch.recorded.push({ header, data: event.data, context: cause.context });
    batch.leaves.push(text);
    batch.rows?.bodies.push(body);
  });
}

function insert(parts: RecorderParts, command: Command, { event, stream, version, position, recordedAt }: PlacedEvent) {
  const body = encodePayload(event.data, command.context);
  const header: Header = {
    v: 2,
    log: parts.tip.head().log,
    position,
    id: parts.ids.next().id,
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
  parts.headers.put(header, text);
  parts.insertPayload.run(position, body);
  return { header, text, body };
}

function lastPosition(tip: Tip, { leaves }: Batch): number {
  return tip.head().size + leaves.length;
}

function timeAfter({ tip, now }: RecorderParts, { recorded }: Batch): string {
  const last = recorded.length > 0 ? lastTime(recorded) : tip.head().recordedAt;
  const time = timeOf(now());
  return time > last ? time : last;
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

function prune({ idempotencyRecords, tip, now }: RecorderParts): void {
  // The log's time is ahead if a clock that was wrong for a moment has been put back.
  idempotencyRecords.prune(Math.min(Date.parse(tip.head().recordedAt) || 0, now()));
}

function isStale(expectedVersion: number | null, version: number): boolean {
  return expectedVersion !== null && expectedVersion !== version;
}
