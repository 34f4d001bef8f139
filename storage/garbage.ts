import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' } | { type: 'major'; flavor: 'last-resort' }) => void;

const bytesBetween = 8 * 1024 * 1024;

let passed = 0;
let collect: Collect | null = null;

/**
 * Counts the bytes of files that pass through this thread, and collects their memory every 8 MiB, which takes a
 * millisecond. Left alone, V8 lets 64 MB and more accumulate in each thread, because the memory is outside its heap.
 */
export function notePassed(bytes: number): void {
  passed += bytes;
  if (passed < bytesBetween) return;
  passed = 0;
  collectWith({ type: 'minor' });
}

/**
 * Collects all garbage of this thread, and returns the free parts of the heap to the system. For a thread that answers
 * requests this takes 20 to 30 ms of CPU. Left alone, V8 never shrinks the space of young objects, up to 48 MB in a
 * thread.
 */
export function collectAll(): void {
  collectWith({ type: 'major', flavor: 'last-resort' });
}

function collectWith(options: Parameters<Collect>[0]): void {
  collect ??= findCollector();
  collect?.(options);
}

/**
 * The flag exposes the function only to contexts that are made afterwards, so only here. Then the flag is reset,
 * because compiled code on the disk is only used under the flags under which it was made.
 *
 * @returns null if other threads have reset the flag in between at every attempt, because all threads share it. Then
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
