import { DomainError } from '../config/errors.ts';
import { buildSnapshot, type SnapshotLimits, StaleError, snapshotLimits } from './snapshot-builder.ts';
import {
  end,
  erasuresIn,
  type Lease,
  leaseOf,
  openStore,
  release,
  type Snapshot,
  type Store,
} from './snapshot-store.ts';
import type { Tables } from './tables.ts';

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
      .then(() => buildSnapshot(held, { name, tables, position }, limits))
      .finally(() => {
        waiting -= 1;
        held.building.delete(name);
      });
    held.building.set(name, building);
    // One after the other: each takes its slices of the thread.
    queue = building.catch(() => {});
    return building;
  }

  function retire(held: Store): void {
    end(held);
    if (store === held) store = null;
  }

  async function close(): Promise<void> {
    clearInterval(idle);
    if (store) retire(store);
    await queue;
  }

  return { hold, close };
}
