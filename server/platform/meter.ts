import { createTally } from './tally.ts';

/**
 * The measurements of a writer thread in shared memory: commands in a batch, and seconds of its commit. On a node also
 * the seconds that it waited for the lock of the shared log, and the seconds in which PostgreSQL took and committed a
 * batch.
 */
export type WriterMeter = Record<'batch' | 'sync' | 'lock' | 'ship', Float64Array<SharedArrayBuffer>>;

/** Bounds for the commands in a batch. */
export const batchBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** Bounds for the seconds of a commit, which is one fsync and SQLite's work around it. */
export const syncBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** A meter for a writer that is about to start. */
export function createMeter(): WriterMeter {
  return {
    batch: createTally(batchBounds),
    sync: createTally(syncBounds),
    lock: createTally(syncBounds),
    ship: createTally(syncBounds),
  };
}
