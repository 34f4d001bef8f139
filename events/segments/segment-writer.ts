import { hash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../storage/errors.ts';
import { makePrivateFolderSync, privateFile } from '../../storage/private.ts';
import { giveBackPages, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { commitmentOf } from '../facts/envelope.ts';
import { alteredEvent } from '../store/altered.ts';
import { awayFile, emptyAwayFolder } from './offloaded.ts';
import { bodiesIn, buildSegment, readIndex, withoutPayloads } from './segment-file.ts';
import { reading, type Segment, sealedUpTo, segmentFolder, segmentName, wholeSegment } from './segments.ts';

/**
 * How a log is sealed: so many `events` make a segment, and at least so many of the newest, `hot`, stay in `log.db`.
 */
export type SealingSizes = { events: number; hot: number };

export const usualSizes: SealingSizes = { events: 4096, hot: 2048 };

/** A segment ends before its number of events where their payloads have so many bytes: it is made in memory. */
const mostRaw = 32 * 1024 * 1024;

/** So many unused pages stay in `log.db`: the payloads of the next segment take about as many. */
const sparePages = 2048;

/** So many payloads are read in one statement. */
const atOnce = 100;

/**
 * A segment that is written, but that no reader knows yet. `erasure`: the newest one when it was begun. `replaces`: the
 * file that it takes the place of, without the payloads of `removed`; null for a segment of further positions.
 */
export type Draft = Segment & { draft: string; erasure: number; replaces: string | null; removed: number[] };

const draftName = 'draft.tmp';

/**
 * Writes the next segment of a log, if there are enough events for one. Needs nothing but to read the log; it is
 * {@link openSegments} that makes it one.
 *
 * @throws AlteredEventError where a payload is not the one that its header commits to: it stays where it is.
 */
export function draftSegment(db: Sqlite, { events, hot }: SealingSizes): Draft | null {
  const first = sealedUpTo(db) + 1;
  const size = db.prepare<[], number>('SELECT size FROM head').pluck().get() ?? 0;
  if (size < first - 1 + events + hot) return null;
  const erasure = newestErasure(db);
  const select = db.prepare<[after: number, upTo: number], { header: string; body: Buffer | null }>(
    `SELECT header, CAST(body AS BLOB) AS body FROM headers LEFT JOIN payloads USING (position)
     WHERE position > ? AND position <= ? ORDER BY position`,
  );
  const building = buildSegment(first);
  const headers: string[] = [];
  for (let after = first - 1, raw = 0; after < first - 1 + events && raw < mostRaw; after += atOnce) {
    for (const { header, body } of select.all(after, Math.min(after + atOnce, first - 1 + events))) {
      raw = building.add(body);
      headers.push(header);
    }
  }
  const { bytes, raw } = building.finish();
  const { path, ...written } = write(db, bytes);
  // The file alone is left of them, so it is the file that is compared.
  const found = readFileSync(path);
  const index = readIndex(found);
  for (const frame of index.frames) {
    bodiesIn(frame, found.subarray(frame.offset, frame.offset + frame.length)).forEach((body, at) => {
      const position = frame.first + at;
      const header = headers[position - first] ?? '';
      if (body !== null && !header.includes(`,"payload":"${commitmentOf(body)}","position":`))
        throw alteredEvent(position, 'its payload is not the one committed to');
    });
  }
  return { ...written, raw, first, last: index.last, ...named(index, written), erasure, replaces: null, removed: [] };
}

/** Writes a segment anew that still has payloads that were erased; null if no segment has any. @throws SegmentError. */
export function draftRewriting(db: Sqlite): Draft | null {
  const segment = db
    .prepare<[], Segment>(
      `SELECT first, last, file, sha256, bytes, raw FROM segments
       WHERE first = (SELECT max(first) FROM segments WHERE first <= (SELECT min(position) FROM removals))`,
    )
    .get();
  if (!segment) return null;
  const { first, last, file } = segment;
  const removed = db
    .prepare<[first: number, last: number], number>('SELECT position FROM removals WHERE position BETWEEN ? AND ?')
    .pluck()
    .all(first, last);
  const path = join(segmentFolder(db.name), file);
  const { bytes, raw } = reading(path, () => withoutPayloads(wholeSegment(path), new Set(removed)));
  const { path: _, ...written } = write(db, bytes);
  return {
    ...written,
    raw,
    first,
    last,
    ...named(segment, written),
    erasure: newestErasure(db),
    replaces: file,
    removed,
  };
}

function named({ first, last }: { first: number; last: number }, { sha256 }: { sha256: Buffer }): { file: string } {
  return { file: segmentName({ first, last, sha256 }) };
}

function newestErasure(db: Sqlite): number {
  return db.prepare<[], number>('SELECT coalesce(max(position), 0) FROM erasures').pluck().get() ?? 0;
}

/** Writes bytes to a file that is on the disk when this returns. */
function write(db: Sqlite, bytes: Buffer) {
  const folder = segmentFolder(db.name);
  makePrivateFolderSync(folder);
  const path = join(folder, draftName);
  rmSync(path, { force: true });
  const file = openSync(path, 'wx', privateFile);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (error) {
    // A part of a draft would take room that the log may need.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  return { path, draft: draftName, sha256: hash('sha256', bytes, 'buffer'), bytes: bytes.length };
}

export type SegmentKeeper = ReturnType<typeof openSegments>;

/**
 * The part of the one writer of a log: short transactions that make segments of drafts, and take payloads out of the
 * table.
 */
export function openSegments(db: Sqlite) {
  const insert = prepareLate<[Segment], unknown>(
    db,
    'INSERT INTO segments VALUES (@first, @last, @file, @sha256, @bytes, @raw)',
  );
  const update = prepareLate<[Segment], unknown>(
    db,
    'UPDATE segments SET file = @file, sha256 = @sha256, bytes = @bytes, raw = @raw WHERE first = @first AND last = @last',
  );
  const removeRemoval = prepareLate<[position: number], unknown>(db, 'DELETE FROM removals WHERE position = ?');
  const selectFile = prepareLate<[first: number], { file: string }>(db, 'SELECT file FROM segments WHERE first = ?');
  const selectEnd = prepareLate<[upTo: number, offset: number], { position: number }>(
    db,
    'SELECT position FROM payloads WHERE position <= ? ORDER BY position LIMIT 1 OFFSET ?',
  );
  const remove = prepareLate<[upTo: number], unknown>(db, 'DELETE FROM payloads WHERE position <= ?');

  /**
   * Makes a segment of a draft: its payloads are read from it from now on, where they are not in the table.
   *
   * @returns false for a draft that has been overtaken by an erasure: another one is to be made.
   */
  function keep(draft: Draft): boolean {
    const { first, last, file, bytes, raw, replaces, removed } = draft;
    // Passed between threads, a Buffer becomes a Uint8Array.
    const row = { first, last, file, sha256: Buffer.from(draft.sha256), bytes, raw };
    const put = db.transaction(() => {
      if (replaces === null) {
        if (first !== sealedUpTo(db) + 1 || draft.erasure !== newestErasure(db)) return false;
        insert().run(row);
      } else {
        if (selectFile().get(first)?.file !== replaces) return false;
        update().run(row);
        for (const position of removed) removeRemoval().run(position);
      }
      // Before the commit: a row never names a file that is not there.
      const folder = segmentFolder(db.name);
      renameSync(join(folder, draft.draft), join(folder, file));
      syncFolderNow(folder);
      // The first segment has made the folder.
      syncFolderNow(dirname(folder));
      return true;
    });
    return put.immediate();
  }

  /** Takes some of the payloads out of the table that are in a segment. @returns whether there are more. */
  function shed(limit: number): boolean {
    const upTo = sealedUpTo(db);
    const first = selectEnd().get(upTo, 0)?.position;
    if (first === undefined) return false;
    const end = selectEnd().get(upTo, limit - 1)?.position;
    remove().run(end ?? upTo);
    return end !== undefined;
  }

  return {
    keep,
    shed,
    /** Gives some of the pages back that the payloads have left. @returns whether there are more. */
    shrink: (most: number): boolean => giveBackPages(db, most, sparePages),
    /** The size of the log at which there are enough events for a further segment. */
    dueAt: ({ events, hot }: SealingSizes): number => sealedUpTo(db) + events + hot,
    /** Writes the segments anew, here and now, that still have erased payloads. @throws SegmentError. */
    rewriteNow(): void {
      for (let draft = draftRewriting(db); draft; draft = draftRewriting(db)) keep(draft);
    },
    /** Whether a segment still has erased payloads. */
    hasRemovals: (): boolean => hasRemovals(db),
    removeStrays: () => removeStrays(db),
    /** Whether the bucket may have an object of a former segment. */
    hasStrayObjects: () => strayObjects(db).length > 0,
  };
}

/** Whether a segment of a log still has erased payloads. */
export function hasRemovals(db: Sqlite): boolean {
  return db.prepare('SELECT EXISTS (SELECT 1 FROM removals)').pluck().get() === 1;
}

/**
 * Removes the files that are not of a segment: those that were replaced, and drafts. Only while no reader uses an older
 * state of the log, and nothing is being sealed. They are left alone otherwise: another log.db may have been put there
 * that does not know of them. Of one that the bucket may have, an empty folder stays, for {@link strayObjects}.
 */
export function removeStrays(db: Sqlite): void {
  const folder = segmentFolder(db.name);
  const known = knownFiles(db);
  const strays = namesIn(folder).filter((name) => !known.has(awayFile(name) ?? name));
  for (const name of strays) {
    if (awayFile(name) === null) rmSync(join(folder, name), { recursive: true, force: true });
    else emptyAwayFolder(join(folder, name));
  }
  // Also those that were removed before, by a try whose sync failed.
  if (existsSync(folder)) syncFolderNow(folder);
}

/** The files of former segments of which the bucket may have objects. */
export function strayObjects(db: Sqlite): string[] {
  const known = knownFiles(db);
  return namesIn(segmentFolder(db.name)).flatMap((name) => {
    const file = awayFile(name);
    return file === null || known.has(file) ? [] : [file];
  });
}

function knownFiles(db: Sqlite): Set<string> {
  return new Set(db.prepare<[], string>('SELECT file FROM segments').pluck().all());
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Brings what was made, renamed and removed in a folder to the disk. */
export function syncFolderNow(path: string): void {
  // Windows opens no folder as a file.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
