import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { registerFunctions } from '../query/documents.ts';
import { type Prepare, preparer } from '../query/lists.ts';
import { createCache } from '../tables/cache.ts';
import { type copyAsOf, viewAsOf } from '../tables/past-tables.ts';
import type { Tables } from '../tables/tables.ts';

/** The tables as of a position, lent to a query. */
export type SnapshotLease = {
  prepare: Prepare;
  /** Runs queries that all see one state of today's tables. */
  together: <T>(queries: () => T) => T;
  /** The tables as they stood: a copy with indexes, or a query if a copy would be too large. */
  tablesFor: (tables: Tables) => Tables;
  /** How many rows a copy has; null for tables that are not copied. */
  rowsOf: (tables: Tables) => number | null;
  /** Totals that only an erasure can change. */
  totals: Totals;
  /** Totals that a write may change. */
  totalsOfToday: () => Totals;
  release: () => void;
};

type Totals = ReturnType<typeof createCache<number>>;

/** A copy of a table; `rows` is null if there was no memory for it. `indexes`: those that it does not have yet. */
export type Snapshot = {
  name: string;
  copy: ReturnType<typeof copyAsOf>;
  rows: number | null;
  users: number;
  /** The time of the last request for it, by `performance.now()`. */
  usedAt: number;
  indexes: ReturnType<typeof copyAsOf>['indexes'];
  /** Whether it was requested again. */
  isWanted?: boolean;
};

/** A connection with copies. It is given up as a whole: then nothing of its copies is left in memory. */
export type Store = {
  db: Sqlite;
  prepare: Prepare;
  /** The copies in the order of their last use. */
  snapshots: Map<string, Snapshot>;
  building: Map<string, Promise<Snapshot>>;
  totals: Totals;
  today: { totals: Totals; version: unknown };
  erasures: number;
  users: number;
  isOver: boolean;
};

/** Opens a connection to a read file, without copies yet. */
export function openStore(path: string): Store {
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

/** Lends a store to a query; `release` gives it back. */
export function leaseOf(store: Store, position: number, snapshots: ReadonlyMap<string, Snapshot>): SnapshotLease {
  const { prepare, totals } = store;
  const rowsOf = ({ key }: Tables) => snapshots.get(key)?.rows ?? null;
  const views = new Map<string, Tables>();
  return {
    prepare,
    together: (queries) => store.db.transaction(queries)(),
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
      if (store.today.version !== version) store.today.totals.clear();
      store.today.version = version;
      return store.today.totals;
    },
    release: () => release(store, snapshots),
  };
}

const maxRemembered = 1000;

/** Remembers that there is no memory for a copy. */
export function remember(store: Store, snapshot: Snapshot): void {
  if (store.snapshots.size >= maxRemembered) store.snapshots.clear();
  store.snapshots.set(snapshot.name, snapshot);
}

/** Gives back a store, which closes when it is over and the last user leaves. */
export function release(store: Store, snapshots: ReadonlyMap<string, Snapshot>): void {
  for (const snapshot of snapshots.values()) snapshot.users -= 1;
  store.users -= 1;
  if (store.isOver && store.users === 0) store.db.close();
}

/** Lets no query begin on a store any more; running queries end on it. */
export function end(store: Store): void {
  if (store.isOver) return;
  store.isOver = true;
  if (store.users === 0) store.db.close();
}

/** How many erasures the read file has had. */
export function erasuresIn(prepare: Store['prepare']): number {
  return prepare<number>('SELECT count FROM erasures').get() ?? 0;
}
