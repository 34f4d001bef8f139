import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../storage/errors.ts';
import { privateFile } from '../../storage/private.ts';

/** The file of a data directory that says of which log it is a replica. */
export const replicaMark = 'replica';

/** The log of which a data directory is a replica: its id, and the token of the place that it had. */
export type ReplicaMark = { log: string; token: string };

/** Of which log a data directory is a replica; null for one that has its log to itself. */
export function readReplicaMark(directory: string): ReplicaMark | null {
  try {
    const [log = '', token = ''] = readFileSync(join(directory, replicaMark), 'utf8').trim().split(' ');
    return { log, token };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Makes a data directory the replica of a log, before anything of it is there. */
export function markReplica(directory: string, { log, token }: ReplicaMark): void {
  writeFileSync(join(directory, replicaMark), `${log} ${token}\n`, { mode: privateFile, flush: true });
}

/** Makes of a replica a data directory that has its log to itself. It stays so in a power cut. */
export function unmarkReplica(directory: string): void {
  rmSync(join(directory, replicaMark), { force: true });
  // Windows knows no such thing as syncing a directory.
  if (process.platform === 'win32') return;
  const descriptor = openSync(directory, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
