import type { Sqlite } from '../../storage/sqlite.ts';
import { missingEvent } from '../store/altered.ts';

/**
 * The largest log whose events a start counts, which takes 50 ms. Of a larger log the background verification counts
 * them, at once.
 */
export const mostCounted = 1_000_000;

/** A missing event, and the position of the next event that the log has. */
export type Gap = { position: number; next: number };

/**
 * The first gap in the events of a log; null if there are as many as its head says. The events are counted by the
 * smallest index: 50 ms for a million events in the cache of the system.
 */
export function firstGap(db: Sqlite): Gap | null {
  const isWhole = db
    .prepare<[], number>(
      'SELECT (SELECT count(*) FROM events) - (SELECT count(*) FROM events WHERE position < 1) >= size FROM head',
    )
    .pluck();
  if (isWhole.get() !== 0) return null;
  const has = db.prepare<[position: number], number>('SELECT 1 FROM events WHERE position = ?').pluck();
  // The index gives the number of events, and only the rows which are missing.
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

/** @throws AlteredEventError if an event is missing between others, in a log of a size that a start counts. */
export function requireAllEvents(db: Sqlite): void {
  const size = db.prepare<[], number>('SELECT size FROM head').pluck().get() ?? 0;
  const gap = size > mostCounted ? null : firstGap(db);
  if (gap) throw missingEvent(gap.position);
}
