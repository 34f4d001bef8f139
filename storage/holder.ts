import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The process that uses a data directory. `address` is where it answers; null if it does not answer, or not yet. */
export type DirectoryHolder = { pid: number; host: string; since: string; what: string; address: string | null };

/** The file in a data directory that describes its holder. */
export function holderFile(directory: string): string {
  return join(directory, 'lock.json');
}

/**
 * The process that holds a data directory, or held it when it was killed, as it described itself; null if no process
 * did. Only the lock, or an answer from its address, shows that the process still runs.
 */
export function readHolder(directory: string): DirectoryHolder | null {
  try {
    return JSON.parse(readFileSync(holderFile(directory), 'utf8'));
  } catch {
    return null;
  }
}
