import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Thrown when another process works on the data directory; its message says which. */
export class LockedError extends Error {
  override name = 'LockedError';
}

/** A held data directory. `describe` tells others under which address its holder answers. */
export type Lock = { describe: (address: string) => void; release: () => void };

type Holder = { pid: number; host: string; since: string; what: string; address: string | null };

/**
 * Takes the data directory for this process alone, until `release` or the end of the process, however it ends: the lock
 * is the operating system's lock on a SQLite file, so a killed holder leaves nothing to clean up.
 *
 * @param what names the holder in the message that a second one gets, for example "annals serve".
 * @throws LockedError naming the process that holds it.
 */
export function lockDirectory(directory: string, what: string): Lock {
  const holderFile = join(directory, 'lock.json');
  const db = new Database(join(directory, 'lock.db'));
  try {
    db.pragma('busy_timeout = 200');
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
    throw isBusy
      ? new LockedError(`the data directory ${directory} is in use by ${describeHolder(holderFile)}`)
      : error;
  }
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date().toISOString(), what, address: null };
  writeFileSync(holderFile, JSON.stringify(holder));

  return {
    describe(address) {
      writeFileSync(holderFile, JSON.stringify({ ...holder, address }));
    },
    release() {
      rmSync(holderFile, { force: true });
      db.exec('ROLLBACK');
      db.close();
    },
  };
}

function describeHolder(file: string): string {
  try {
    const { pid, host, since, what, address } = JSON.parse(readFileSync(file, 'utf8')) as Holder;
    return `${what}, process ${pid} on ${host} since ${since}${address ? ` (${address})` : ''}`;
  } catch {
    return 'another process';
  }
}
