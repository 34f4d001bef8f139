import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../config/errors.ts';
import { openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { createCache } from './cache.ts';
import { registerFunctions } from './documents.ts';
import { type Prepare, preparer } from './lists.ts';
import { copyAsOf, viewAsOf } from './past-tables.ts';
import type { Tables } from './tables.ts';

/** `maxBytes` of memory for all copies of a thread; `idleMilliseconds` until unused ones are given up; how many may wait for one. */
export type SnapshotLimits = {
  maxBytes: number;
  idleMilliseconds: number;
  maxWaiting: number;
  sliceMilliseconds: number;
};

export const snapshotLimits: SnapshotLimits = {
  maxBytes: 256 * 1024 * 1024,
  idleMilliseconds: 10 * 60_000,
  maxWaiting: 20,
  sliceMilliseconds: 5,
};

/** What a query as of a position runs on, for as long as it is held. */
export type Lease = {
  prepare: Prepare;
  /** Runs queries that all see the same moment of today. */
  together: <T>(queries: () => T) => T;
  /** The tables as they stood: a copy with indexes, or where that would be too large, a query. */
  tablesFor: (tables: Tables) => Tables;
  /** How many rows a copy has; null of what is no copy. */
  rowsOf: (tables: Tables) => number | null;
  /** Totals that cannot change any more, but for an erasure. */
  totals: Totals;
  /** Totals that a write may change. */
  totalsOfToday: () => Totals;
  release: () => void;
};

type Totals = ReturnType<typeof createCache<number>>;

/** A copy that is there; `rows` is null where it would be too large. */
type Snapshot = { name: string; copy: ReturnType<typeof copyAsOf>; rows: number | null; users: number };

/** A connection with copies, given up as a whole: then nothing of them is left in memory. */
type Store = {
  db: Sqlite;
  prepare: Prepare;
  /** In the order of their last use. */
  snapshots: Map<string, Snapshot>;
  building: Map<string, Promise<Snapshot>>;
  totals: Totals;
  today: { totals: Totals; version: unknown };
  erasures: number;
  users: number;
  isOver: boolean;
};

/** Thrown inside when an erasure came in between. */
class StaleError extends Error {}

/**
 * Keeps copies of `documents` tables as they stood at positions, in memory only: what is erased must not linger in files.
 * They are TEMP tables of a read connection of their own, whose statements SQLite plans anew whenever such a table comes or
 * goes. A copy never changes; after an erasure all are given up.
 *
 * @param path the read file.
 */
export function openSnapshots(path: string, limits: SnapshotLimits = snapshotLimits) {
  let store: Store | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let idle: NodeJS.Timeout | undefined;
  let isUsed = false;

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

  function leaseOf(held: Store, position: number, snapshots: ReadonlyMap<string, Snapshot>): Lease {
    const { prepare, totals } = held;
    const rowsOf = ({ key }: Tables) => snapshots.get(key)?.rows ?? null;
    const views = new Map<string, Tables>();
    return {
      prepare,
      together: (queries) => held.db.transaction(queries)(),
      totals,
      rowsOf,
      tablesFor(tables) {
        const snapshot = snapshots.get(tables.key);
        if (snapshot && snapshot.rows !== null) return snapshot.copy.tables;
        const view = views.get(tables.key) ?? viewAsOf(tables, position);
        views.set(tables.key, view);
        return view;
      },
      totalsOfToday() {
        const version = prepare('PRAGMA data_version').get();
        if (held.today.version !== version) held.today.totals.clear();
        held.today.version = version;
        return held.today.totals;
      },
      release: () => release(held, snapshots),
    };
  }

  /** The store that requests begin on: made anew when something was erased. */
  function current(): Store {
    idle ??= setInterval(giveUpIdle, limits.idleMilliseconds).unref();
    isUsed = true;
    if (store && erasuresIn(store.prepare) !== store.erasures) retire(store);
    store ??= openStore(path);
    return store;
  }

  function giveUpIdle(): void {
    if (store && !isUsed) retire(store);
    isUsed = false;
  }

  function snapshotOf(held: Store, tables: Tables, position: number): Promise<Snapshot> | Snapshot {
    const name = `${tables.key} as of ${position}`;
    const found = held.snapshots.get(name);
    if (found) {
      held.snapshots.delete(name);
      held.snapshots.set(name, found);
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
      .then(() => build(held, tables, position, name))
      .finally(() => {
        waiting -= 1;
        held.building.delete(name);
      });
    held.building.set(name, building);
    // One after the other: each takes its slices of the thread.
    queue = building.catch(() => {});
    return building;
  }

  /**
   * What is live first, then what ended since the position, up to now: a version that is live when its row is passed, and ends
   * afterwards, is copied already; one that ended before is among those that ended. In slices, for the thread has other
   * requests; an index is one, of 0.1 s for 100,000 rows.
   */
  async function build(held: Store, tables: Tables, position: number, name: string): Promise<Snapshot> {
    const { db } = held;
    const copy = copyAsOf(tables, position, name);
    const last = (column: string, table: string) =>
      db
        .prepare<[after: number, upTo: number, limit: number], number | null>(
          `SELECT max(at) FROM (SELECT ${column} AS at FROM ${table} WHERE ${column} > ? AND ${column} <= ? ORDER BY ${column} LIMIT ?)`,
        )
        .pluck();
    const phases = [
      { insert: copy.copyLive, next: last('key', tables.documents), from: 0, to: position },
      { insert: copy.copyPast, next: last('valid_to', tables.versions), from: position, to: Number.MAX_SAFE_INTEGER },
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
          atOnce = Math.min(
            20_000,
            Math.max(50, Math.round((atOnce * limits.sliceMilliseconds) / Math.max(took, 0.1))),
          );
          if (!makeRoom(held)) return tooLarge(held, { name, copy, rows: null, users: 0 });
          await setImmediate();
          if (held.isOver) throw new StaleError();
        }
      }
      for (const index of copy.indexes) {
        db.exec(index);
        if (!makeRoom(held)) return tooLarge(held, { name, copy, rows: null, users: 0 });
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

  /** Gives up copies that nobody uses, the longest unused first; false when that is not enough. */
  function makeRoom(held: Store): boolean {
    for (const [name, { copy, rows, users }] of held.snapshots) {
      if (bytesIn(held.db) <= limits.maxBytes) return true;
      if (users > 0 || rows === null) continue;
      held.snapshots.delete(name);
      held.db.exec(copy.drop);
    }
    return bytesIn(held.db) <= limits.maxBytes;
  }

  /** Worth remembering where it was so by itself; others may only be in use for now. */
  function tooLarge(held: Store, snapshot: Snapshot): Snapshot {
    const others = [...held.snapshots.values()];
    if (others.some(({ rows }) => rows !== null)) return snapshot;
    if (others.length >= maxRemembered) held.snapshots.clear();
    held.snapshots.set(snapshot.name, snapshot);
    return snapshot;
  }

  function release(held: Store, snapshots: ReadonlyMap<string, Snapshot>): void {
    for (const snapshot of snapshots.values()) snapshot.users -= 1;
    held.users -= 1;
    if (held.isOver && held.users === 0) held.db.close();
  }

  /** Nobody begins on it any more; who is on it still ends. */
  function retire(held: Store): void {
    if (held.isOver) return;
    held.isOver = true;
    if (store === held) store = null;
    if (held.users === 0) held.db.close();
  }

  async function close(): Promise<void> {
    clearInterval(idle);
    if (store) retire(store);
    await queue;
  }

  return { hold, close };
}

const maxRemembered = 1000;

function openStore(path: string): Store {
  const db = openDatabase(path, { readonly: true });
  registerFunctions(db);
  db.pragma('temp_store = memory');
  if (db.pragma('temp_store', { simple: true }) !== 2) throw new Error('SQLite did not accept temp_store = memory');
  const prepare = preparer(db);
  return {
    db,
    prepare,
    snapshots: new Map(),
    building: new Map(),
    totals: createCache(),
    today: { totals: createCache(), version: null },
    erasures: erasuresIn(prepare),
    users: 0,
    isOver: false,
  };
}

function erasuresIn(prepare: Store['prepare']): number {
  return prepare<number>('SELECT count FROM erasures').get() ?? 0;
}

/** What the copies take: pages that are free again are counted out, for they are used first. */
function bytesIn(db: Sqlite): number {
  const of = (name: string) => Number(db.pragma(`temp.${name}`, { simple: true }));
  return (of('page_count') - of('freelist_count')) * of('page_size');
}
