import { accessSync, constants, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { writing } from './data-directory.ts';
import { type DirectoryHolder, holderFile, readHolder } from './holder.ts';
import { createPrivate, privateFile } from './private.ts';

/** Thrown if another process uses the data directory. The message names the process. */
export class LockedError extends Error {
  override name = 'LockedError';
  /** Null if the process has not described itself yet. */
  readonly holder: DirectoryHolder | null;

  constructor(directory: string, holder: DirectoryHolder | null) {
    super(`the data directory ${directory} is in use by ${holder ? describeHolder(holder) : 'another process'}`);
    this.holder = holder;
  }
}

/** The lock of a data directory. `describe` publishes the address under which its holder answers. */
export type Lock = { describe: (address: string) => void; release: () => void };

/** The databases of held locks. Without a reference, a database would be collected and closed, and the lock lost. */
const held = new Set<Database.Database>();

/**
 * Locks the data directory for this process, until `release` or the end of the process. It is an operating system's
 * lock on a SQLite file, so a killed holder leaves nothing to clean up.
 *
 * @param what the name of this holder in the message to a second process, for example "annals serve".
 * @param patience the time to wait for another process to release the lock, in milliseconds.
 * @throws LockedError, which names the holder; UnwritableError.
 */
export function lockDirectory(directory: string, what: string, patience = 200): Lock {
  const file = holderFile(directory);
  const lockFile = join(directory, 'lock.db');
  // A lock file that exists could be opened even if nothing else can be written.
  writing(directory, () => accessSync(directory, constants.W_OK));
  writing(lockFile, () => createPrivate(lockFile));
  const db = new Database(lockFile);
  try {
    db.pragma(`busy_timeout = ${patience}`);
    db.pragma('journal_mode = DELETE');
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db.close();
    const isBusy = error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY');
    throw isBusy ? new LockedError(directory, readHolder(directory)) : error;
  }
  const holder: DirectoryHolder = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    what,
    address: null,
  };
  try {
    writing(file, () => describe(holder));
  } catch (error) {
    db.close();
    throw error;
  }
  held.add(db);

  function describe(known: DirectoryHolder): void {
    writeFileSync(file, JSON.stringify(known), { mode: privateFile });
  }

  return {
    describe: (address) => describe({ ...holder, address }),
    release() {
      rmSync(file, { force: true });
      db.exec('ROLLBACK');
      db.close();
      held.delete(db);
    },
  };
}

function describeHolder({ pid, host, since, what, address }: DirectoryHolder): string {
  return `${what}, process ${pid} on ${host} since ${since}${address ? ` (${address})` : ''}`;
}
