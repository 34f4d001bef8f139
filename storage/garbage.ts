import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

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
  collect ??= findCollector();
  collect({ type: 'minor' });
}

/** The flag shows the function to contexts that are made after it, so only here. */
function findCollector(): Collect {
  setFlagsFromString('--expose-gc');
  return runInNewContext('gc');
}
