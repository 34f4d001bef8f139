import { hash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makePrivateFolderSync, privateFile } from '../../storage/private.ts';
import { giveBackPages, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { commitmentOf } from '../facts/envelope.ts';
import { alteredEvent } from '../store/altered.ts';
import { emptyOffloadFolder, namesIn, offloadedFile } from './offload-folder.ts';
import { bodiesIn, buildSegment, readIndex, withoutPayloads } from './segment-file.ts';
import { archivedUpTo, reading, type Segment, segmentFolder, segmentName, wholeSegment } from './segments.ts';

/** `events`: the number of events in a segment; `hot`: the least number of newest events that stay in `log.db`. */
export type SegmentSizes = { events: number; hot: number };

export const usualSizes: SegmentSizes = { events: 4096, hot: 2048 };

/** A segment with this many bytes of payloads has fewer events than usual, because it is made in memory. */
const mostRaw = 32 * 1024 * 1024;

/** The unused pages that stay in `log.db`: the payloads of the next segment take about as many. */
const sparePages = 2048;

/** The number of payloads that one statement reads. */
const atOnce = 100;

/** A segment that is written to a file, but that the log does not name yet. */
export type PendingSegment = Segment & {
  /** The name of its file until the log names the segment. */
  pending: string;
  /** The position of the newest erasure when the writing began. */
  erasure: number;
  /** The file of the segment that it replaces; null for a segment of further positions. */
  replaces: string | null;
  /** The positions whose payloads it leaves out, and which the replaced segment had. */
  removed: number[];
};

const pendingName = 'draft.tmp';

/**
 * Writes the next segment of a log if there are enough events for one; else gives null. It only reads the log;
 * {@link openSegments} makes the log name the segment.
 *
 * @throws AlteredEventError if a payload is not the one that its header commits to: then no payload moves.
 */
export function writeSegment(db: Sqlite, { events, hot }: SegmentSizes): PendingSegment | null {
  const first = archivedUpTo(db) + 1;
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
  // Later only the file will have the payloads, so this compares what is in the file.
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

/**
 * Writes the segment with the oldest erased payload again, without its erased payloads; null if no segment has any.
 *
 * @throws SegmentError.
 */
export function rewriteSegment(db: Sqlite): PendingSegment | null {
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

/** Writes bytes to the pending file, which is on the disk when this returns. */
function write(db: Sqlite, bytes: Buffer) {
  const folder = segmentFolder(db.name);
  makePrivateFolderSync(folder);
  const path = join(folder, pendingName);
  rmSync(path, { force: true });
  const file = openSync(path, 'wx', privateFile);
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } catch (error) {
    // A part of a file would take disk space that the log may need.
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  return { path, pending: pendingName, sha256: hash('sha256', bytes, 'buffer'), bytes: bytes.length };
}

/**
 * Opens the segments of a log for its one writer: short transactions that make the log name pending segments, and
 * delete archived payloads from the table.
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
   * Makes the log name a pending segment: readers take from it the payloads that are not in the table.
   *
   * @returns false if an erasure happened since the segment was begun: it has to be written again.
   */
  function keep(pending: PendingSegment): boolean {
    const { first, last, file, bytes, raw, replaces, removed } = pending;
    // Passed between threads, a Buffer becomes a Uint8Array.
    const row = { first, last, file, sha256: Buffer.from(pending.sha256), bytes, raw };
    const put = db.transaction(() => {
      if (replaces === null) {
        if (first !== archivedUpTo(db) + 1 || pending.erasure !== newestErasure(db)) return false;
        insert().run(row);
      } else {
        if (selectFile().get(first)?.file !== replaces) return false;
        update().run(row);
        for (const position of removed) removeRemoval().run(position);
      }
      // Before the commit, so that a row never names a missing file.
      const folder = segmentFolder(db.name);
      renameSync(join(folder, pending.pending), join(folder, file));
      syncFolderNow(folder);
      // The folder is new if this is the first segment.
      syncFolderNow(dirname(folder));
      return true;
    });
    return put.immediate();
  }

  /** Deletes at most `limit` archived payloads from the table. @returns whether there are more. */
  function shed(limit: number): boolean {
    const upTo = archivedUpTo(db);
    const first = selectEnd().get(upTo, 0)?.position;
    if (first === undefined) return false;
    const end = selectEnd().get(upTo, limit - 1)?.position;
    remove().run(end ?? upTo);
    return end !== undefined;
  }

  return {
    keep,
    shed,
    /** Gives at most `most` pages that the payloads have left back to the disk. @returns whether there are more. */
    shrink: (most: number): boolean => giveBackPages(db, most, sparePages),
    /** The size of the log at which the next segment is due. */
    dueAt: ({ events, hot }: SegmentSizes): number => archivedUpTo(db) + events + hot,
    /** Rewrites all segments that still have erased payloads, in this thread. @throws SegmentError. */
    rewriteNow(): void {
      for (let pending = rewriteSegment(db); pending; pending = rewriteSegment(db)) keep(pending);
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
 * Removes the files that the log does not name: replaced segments and pending ones. Call this only while no reader uses
 * an older state of the log and no segment is being written. At any other time such files stay: an operator may have
 * put another log.db there, which does not name them. If the bucket may have an object of a removed file, an empty
 * folder stays for {@link strayObjects}.
 */
export function removeStrays(db: Sqlite): void {
  const folder = segmentFolder(db.name);
  const known = knownFiles(db);
  const strays = namesIn(folder).filter((name) => !known.has(offloadedFile(name) ?? name));
  for (const name of strays) {
    if (offloadedFile(name) === null) rmSync(join(folder, name), { recursive: true, force: true });
    else emptyOffloadFolder(join(folder, name));
  }
  // An earlier try may have removed files and failed at this sync.
  if (existsSync(folder)) syncFolderNow(folder);
}

/** The files of former segments whose objects the bucket may still have. */
export function strayObjects(db: Sqlite): string[] {
  const known = knownFiles(db);
  return namesIn(segmentFolder(db.name)).flatMap((name) => {
    const file = offloadedFile(name);
    return file === null || known.has(file) ? [] : [file];
  });
}

function knownFiles(db: Sqlite): Set<string> {
  return new Set(db.prepare<[], string>('SELECT file FROM segments').pluck().all());
}

/** Syncs a folder: the files that were made, renamed and removed in it are so on the disk when this returns. */
export function syncFolderNow(path: string): void {
  // Windows cannot open a folder as a file.
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
