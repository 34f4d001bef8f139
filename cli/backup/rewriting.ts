import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { schemaVersionOf } from '../../events/facts/catalogue.ts';
import { commitmentOf, encodeHeader, encodePayload, headerOf } from '../../events/facts/envelope.ts';
import { type ErasedStream, erasedStreams } from '../../events/facts/erasures.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { openClaims } from '../../events/log/claim-rows.ts';
import { openErasing } from '../../events/log/erasing.ts';
import { openHeaderRows } from '../../events/log/header-rows.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { openTip } from '../../events/log/log-tip.ts';
import { upgradeLog } from '../../events/log/upgrading.ts';
import type { Seals } from '../../events/proof/seals.ts';
import { openSegments } from '../../events/segments/segment-writer.ts';
import { payloadColumns, segmentFolder, withSegments } from '../../events/segments/segments.ts';
import { createIds, timeOfId } from '../../events/store/ids.ts';
import { BrokenLogError, createLog, formatOf, openLogToRead } from '../../events/store/log-file.ts';
import { buildReadFile } from '../../projections/start/rebuild.ts';
import { claimsIn } from '../../projections/start/schema-fit.ts';
import { projectionOf } from '../../projections/tables/epochs.ts';
import { logFile, moveIntoPlace, removeDatabase } from '../../projections/tables/files.ts';
import { openHelpers } from '../../server/writer/helpers.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';

/** An event as it is stored: the texts of its header and its payload; an erased payload is null. */
export type EventTexts = { header: string; payload: string | null };

/** An erasure that a log does not have: its event was at `position` of the log that has it. */
export type LaterErasure = {
  position: number;
  recordedAt: string;
  stream: string;
  reason: string;
  streams: ErasedStream[];
};

const atOnce = 1000;

/** The events of a log at positions `after + 1` to `upTo` as they are stored. */
export function* storedEvents(db: Sqlite, after: number, upTo: number): Generator<EventTexts> {
  const select = withSegments(db).prepare<[after: number, upTo: number], { header: string; body: string | null }>(
    `SELECT header, ${payloadColumns} FROM headers AS events LEFT JOIN payloads USING (position)
     WHERE events.position > ? AND events.position <= ? ORDER BY events.position`,
  );
  for (let start = after; start < upTo; start += atOnce) {
    for (const { header, body } of select.all(start, Math.min(start + atOnce, upTo))) yield { header, payload: body };
  }
}

/**
 * Appends stored events to a log, with the tree and the head that follow. Unique values are left to {@link
 * restoreClaims}.
 *
 * @throws BrokenLogError if the events do not begin where the log ends.
 */
export async function appendStored(
  db: Sqlite,
  seals: Seals,
  events: Iterable<EventTexts> | AsyncIterable<EventTexts>,
): Promise<void> {
  const reader = readLog(db);
  const tip = openTip(db, reader, seals);
  const headers = openHeaderRows(db, () => tip.head().log);
  const insertPayload = db.prepare('INSERT INTO payloads VALUES (?, 0, ?)');
  const erasing = openErasing(db);

  const write = db.transaction((batch: EventTexts[]) => {
    const recorded: RecordedEvent[] = [];
    for (const { header: text, payload } of batch) {
      const header = headerOf(text);
      const { position, id, stream, version, type } = header;
      headers.putText({ position, id, stream, version }, text);
      if (payload !== null) insertPayload.run(position, payload);
      if (type === 'document.erased' && payload !== null) {
        erasing.erase(position, erasedStreams(JSON.parse(payload).data));
        erasing.setFiles(position, []);
        erasing.finish(position);
      }
      recorded.push({ header, data: null, context: null });
    }
    return tip.extend({ recorded, leaves: batch.map(({ header }) => header) });
  });

  let batch: EventTexts[] = [];
  const flush = () => {
    if (batch.length > 0) tip.moveTo(write.immediate(batch));
    batch = [];
  };
  for await (const event of events) {
    batch.push(event);
    if (batch.length === atOnce) flush();
  }
  flush();
}

/**
 * Opens the log of a restored folder to go on with it; one of an earlier format, which the rest is not written to, as
 * one of this.
 */
