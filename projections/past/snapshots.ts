import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../../config/errors.ts';
import { noteFreed } from '../../storage/freed.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { copyAsOf } from '../tables/past-tables.ts';
import type { Tables } from '../tables/tables.ts';
import { type CopyRoom, isEmpty, makeRoom, openRoom } from './snapshot-budget.ts';
import {
  end,
  erasuresIn,
  type Lease,
  leaseOf,
  openStore,
  release,
  remember,
  type Snapshot,
  type Store,
} from './snapshot-store.ts';

/**
 * `maxBytes` of memory for the copies of all threads that share a room; `idleMilliseconds` until unused ones are given
 * up; how often a thread looks whether others need room; for how long a lack of room is remembered; how many may wait
 * for a copy.
 */
export const snapshotLimits = {
  maxBytes: 256 * 1024 * 1024,
  idleMilliseconds: 30_000,
  lookMilliseconds: 1000,
  fullMilliseconds: 60_000,
  maxWaiting: 20,
  sliceMilliseconds: 5,
};

export type SnapshotLimits = typeof snapshotLimits;

/**
 * Keeps copies of `documents` tables as they stood at positions, in memory only: what is erased must not linger in
 * files. They are TEMP tables of a read connection of their own, whose statements SQLite plans anew whenever such a
 * table comes or goes. A copy never changes; after an erasure all are given up.
 *
 * @param path the read file.
 * @param room that of this thread; by default one of its own.
 */
export function openSnapshots(path: string, limits: SnapshotLimits = snapshotLimits, room: CopyRoom = openRoom()) {
  const bounds: Bounds = { limits, room };
  let store: Store | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let idle: NodeJS.Timeout | undefined;
  let looking: NodeJS.Timeout | undefined;
  let isUsed = false;
  let isIndexing = false;

  /**
   * Holds tables as they stood at a position, copied if they are not yet.
   *
   * @throws DomainError `unavailable` when too many copies are being waited for.
   */
  async function hold(position: number, copied: readonly Tables[]): Promise<Lease> {
    for (;;) {
      const held = current();
      const snapshots = new Map<string, Snapshot>();
      held.users += 1;
      try {
        for (const tables of copied) {
          if (snapshots.has(tables.key)) continue;
          const snapshot = await kept(held, tables, position);
          snapshot.users += 1;
          snapshots.set(tables.key, snapshot);
        }
        if (erasuresIn(held.prepare) === held.erasures) return leaseOf(held, position, snapshots);
        retire(held);
        release(held, snapshots);
      } catch (error) {
        release(held, snapshots);
        if (!(error instanceof StaleError)) throw error;
      }
    }
  }

  /** Another may have been made room for between the end of its making and now. */
  async function kept(held: Store, tables: Tables, position: number): Promise<Snapshot> {
    for (;;) {
      const snapshot = await snapshotOf(held, tables, position);
      if (snapshot.rows === null || held.snapshots.get(snapshot.name) === snapshot) return snapshot;
    }
  }

  /** The store that requests begin on: made anew when something was erased. */
  function current(): Store {
    idle ??= setInterval(giveUpIdle, limits.idleMilliseconds).unref();
    looking ??= setInterval(() => makeRoom(room, limits.maxBytes), limits.lookMilliseconds).unref();
    isUsed = true;
    if (store && erasuresIn(store.prepare) !== store.erasures) retire(store);
    store ??= openStore(path);
    room.stores.add(store);
    return store;
  }

  function giveUpIdle(): void {
    if (store && !isUsed) {
      retire(store);
      noteFreed();
    }
    isUsed = false;
  }

  function snapshotOf(held: Store, tables: Tables, position: number): Promise<Snapshot> | Snapshot {
    const name = `${tables.key} as of ${position}`;
    const found = held.snapshots.get(name);
    const now = performance.now();
    if (found && (found.rows !== null || now - found.usedAt < limits.fullMilliseconds)) {
      held.snapshots.delete(name);
      held.snapshots.set(name, found);
      // That there was no room is found out anew after a while.
      if (found.rows !== null) found.usedAt = now;
      // Asked for again: it is worth its indexes.
      found.isWanted = true;
      indexLater(held);
      return found;
    }
    const started = held.building.get(name);
    if (started) return started;
    if (waiting >= limits.maxWaiting) {
      const message = 'too many lists of the past are being made ready: try again later';
      throw new DomainError('unavailable', message, [], 5);
    }
    waiting += 1;
    const building = queue
      .then(() => buildSnapshot(held, { name, tables, position }, bounds))
      .finally(() => {
        waiting -= 1;
        held.building.delete(name);
        indexLater(held);
      });
    held.building.set(name, building);
    // One after the other: each takes its slices of the thread.
    queue = building.catch(() => {});
    return building;
  }

  /** A copy is right without its indexes, and a query that meets the same failure says so. */
  function indexLater(held: Store): void {
    addIndexes(held).catch(() => {});
  }

  /** Makes the indexes of copies that were asked for again, one after the other, while no copy is waited for. */
  async function addIndexes(held: Store): Promise<void> {
    if (isIndexing) return;
    isIndexing = true;
    try {
      for (;;) {
        await setImmediate();
        const next = [...held.snapshots.values()].findLast(({ isWanted, indexes }) => isWanted && indexes.length > 0);
        if (held.isOver || waiting > 0 || !next) return;
        addIndex(held, next, bounds);
      }
    } finally {
      isIndexing = false;
    }
  }

  function retire(held: Store): void {
    end(held);
    if (store === held) store = null;
  }

  async function close(): Promise<void> {
    clearInterval(idle);
    clearInterval(looking);
    if (store) retire(store);
    await queue;
    makeRoom(room, limits.maxBytes);
  }

  return { hold, close };
}

