import type { Sqlite } from '../../storage/sqlite.ts';
import type { Snapshot, Store } from './snapshot-store.ts';

/** The memory that the copies of each thread take, in KiB; all threads see it. */
type CopyMemory = Int32Array<SharedArrayBuffer>;

/** The memory of all threads, and the index of one thread in it. */
export type CopyMemorySlot = { memory: CopyMemory; own: number };

/** The memory for copies that one thread may use, for all its stores. */
export type SnapshotBudget = CopyMemorySlot & { stores: Set<Store> };

/** Makes the memory of `count` threads that share one bound. */
export function newCopyMemory(count: number): CopyMemory {
  return new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
}

/**
 * Opens the budget of this thread, in a slot that a thread which ended may have had; by default no thread shares it.
 */
export function openBudget({ memory, own }: CopyMemorySlot = { memory: newCopyMemory(1), own: 0 }): SnapshotBudget {
  Atomics.store(memory, own, 0);
  return { memory, own, stores: new Set() };
}

/**
 * Gives up unused copies of this thread, the longest unused first, until the thread has no more than it may, and shows
 * the other threads how much it has. It may have what the others leave of `maxBytes`, and always an equal part of it:
 * then the others give up what exceeds their part when they look next.
 *
 * @returns false if that is not enough.
 */
export function keepWithin(budget: SnapshotBudget, maxBytes: number): boolean {
  const allowed = allowedIn(budget, maxBytes);
  let bytes = bytesIn(budget);
  for (const { store, snapshot } of bytes > allowed ? unusedIn(budget) : []) {
    store.snapshots.delete(snapshot.name);
    store.db.exec(snapshot.copy.drop);
    bytes = bytesIn(budget);
    if (bytes <= allowed) break;
  }
  Atomics.store(budget.memory, budget.own, Math.ceil(bytes / 1024));
  return bytes <= allowed;
}

/** Whether this thread has no copy. */
export function hasNoCopies({ stores }: SnapshotBudget): boolean {
  return stores.values().every(({ snapshots }) => snapshots.values().every(({ rows }) => rows === null));
}

/** The memory that copies take in all threads, in bytes, as the threads have shown it. */
function bytesInAll({ memory }: CopyMemorySlot): number {
  return memory.reduce((sum, _, index) => sum + Atomics.load(memory, index) * 1024, 0);
}

function allowedIn({ memory, own }: CopyMemorySlot, maxBytes: number): number {
  const others = bytesInAll({ memory, own }) - Atomics.load(memory, own) * 1024;
  return Math.max(maxBytes / memory.length, maxBytes - others);
}

function unusedIn({ stores }: SnapshotBudget): { store: Store; snapshot: Snapshot }[] {
  const all = [...stores].flatMap((store) => [...store.snapshots.values()].map((snapshot) => ({ store, snapshot })));
  return all
    .filter(({ snapshot: { rows, users } }) => rows !== null && users === 0)
    .sort((a, b) => a.snapshot.usedAt - b.snapshot.usedAt);
}

function bytesIn({ stores }: SnapshotBudget): number {
  for (const store of stores) if (!store.db.open) stores.delete(store);
  return [...stores].reduce((sum, { db }) => sum + bytesOf(db), 0);
}

/** The memory that the copies of a connection take. Free pages are left out, for they are used first. */
function bytesOf(db: Sqlite): number {
  const of = (name: string) => Number(db.pragma(`temp.${name}`, { simple: true }));
  return (of('page_count') - of('freelist_count')) * of('page_size');
}
