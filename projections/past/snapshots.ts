import { setImmediate } from 'node:timers/promises';
import { DomainError } from '../../config/errors.ts';
import { noteFreed } from '../../storage/freed.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { copyAsOf } from '../tables/past-tables.ts';
import type { Tables } from '../tables/tables.ts';
import { hasNoCopies, keepWithin, openBudget, type SnapshotBudget } from './snapshot-budget.ts';
import {
  end,
  erasuresIn,
  leaseOf,
  openStore,
  release,
  remember,
  type Snapshot,
  type SnapshotLease,
  type Store,
} from './snapshot-store.ts';

/** The limits on copies of tables in memory. */
export const snapshotLimits = {
  /** The memory for the copies of all threads that share a budget. */
  maxBytes: 256 * 1024 * 1024,
  /** The time after which unused copies are given up. */
  idleMilliseconds: 30_000,
  /** The interval in which a thread looks whether others need memory. */
  lookMilliseconds: 1000,
  /** How long a lack of memory is remembered. */
  fullMilliseconds: 60_000,
  /** How many copies may be waited for. */
  maxWaiting: 20,
  /** How long a copy is made at a time, before other requests have their turn. */
  sliceMilliseconds: 5,
};

export type SnapshotLimits = typeof snapshotLimits;

export type Snapshots = ReturnType<typeof openSnapshots>;

/** The store of a reader of the past, and what is being made in it. */
type SnapshotState = {
  readonly path: string;
  readonly limits: SnapshotLimits;
  readonly budget: SnapshotBudget;
  /** The store that requests begin on. */
  store: Store | null;
  /** Copies are made one after the other. */
  queue: Promise<unknown>;
  waiting: number;
  idle: NodeJS.Timeout | undefined;
  looking: NodeJS.Timeout | undefined;
  isUsed: boolean;
  isIndexing: boolean;
};

/**
 * Keeps copies of `documents` tables as they stood at positions, in memory only: what is erased must not linger in
 * files. The copies are TEMP tables of a separate read connection, whose statements SQLite plans anew whenever such a
 * table comes or goes. A copy never changes; after an erasure all copies are given up.
 *
 * @param path the read file.
 * @param budget the memory of this thread; by default these snapshots have their own.
 */
export function openSnapshots(
  path: string,
  limits: SnapshotLimits = snapshotLimits,
  budget: SnapshotBudget = openBudget(),
) {
  const state: SnapshotState = {
    path,
    limits,
    budget,
    store: null,
    queue: Promise.resolve(),
    waiting: 0,
    idle: undefined,
    looking: undefined,
    isUsed: false,
    isIndexing: false,
  };
  return {
    /**
     * Holds tables as they stood at a position, and copies those that are not copied yet.
     *
     * @throws DomainError `unavailable` if too many copies are being waited for.
     */
    hold: (position: number, copied: readonly Tables[]): Promise<SnapshotLease> => hold(state, position, copied),
    close: (): Promise<void> => close(state),
  };
}

async function hold(state: SnapshotState, position: number, copied: readonly Tables[]): Promise<SnapshotLease> {
  for (;;) {
    const store = currentStore(state);
    const snapshots = new Map<string, Snapshot>();
    store.users += 1;
    try {
      for (const tables of copied) {
        if (snapshots.has(tables.key)) continue;
        const snapshot = await presentSnapshot(state, store, { tables, position });
        snapshot.users += 1;
        snapshots.set(tables.key, snapshot);
      }
      if (erasuresIn(store.prepare) === store.erasures) return leaseOf(store, position, snapshots);
      retire(state, store);
      release(store, snapshots);
    } catch (error) {
      release(store, snapshots);
      if (!(error instanceof StaleError)) throw error;
    }
  }
}

/** A table, and the position as of which it is copied. */
type CopyRequest = { tables: Tables; position: number };

/** Gets a copy that is still there. Between the end of its making and now it may have been given up for another. */
async function presentSnapshot(state: SnapshotState, store: Store, request: CopyRequest): Promise<Snapshot> {
  for (;;) {
    const snapshot = await snapshotOf(state, store, request);
    if (snapshot.rows === null || store.snapshots.get(snapshot.name) === snapshot) return snapshot;
  }
}

/** The store that requests begin on, made anew if something was erased. */
function currentStore(state: SnapshotState): Store {
  const { path, limits, budget } = state;
  state.idle ??= setInterval(() => giveUpIdle(state), limits.idleMilliseconds).unref();
  state.looking ??= setInterval(() => keepWithin(budget, limits.maxBytes), limits.lookMilliseconds).unref();
  state.isUsed = true;
  if (state.store && erasuresIn(state.store.prepare) !== state.store.erasures) retire(state, state.store);
  state.store ??= openStore(path);
  budget.stores.add(state.store);
  return state.store;
}

function giveUpIdle(state: SnapshotState): void {
  if (state.store && !state.isUsed) {
    retire(state, state.store);
    noteFreed();
  }
  state.isUsed = false;
}

