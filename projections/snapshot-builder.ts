import { setImmediate } from 'node:timers/promises';
import type { Sqlite } from '../storage/sqlite.ts';
import { copyAsOf } from './past-tables.ts';
import { makeRoom, type Snapshot, type Store, tooLarge } from './snapshot-store.ts';
import type { Tables } from './tables.ts';

/** `maxBytes` of memory for all copies of a thread; `idleMilliseconds` until unused ones are given up; how many may wait for one. */
export const snapshotLimits = {
  maxBytes: 256 * 1024 * 1024,
  idleMilliseconds: 10 * 60_000,
  maxWaiting: 20,
  sliceMilliseconds: 5,
};

export type SnapshotLimits = typeof snapshotLimits;

/** Thrown when an erasure came in between. */
export class StaleError extends Error {}

/**
 * Copies tables as they stood at a position: the live versions first, then those that ended since, up to now. A version that is live
 * when its row is passed, and ends afterwards, is copied already; one that ended before is among those that ended. In slices, for the
 * thread has other requests; an index is one, of 0.1 s for 100,000 rows.
 *
 * @returns a snapshot without a copy where that would be too large.
 * @throws StaleError when the store came to its end meanwhile.
 */
export async function buildSnapshot(
  held: Store,
  { name, tables, position }: { name: string; tables: Tables; position: number },
  { maxBytes, sliceMilliseconds }: SnapshotLimits,
): Promise<Snapshot> {
  const { db } = held;
  const copy = copyAsOf(tables, position, name);
  const phases = [
    { insert: copy.copyLive, next: lastOf(db, 'key', tables.documents), from: 0, to: position },
    {
      insert: copy.copyPast,
      next: lastOf(db, 'valid_to', tables.versions),
      from: position,
      to: Number.MAX_SAFE_INTEGER,
    },
  ];
  if (held.isOver) throw new StaleError();
  db.exec(copy.create);
  let isWhole = false;
  try {
    let rows = 0;
    let atOnce = 200;
    for (const { insert, next, from, to } of phases) {
      const statement = db.prepare(insert);
      for (let after = from; ; ) {
        const started = performance.now();
        const upTo = next.get(after, to, atOnce) ?? null;
        if (upTo === null) break;
        rows += statement.run(after, upTo).changes;
        after = upTo;
        const took = performance.now() - started;
        atOnce = Math.min(20_000, Math.max(50, Math.round((atOnce * sliceMilliseconds) / Math.max(took, 0.1))));
        if (!makeRoom(held, maxBytes)) return tooLarge(held, { name, copy, rows: null, users: 0 });
        await setImmediate();
        if (held.isOver) throw new StaleError();
      }
    }
    for (const index of copy.indexes) {
      db.exec(index);
      if (!makeRoom(held, maxBytes)) return tooLarge(held, { name, copy, rows: null, users: 0 });
      await setImmediate();
      if (held.isOver) throw new StaleError();
    }
    isWhole = true;
    const snapshot: Snapshot = { name, copy, rows, users: 0 };
    held.snapshots.set(name, snapshot);
    return snapshot;
  } finally {
    if (!isWhole && db.open) db.exec(copy.drop);
  }
}

/** Finds where a slice of so many rows ends. */
function lastOf(db: Sqlite, column: string, table: string) {
  return db
    .prepare<[after: number, upTo: number, limit: number], number | null>(
      `SELECT max(at) FROM (SELECT ${column} AS at FROM ${table} WHERE ${column} > ? AND ${column} <= ? ORDER BY ${column} LIMIT ?)`,
    )
    .pluck();
}
