import { closeSync, fsyncSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../storage/errors.ts';
import { privateFile } from '../../storage/private.ts';

/** The file of a data directory that names the log of which the directory is a replica. */
const replicaMark = 'replica';

/** The log of which a data directory is a replica: its id, and its token in PostgreSQL. */
type ReplicaMark = { log: string; token: string };

/** The log of which a data directory is a replica; null for a directory with its own log. */
export function readReplicaMark(directory: string): ReplicaMark | null {
  try {
    const [log = '', token = ''] = readFileSync(join(directory, replicaMark), 'utf8').trim().split(' ');
    return { log, token };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Makes a data directory the replica of a log. To be called before the directory has anything of the log. */
export function markReplica(directory: string, { log, token }: ReplicaMark): void {
  writeFileSync(join(directory, replicaMark), `${log} ${token}\n`, { mode: privateFile, flush: true });
}

/** Makes a replica a data directory with its own log. Durable when it returns. */
export function unmarkReplica(directory: string): void {
  rmSync(join(directory, replicaMark), { force: true });
  // Windows cannot sync a directory.
  if (process.platform === 'win32') return;
  const descriptor = openSync(directory, 'r');
  fsyncSync(descriptor);
  closeSync(descriptor);
}