export function openRestored(folder: string, seals: Seals): Sqlite {
  const db = openDatabase(logFile(folder), { durability: 'full', secureDelete: true });
  try {
    if (formatOf(db) >= 3) upgradeLog(db, seals);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Cuts the log of a folder off after a position, by making it anew: a log itself only grows.
 *
 * @returns the erasures that came after it: they hold for what stays too.
 */
export async function cutLog(folder: string, position: number, seals: Seals): Promise<LaterErasure[]> {
  const file = logFile(folder);
  const cut = `${file}.cut`;
  const db = openLogToRead(file);
  try {
    const made = openDatabase(cut, { durability: 'off', shrinks: true });
    try {
      const { log } = readLog(db).head();
      createLog(made, log, seals.key);
      await appendStored(made, seals, storedEvents(db, 0, position));
      copyRows({ from: db, to: made }, 'checkpoints', position);
      copyRows({ from: db, to: made }, 'timestamps', position);
    } finally {
      made.close();
    }
    return erasuresIn(db, position);
  } finally {
    db.close();
    removeDatabase(file);
    // The new log has their payloads, as far as it goes.
    rmSync(segmentFolder(file), { recursive: true, force: true });
    moveIntoPlace(cut, file);
  }
}

function copyRows({ from, to }: { from: Sqlite; to: Sqlite }, table: 'checkpoints' | 'timestamps', upTo: number): void {
  const rows = from.prepare<[number], Record<string, unknown>>(`SELECT * FROM ${table} WHERE size <= ?`).all(upTo);
  for (const row of rows) {
    const values = Object.values(row);
    to.prepare(`INSERT INTO ${table} VALUES (${values.map(() => '?').join(', ')})`).run(...values);
  }
}

/** The erasures of a log after a position, oldest first. */
export function erasuresIn(db: Sqlite, after: number): LaterErasure[] {
  const log = readLog(db);
  const select = db
    .prepare<[number], number>('SELECT position FROM erasures WHERE position > ? ORDER BY position')
    .pluck();
  return select.all(after).flatMap((position) =>
    log.range(position - 1, position).map(({ header, data, context }) => ({
      position,
      recordedAt: header.recordedAt,
      stream: header.stream,
      reason: context?.reason ?? '',
      streams: erasedStreams(data),
    })),
  );
}

/**
 * Erases from the log of a folder what was erased after its end, and leaves no trace of it in the file. Each erasure is
 * recorded as an event: a payload may be missing only if an event says so.
 *
 * @returns the number of erasures that were recorded; without those that concern nothing in this log, or that it has.
 */
export async function eraseAgain(folder: string, erasures: readonly LaterErasure[], seals: Seals): Promise<number> {
  if (erasures.length === 0) return 0;
  const db = openRestored(folder, seals);
  try {
    const events = [...erasureEvents(db, erasures)];
    await appendStored(db, seals, events);
    const { rewriteNow, removeStrays } = openSegments(db);
    rewriteNow();
    removeStrays();
    db.exec('VACUUM');
    db.pragma('wal_checkpoint(TRUNCATE)');
    return events.length;
  } finally {
    db.close();
  }
}

/**
 * The events by which a log says what was erased after its end. Payloads of it may be missing already, so none is read.
 */
function* erasureEvents(db: Sqlite, erasures: readonly LaterErasure[]): Generator<EventTexts> {
  const { versionOf, ...log } = readLog(db);
  const head = log.head();
  const newest = db.prepare<[], string>('SELECT header FROM headers ORDER BY position DESC LIMIT 1').pluck().get();
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), Date.now);
  ids.raise(Math.max(newest ? timeOfId(headerOf(newest).id) : 0, Date.parse(head.recordedAt) || 0));
  const now = new Date().toISOString();
  const recordedAt = now > head.recordedAt ? now : head.recordedAt;
  let { size } = head;
  const added = new Map<string, number>();
  const declared = new Map<string, number>();
  for (const { streams } of erasuresIn(db, 0)) for (const one of streams) declared.set(one.stream, one.versions);
  for (const { position, recordedAt: then, stream, reason, streams } of erasures) {
    const here = streams
      .map((one) => ({ stream: one.stream, versions: Math.min(one.versions, versionOf(one.stream)) }))
      .filter((one) => one.versions > (declared.get(one.stream) ?? 0));
    if (here.length === 0) continue;
    for (const one of here) declared.set(one.stream, one.versions);
    added.set(stream, (added.get(stream) ?? 0) + 1);
    size += 1;
    const why = `${reason} (erased again after a restore: event ${position} of ${then})`;
    const payload = encodePayload({ streams: here }, { reason: why });
    const header = encodeHeader({
      v: 2,
      log: head.log,
      position: size,
      id: ids.next().id,
      stream,
      version: versionOf(stream) + (added.get(stream) ?? 0),
      type: 'document.erased',
      schemaVersion: schemaVersionOf['document.erased'],
      recordedAt,
      actor: { type: 'system' },
      correlationId: ids.next().id,
      payload: commitmentOf(payload),
    });
    yield { header, payload };
  }
}

/** Derives the unique values of the log of a folder from its events. */
export function restoreClaims(folder: string, seals: Seals): void {
  const db = openRestored(folder, seals);
  const replayFile = join(folder, 'read-0.db.restore');
  try {
    const log = readLog(db);
    const made = projectionOf(log);
    if (!made) return;
    buildReadFile(replayFile, made.projection, { log, helped: { helpers: openHelpers(), db } });
    const replay = openDatabase(replayFile, { readonly: true });
    try {
      const { replaceAll } = openClaims(db, log.holderOf);
      db.transaction(() => replaceAll(claimsIn(replay, made.schema))).immediate();
    } finally {
      replay.close();
    }
  } finally {
    db.close();
    removeDatabase(replayFile);
  }
}

/** Reads a line of events as {@link eventLine} wrote it. @throws BrokenLogError for any other text. */
export function readEventLine(line: string): EventTexts {
  const found: unknown = JSON.parse(line);
  if (Array.isArray(found) && typeof found[0] === 'string' && (found[1] === null || typeof found[1] === 'string'))
    return { header: found[0], payload: found[1] };
  throw new BrokenLogError('a line of events.ndjson is not one of an event');
}

/** An event as a line of `events.ndjson`: its two texts, in an array. */
export function eventLine({ header, payload }: EventTexts): string {
  return `${JSON.stringify([header, payload])}\n`;
}
