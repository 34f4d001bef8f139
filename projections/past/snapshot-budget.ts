import type { Sqlite } from '../../storage/sqlite.ts';
import type { Snapshot, Store } from './snapshot-store.ts';

/** The memory that the copies of each thread take, in KiB, as all threads see it. */
export type Seats = Int32Array<SharedArrayBuffer>;

/** The seat of one thread: its own is the one at `own`. */
export type Seat = { seats: Seats; own: number };

/** The room for copies that one thread has, for all its stores. */
export type CopyRoom = Seat & { stores: Set<Store> };

/** Makes the seats of so many threads that share one bound. */
export function newSeats(count: number): Seats {
  return new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
}

/** Takes a seat for this thread, of a thread that has ended too; by default one that it shares with no other. */
export function openRoom({ seats, own }: Seat = { seats: newSeats(1), own: 0 }): CopyRoom {
  Atomics.store(seats, own, 0);
  return { seats, own, stores: new Set() };
}

/**
 * Gives up copies of this thread that are not in use, the longest unused first, until it has no more than it may, and
 * shows to the other threads how much that is. It may have what they leave of `maxBytes`, and always an equal part of
 * it: then they give up what is more than theirs when they look next.
 *
 * @returns false when that is not enough.
 */
export function makeRoom(room: CopyRoom, maxBytes: number): boolean {
  const allowed = allowedIn(room, maxBytes);
  let bytes = bytesIn(room);
  for (const { store, snapshot } of bytes > allowed ? unusedIn(room) : []) {
    store.snapshots.delete(snapshot.name);
    store.db.exec(snapshot.copy.drop);
    bytes = bytesIn(room);
    if (bytes <= allowed) break;
  }
  Atomics.store(room.seats, room.own, Math.ceil(bytes / 1024));
  return bytes <= allowed;
}

/** Whether this thread has no copy. */
export function isEmpty({ stores }: CopyRoom): boolean {
  return stores.values().every(({ snapshots }) => snapshots.values().every(({ rows }) => rows === null));
}

/** The memory that copies take in all threads, in bytes, as they have shown it. */
export function bytesInAll({ seats }: Seat): number {
  return seats.reduce((sum, _, index) => sum + Atomics.load(seats, index) * 1024, 0);
}

function allowedIn({ seats, own }: Seat, maxBytes: number): number {
  const others = bytesInAll({ seats, own }) - Atomics.load(seats, own) * 1024;
  return Math.max(maxBytes / seats.length, maxBytes - others);
}

function unusedIn({ stores }: CopyRoom): { store: Store; snapshot: Snapshot }[] {
  const all = [...stores].flatMap((store) => [...store.snapshots.values()].map((snapshot) => ({ store, snapshot })));
  return all
    .filter(({ snapshot: { rows, users } }) => rows !== null && users === 0)
    .sort((a, b) => a.snapshot.usedAt - b.snapshot.usedAt);
}

function bytesIn({ stores }: CopyRoom): number {
  for (const store of stores) if (!store.db.open) stores.delete(store);
  return [...stores].reduce((sum, { db }) => sum + bytesOf(db), 0);
}

/**
 * The memory that the copies of a connection take. Pages that are free again are counted out, for they are used first.
 */
function bytesOf(db: Sqlite): number {
  const of = (name: string) => Number(db.pragma(`temp.${name}`, { simple: true }));
  return (of('page_count') - of('freelist_count')) * of('page_size');
}