function snapshotOf(
  state: SnapshotState,
  store: Store,
  { tables, position }: CopyRequest,
): Promise<Snapshot> | Snapshot {
  const { limits } = state;
  const name = `${tables.key} as of ${position}`;
  const found = store.snapshots.get(name);
  const now = performance.now();
  if (found && (found.rows !== null || now - found.usedAt < limits.fullMilliseconds)) {
    store.snapshots.delete(name);
    store.snapshots.set(name, found);
    // A lack of memory is looked at again after a while.
    if (found.rows !== null) found.usedAt = now;
    // A copy that is requested again is worth its indexes.
    found.isWanted = true;
    indexLater(state, store);
    return found;
  }
  const started = store.building.get(name);
  if (started) return started;
  if (state.waiting >= limits.maxWaiting) {
    const message = 'too many lists of the past are being made ready: try again later';
    throw new DomainError('unavailable', message, [], 5);
  }
  state.waiting += 1;
  const building = state.queue
    .then(() => buildSnapshot(store, { name, tables, position }, state))
    .finally(() => {
      state.waiting -= 1;
      store.building.delete(name);
      indexLater(state, store);
    });
  store.building.set(name, building);
  // Each copy takes its slices of the thread after the one before.
  state.queue = building.catch(() => {});
  return building;
}

/** Adds indexes later. A copy is right without them, and a query that meets the same failure says so. */
function indexLater(state: SnapshotState, store: Store): void {
  addIndexes(state, store).catch(() => {});
}

/** Makes the indexes of copies that were requested again, one after the other, while no copy is waited for. */
async function addIndexes(state: SnapshotState, store: Store): Promise<void> {
  if (state.isIndexing) return;
  state.isIndexing = true;
  try {
    for (;;) {
      await setImmediate();
      const next = [...store.snapshots.values()].findLast(({ isWanted, indexes }) => isWanted && indexes.length > 0);
      if (store.isOver || state.waiting > 0 || !next) return;
      addIndex(store, next, state);
    }
  } finally {
    state.isIndexing = false;
  }
}

function retire(state: SnapshotState, store: Store): void {
  end(store);
  if (state.store === store) state.store = null;
}

async function close(state: SnapshotState): Promise<void> {
  clearInterval(state.idle);
  clearInterval(state.looking);
  if (state.store) retire(state, state.store);
  await state.queue;
  keepWithin(state.budget, state.limits.maxBytes);
}

type Bounds = Pick<SnapshotState, 'limits' | 'budget'>;

/** Thrown when an erasure came in between. */
class StaleError extends Error {}

/** Makes the next index of a copy; if there is no memory for it, the copy gets no more indexes. */
function addIndex({ db }: Store, snapshot: Snapshot, { budget, limits }: Bounds): void {
  const [next, ...rest] = snapshot.indexes;
  if (!next) return;
  db.exec(next.create);
  snapshot.indexes = rest;
  // A copy must not be given up for its own index.
  snapshot.users += 1;
  const isWithin = keepWithin(budget, limits.maxBytes);
  snapshot.users -= 1;
  if (isWithin) return;
  db.exec(next.drop);
  snapshot.indexes = [];
}

/**
 * Copies a table as it stood at a position: the live versions first, then the versions that ended since, up to now. A
 * version that is live when its row is passed, and ends afterwards, is copied already; a version that ended before is
 * among the ended ones. The copy is made in slices, for the thread has other requests. The index of the ids is one
 * slice, of some 0.05 s for 100,000 rows; other indexes follow if the copy is requested again.
 *
 * @returns a snapshot without a copy if there is no memory for it.
 * @throws StaleError if the store ended meanwhile.
 */
async function buildSnapshot(
  store: Store,
  { name, tables, position }: CopyRequest & { name: string },
  { limits: { maxBytes, sliceMilliseconds }, budget }: Bounds,
): Promise<Snapshot> {
  const { db } = store;
  const copy = copyAsOf(tables, position, name);
  const lastEnd = () => lastOf(db, 'valid_to', tables.versions);
  const ended = lastEnd();
  const phases = [
    { insert: copy.copyLive, from: 0, last: () => Math.min(position, lastOf(db, 'key', tables.documents)) },
    { insert: copy.copyPast, from: position, last: () => ended },
    // The versions from here on may have been passed while they were live.
    { before: copy.idIndex, insert: copy.copyPast, from: Math.max(position, ended), last: lastEnd },
  ];
  /** Remembered if the copy alone is too large: other copies may only be in use for now. */
  const none = (): Snapshot => {
    const snapshot = { name, copy, rows: null, users: 0, usedAt: performance.now(), indexes: [] };
    if (hasNoCopies(budget)) remember(store, snapshot);
    return snapshot;
  };
  if (store.isOver) throw new StaleError();
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
        if (!keepWithin(budget, maxBytes)) return none();
        await setImmediate();
        if (store.isOver) throw new StaleError();
      }
    }
    if (!keepWithin(budget, maxBytes)) return none();
    isWhole = true;
    const snapshot: Snapshot = { name, copy, rows, users: 0, usedAt: performance.now(), indexes: copy.indexes };
    store.snapshots.set(name, snapshot);
    return snapshot;
  } finally {
    if (!isWhole && db.open) db.exec(copy.drop);
  }
}

function lastOf(db: Sqlite, column: string, table: string): number {
  return db.prepare<[], number | null>(`SELECT max(${column}) FROM ${table}`).pluck().get() ?? 0;
}