type Bounds = { limits: SnapshotLimits; room: CopyRoom };

/** Thrown when an erasure came in between. */
class StaleError extends Error {}

/** Makes the next index of a copy; none more where there is no room for it. */
function addIndex({ db }: Store, snapshot: Snapshot, { room, limits }: Bounds): void {
  const [next, ...rest] = snapshot.indexes;
  if (!next) return;
  db.exec(next.create);
  snapshot.indexes = rest;
  // It is not to be given up for its own index.
  snapshot.users += 1;
  const isRoom = makeRoom(room, limits.maxBytes);
  snapshot.users -= 1;
  if (isRoom) return;
  db.exec(next.drop);
  snapshot.indexes = [];
}

/**
 * Copies tables as they stood at a position: the live versions first, then those that ended since, up to now. A version
 * that is live when its row is passed, and ends afterwards, is copied already; one that ended before is among those
 * that ended. In slices, for the thread has other requests; the index of the ids is one, of some 0.05 s for 100,000
 * rows. Other indexes follow where it is asked for again.
 *
 * @returns a snapshot without a copy where there is no room for it.
 * @throws StaleError when the store came to its end meanwhile.
 */
async function buildSnapshot(
  held: Store,
  { name, tables, position }: { name: string; tables: Tables; position: number },
  { limits: { maxBytes, sliceMilliseconds }, room }: Bounds,
): Promise<Snapshot> {
  const { db } = held;
  const copy = copyAsOf(tables, position, name);
  const lastEnd = () => lastOf(db, 'valid_to', tables.versions);
  const ended = lastEnd();
  const phases = [
    { insert: copy.copyLive, from: 0, last: () => Math.min(position, lastOf(db, 'key', tables.documents)) },
    { insert: copy.copyPast, from: position, last: () => ended },
    // From here on a version may have been passed while it was live.
    { before: copy.idIndex, insert: copy.copyPast, from: Math.max(position, ended), last: lastEnd },
  ];
  /** Remembered where it is so of the copy by itself; others may only be in use for now. */
  const none = (): Snapshot => {
    const snapshot = { name, copy, rows: null, users: 0, usedAt: performance.now(), indexes: [] };
    if (isEmpty(room)) remember(held, snapshot);
    return snapshot;
  };
  if (held.isOver) throw new StaleError();
  db.exec(copy.create);
  let isWhole = false;
  try {
    let rows = 0;
    let atOnce = 200;
    for (const { before, insert, from, last } of phases) {
      if (before) db.exec(before);
      const statement = db.prepare(insert);
      // Positions are close together: a range of them is a slice.
      for (let after = from, end = last(); after < end; end = last()) {
        const started = performance.now();
        const upTo = Math.min(after + atOnce, end);
        rows += statement.run(after, upTo).changes;
        after = upTo;
        const took = performance.now() - started;
        atOnce = Math.min(1_000_000, Math.max(50, Math.round((atOnce * sliceMilliseconds) / Math.max(took, 0.1))));
        if (!makeRoom(room, maxBytes)) return none();
        await setImmediate();
        if (held.isOver) throw new StaleError();
      }
    }
    if (!makeRoom(room, maxBytes)) return none();
    isWhole = true;
    const snapshot: Snapshot = { name, copy, rows, users: 0, usedAt: performance.now(), indexes: copy.indexes };
    held.snapshots.set(name, snapshot);
    return snapshot;
  } finally {
    if (!isWhole && db.open) db.exec(copy.drop);
  }
}

function lastOf(db: Sqlite, column: string, table: string): number {
  return db.prepare<[], number | null>(`SELECT max(${column}) FROM ${table}`).pluck().get() ?? 0;
}
