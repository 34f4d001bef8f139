import { openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { registerFunctions } from '../query/documents.ts';
import { type Prepare, preparer } from '../query/lists.ts';
import { createCache } from '../tables/cache.ts';
import { type copyAsOf, viewAsOf } from '../tables/past-tables.ts';
import type { Tables } from '../tables/tables.ts';

/** The means of a query as of a position, for as long as they are held. */
export type Lease = {
  prepare: Prepare;
  /** Runs queries that all see the same moment of today. */
  together: <T>(queries: () => T) => T;
  /** The tables as they stood: a copy with indexes, or where that would be too large, a query. */
  tablesFor: (tables: Tables) => Tables;
  /** How many rows a copy has; null for tables that are not copied. */
  rowsOf: (tables: Tables) => number | null;
  /** Totals that cannot change any more, but for an erasure. */
  totals: Totals;
  /** Totals that a write may change. */
  totalsOfToday: () => Totals;
  release: () => void;
};

type Totals = ReturnType<typeof createCache<number>>;

/**
 * A copy that is there; `rows` is null where there was no room for it. `indexes` are those that it does not have yet.
 */
export type Snapshot = {
  name: string;
  copy: ReturnType<typeof copyAsOf>;
  rows: number | null;
  users: number;
  /** When it was asked for last, by `performance.now()`. */
  usedAt: number;
  indexes: ReturnType<typeof copyAsOf>['indexes'];
  /** It was asked for again. */
  isWanted?: boolean;
};

/** A connection with copies, given up as a whole: then nothing of them is left in memory. */
export type Store = {
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
export function leaseOf(held: Store, position: number, snapshots: ReadonlyMap<string, Snapshot>): Lease {
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

const maxRemembered = 1000;

/** Remembers that there is no room for a copy. */
export function remember(held: Store, snapshot: Snapshot): void {
  if (held.snapshots.size >= maxRemembered) held.snapshots.clear();
  held.snapshots.set(snapshot.name, snapshot);
}

/** Gives back a store, which closes when it is over and the last user leaves. */
export function release(held: Store, snapshots: ReadonlyMap<string, Snapshot>): void {
  for (const snapshot of snapshots.values()) snapshot.users -= 1;
  held.users -= 1;
  if (held.isOver && held.users === 0) held.db.close();
}

/** Lets no query begin on a store any more; those that run on it end on it. */
export function end(held: Store): void {
  if (held.isOver) return;
  held.isOver = true;
  if (held.users === 0) held.db.close();
}

/** How many erasures the read file has had. */
export function erasuresIn(prepare: Store['prepare']): number {
  return prepare<number>('SELECT count FROM erasures').get() ?? 0;
}
