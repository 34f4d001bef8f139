import type { Sqlite } from '../../storage/sqlite.ts';
import { missingEvent } from '../store/altered.ts';

/**
 * A start counts the events of a log up to this size: 50 ms. Of a larger one the background verification does, at once.
 */
export const mostCounted = 1_000_000;

/** An event that a log lacks, and the position of the next one that it has. */
export type Gap = { position: number; next: number };

/**
 * The first gap in the events of a log before its end; null when it has as many as its head says. They are counted by
 * the smallest index: 50 ms for a million events that are in the cache of the system.
 */
export function firstGap(db: Sqlite): Gap | null {
  const isWhole = db
    .prepare<[], number>(
      'SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM events WHERE position < 1) >= size FROM head',
    )
    .pluck();
  if (isWhole.get() !== 0) return null;
  const has = db.prepare<[position: number], number>('SELECT 1 FROM events WHERE position = ?').pluck();
  // An index tells how many there are, and only the rows which.
  const before = db
    .prepare<[], number>(
      `SELECT position FROM events AS e NOT INDEXED WHERE position > 0
       AND NOT EXISTS (SELECT 1 FROM events WHERE position = e.position + 1) ORDER BY position LIMIT 1`,
    )
    .pluck();
  const last = has.get(1) === undefined ? 0 : before.get();
  const after = db.prepare<[position: number], number>('SELECT min(position) FROM events WHERE position > ?').pluck();
  const next = after.get(last ?? 0) ?? null;
  return last === undefined || next === null ? null : { position: last + 1, next };
}

/** @throws AlteredEventError where an event is missing between others, in a log of a size that a start counts. */
export function requireAllEvents(db: Sqlite): void {
  const size = db.prepare<[], number>('SELECT size FROM head').pluck().get() ?? 0;
  const gap = size > mostCounted ? null : firstGap(db);
  if (gap) throw missingEvent(gap.position);
}
