import type { LogReader } from '../events/log-reader.ts';
import type { Upcaster } from '../events/upcasters.ts';
import { openDatabase } from '../storage/sqlite.ts';
import { removeDatabase } from './files.ts';
import { openProjector, type Projector } from './projector.ts';
import { createIndexes, createTables, type Tables } from './tables.ts';

/** Told how far long work has come, in events. */
export type Progress = (done: number, total: number) => void;

const chunk = 1000;

/** What a read file is made from. */
export type Projection = { tables: readonly Tables[]; upcaster: Upcaster };

/**
 * Builds a read file from the log's first `size` events, replacing what is at `path`. It is not pressed on the disk:
 * move it into place with {@link moveIntoPlace}.
 */
export function buildReadFile(path: string, log: LogReader, size: number, made: Projection, progress?: Progress): void {
  removeDatabase(path);
  const db = openDatabase(path, { durability: 'off', cacheMiB: 256 });
  try {
    // One transaction: a page that many events change is written when the cache is full, not after every chunk.
    db.exec('BEGIN');
    createTables(db, made.tables);
    catchUp(openProjector(db, made.tables, made.upcaster), log, size, progress);
    createIndexes(db, made.tables);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/** Applies what the read file is missing, up to `size`; returns how many events that were. */
export function catchUp(projector: Projector, log: LogReader, size: number, progress?: Progress): number {
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
