import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }) => void;

const bytesBetween = 8 * 1024 * 1024;

let passed = 0;
let collect: Collect | null = null;

/**
 * Notes bytes of a file that pass through this thread, and has the memory of those that have passed collected every 8 MiB,
 * which takes a millisecond. V8 by itself lets 64 MB and more of it gather in each thread, for it lies outside of its heap.
 */
export function notePassed(bytes: number): void {
  passed += bytes;
  if (passed < bytesBetween) return;
  passed = 0;
  collector()({ type: 'minor' });
}

/**
 * Collects everything in this thread that nothing uses, and gives the free parts of the heap back to the system: 20 to 30 ms of CPU
 * for a thread that answers requests. V8 by itself keeps the room of young objects, up to 48 MB in a thread, as large as it has ever been.
 */
export function collectAll(): void {
  collector()({ type: 'major', flavor: 'last-resort' });
}

function collector(): Collect {
  collect ??= findCollector();
  return collect;
}

/**
 * The flag shows the function to contexts that are made after it, so only here. Then it is as before, since compiled code that is kept on
 * the disk is not used under other flags than those it was made under.
 */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  const found: Collect = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return found;
}
