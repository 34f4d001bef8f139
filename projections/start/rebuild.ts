import type { LogReader } from '../../events/log/log-reader.ts';
import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector, type Projector } from '../tables/projector.ts';
import { createIndexes, createTables } from '../tables/tables.ts';
import type { Helpers } from './helpers.ts';
import { beginParallelBuild } from './parallel-build.ts';

/** Called with the progress of long work, in events. */
export type Progress = (done: number, total: number) => void;

const chunk = 1000;

/**
 * The events that a read file is built from: the events of a log up to a position, by default all. `helped`: other
 * threads, and the file of the log, which they read as it is on the disk.
 */
export type EventSource = {
  log: LogReader;
  upTo?: number;
  progress?: Progress | undefined;
  helped?: { helpers: Helpers | null | undefined; db: Sqlite } | undefined;
};

/**
 * Builds a read file from events, and replaces the file at `path`. The file is not synced: move it into place with
 * {@link moveIntoPlace}.
 */
export function buildReadFile(path: string, made: Projection, source: EventSource): void {
  removeDatabase(path);
  if (buildInParallel(path, made, source)) return;
  removeDatabase(path);
  const db = openDatabase(path, { durability: 'off', cacheMiB: 256 });
  try {
    // One transaction: a page that many events change is written when the cache is full, not after every chunk.
    db.exec('BEGIN');
    createTables(db, made.tables);
    catchUp(openProjector(db, made), source);
    createIndexes(db, made.tables);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/**
 * Builds a read file with several threads. False if that is not worth it, or anything failed: then one thread alone
 * builds the file, and says what is wrong.
 */
function buildInParallel(
  path: string,
  made: Projection,
  { log, upTo = log.head().size, progress, helped }: EventSource,
): boolean {
  if (!helped?.helpers) return false;
  const { helpers, db } = helped;
  const making = beginParallelBuild({ path, made, db, log, upTo, helpers, progress });
  if (!making) return false;
  try {
    return making.finish() !== null;
  } catch {
    return false;
  } finally {
    making.end();
  }
}

/** Applies the events that a read file lacks. @returns their number. */
export function catchUp(projector: Projector, { log, upTo: size = log.head().size, progress }: EventSource): number {
  const from = projector.checkpoint()?.position ?? 0;
  for (let position = from; position < size; ) {
    const upTo = Math.min(position + chunk, size);
    const events = log.range(position, upTo);
    projector.apply(events, log.rootAt(upTo));
    position = upTo;
    progress?.(position, size);
  }
  return size - from;
}
