import type { Sqlite } from '../../storage/sqlite.ts';
import type { FirstAnswer, IdempotencyRecord } from './log.ts';

/** How long a write may be repeated under its idempotency key, in milliseconds: 7 days. */
export const idempotencyMilliseconds = 7 * 24 * 3600 * 1000;

/** How many records are looked at in one go when old ones are forgotten, so that no write waits long. */
const pruned = 500;
const pauseMilliseconds = 60_000;

export type IdempotencyRecords = ReturnType<typeof readIdempotencyRecords>;

/** Reads the idempotency records of a log. */
export function readIdempotencyRecords(db: Sqlite) {
  const select = db.prepare<[key: string, since: number], FirstAnswer>(
    'SELECT fingerprint, stream, position, version FROM commands WHERE key = ? AND recorded_at > ?',
  );

  /** The first answer under a key; null without one, or if it was too long ago. */
  function find(key: string, now: number): FirstAnswer | null {
    return select.get(key, now - idempotencyMilliseconds) ?? null;
  }

  return { find };
}

/** Reads and keeps attempts, for the writer, inside its transactions. */
export function keepIdempotencyRecords(db: Sqlite) {
  const upsert = db.prepare(
    // A record with this key that is still there is too old.
    `INSERT INTO commands VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET fingerprint = excluded.fingerprint,
     stream = excluded.stream, position = excluded.position, version = excluded.version, recorded_at = excluded.recorded_at`,
  );
  // Roughly in the order in which they were recorded: there is no index only for this.
  const remove = db.prepare(
    `DELETE FROM commands WHERE rowid IN (
       SELECT rowid FROM (SELECT rowid, recorded_at FROM commands ORDER BY rowid LIMIT ${pruned}) WHERE recorded_at <= ?
     )`,
  );
  let nextPrune = 0;

  function keep(
    { key, fingerprint }: IdempotencyRecord,
    { stream, position, version }: Omit<FirstAnswer, 'fingerprint'>,
    now: number,
  ) {
    upsert.run(key, fingerprint, stream, position, version, now);
  }

  /** Forgets some attempts that are too old; only from time to time, however often it is called. */
  function prune(now: number): void {
    const isTooSoon = now < nextPrune && now >= nextPrune - pauseMilliseconds;
    if (isTooSoon) return;
    const { changes } = remove.run(now - idempotencyMilliseconds);
    nextPrune = changes === pruned ? now : now + pauseMilliseconds;
  }

  return { ...readIdempotencyRecords(db), keep, prune };
}
