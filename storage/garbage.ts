import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }) => void;

const bytesBetween = 8 * 1024 * 1024;

let passed = 0;
let collect: Collect | null = null;

/**
 * Counts bytes of a file that pass through this thread, and has their memory collected every 8 MiB, which takes a
 * millisecond. By itself V8 lets 64 MB and more gather in each thread, since the memory is outside of its heap.
 */
export function notePassed(bytes: number): void {
  passed += bytes;
  if (passed < bytesBetween) return;
  passed = 0;
  collectWith({ type: 'minor' });
}

/**
 * Collects everything in this thread that nothing uses, and gives the free parts of the heap back to the system: 20 to
 * 30 ms of CPU for a thread that answers requests. V8 by itself keeps the room of young objects, up to 48 MB in a
 * thread, as large as it has ever been.
 */
export function collectAll(): void {
  collectWith({ type: 'major', flavor: 'last-resort' });
}

function collectWith(options: Parameters<Collect>[0]): void {
  collect ??= findCollector();
  collect?.(options);
}

/**
 * The flag shows the function to contexts that are made after it, so only here. Then it is as before, since compiled
 * code that is kept on the disk is not used under other flags than those it was made under.
 *
 * @returns null if other threads have always taken the flag back in between, since it is one for all threads: then
 * nothing is collected this time.
 */
function findCollector(): Collect | null {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    setFlagsFromString('--expose-gc');
    const found: Collect | null = runInNewContext('globalThis.gc ?? null');
    setFlagsFromString('--no-expose-gc');
    if (found) return found;
  }
  return null;
}
