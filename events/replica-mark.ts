import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../storage/errors.ts';
import { privateFile } from '../storage/private.ts';

/** The file of a data directory that says of which log it is a replica. */
export const replicaMark = 'replica';

/** The id of the log of which a data directory is a replica; null for one that has its log to itself. */
export function readReplicaMark(directory: string): string | null {
  try {
    return readFileSync(join(directory, replicaMark), 'utf8').trim();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Makes a data directory the replica of a log, before anything of it is there. */
export function markReplica(directory: string, log: string): void {
  writeFileSync(join(directory, replicaMark), `${log}\n`, { mode: privateFile, flush: true });
}
