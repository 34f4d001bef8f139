import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/**
 * Lowers the priority of this thread, for times when there is too little CPU for all. `niceness`: from 1 (a little) to
 * 19 (the lowest).
 */
export function stepBack(niceness: number): void {
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness);
  } catch {
    // Only on Linux a thread has its own priority.
  }
}
