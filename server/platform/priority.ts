import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/** Makes this thread step back where the cores are too few for all. `niceness`: 1 a little, 19 as far as it goes. */
export function stepBack(niceness: number): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness);
  } catch {
    // Only Linux gives a thread a priority of its own.
  }
}
