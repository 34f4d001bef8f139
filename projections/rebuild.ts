import type { LogReader } from '../events/log-reader.ts';
import type { Upcaster } from '../events/upcasters.ts';
import { openDatabase } from '../storage/sqlite.ts';
import { removeDatabase } from './files.ts';
import { openProjector, type Projector } from './projector.ts';
import { createIndexes, createTables, type Tables } from './tables.ts';

/** Told how far long work has come, in events. */
export type Progress = (done: number, total: number) => void;

const chunk = 1000;

/** The tables that events are folded into, and the upcaster that brings events of earlier schemas to the last one. */
export type Projection = { tables: readonly Tables[]; upcaster: Upcaster };

/** The events that a read file is made from: those of a log up to a position, which is its end where none is given. */
export type Source = { log: LogReader; upTo?: number; progress?: Progress | undefined };

/**
 * Builds a read file from events, replacing what is at `path`. It is not pressed on the disk:
 * move it into place with {@link moveIntoPlace}.
 */
export function buildReadFile(path: string, made: Projection, source: Source): void {
  removeDatabase(path);
  const db = openDatabase(path, { durability: 'off', cacheMiB: 256 });
  try {
    // One transaction: a page that many events change is written when the cache is full, not after every chunk.
    db.exec('BEGIN');
    createTables(db, made.tables);
    catchUp(openProjector(db, made.tables, made.upcaster), source);
    createIndexes(db, made.tables);
    db.exec('COMMIT');
  } finally {
    db.close();
  }
}

/** Applies the events that a read file is missing; returns their number. */
export function catchUp(projector: Projector, { log, upTo: size = log.head().size, progress }: Source): number {
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
