import { accessSync, constants, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { writing } from './data-directory.ts';
import { type Holder, holderFile, readHolder } from './holder.ts';
import { createPrivate, privateFile } from './private.ts';

/** Thrown when another process works on the data directory; its message says which. */
export class LockedError extends Error {
  override name = 'LockedError';
  /** Null when it has not said yet. */
  readonly holder: Holder | null;

  constructor(directory: string, holder: Holder | null) {
    super(`the data directory ${directory} is in use by ${holder ? describeHolder(holder) : 'another process'}`);
    this.holder = holder;
  }
}

/** A held data directory. `describe` tells others under which address its holder answers. */
export type Lock = { describe: (address: string) => void; release: () => void };

/** Held here, for a lock that is never looked at again would be lost: a database without references is closed. */
const held = new Set<Database.Database>();

/**
 * Takes the data directory for this process alone, until `release` or the end of the process, however it ends: the lock
 * is the operating system's lock on a SQLite file, so a killed holder leaves nothing to clean up.
 *
 * @param what names the holder in the message that a second one gets, for example "annals serve".
 * @param patience how many milliseconds another process is given to let go.
 * @throws LockedError naming the process that holds it; UnwritableError.
 */
export function lockDirectory(directory: string, what: string, patience = 200): Lock {
  const file = holderFile(directory);
  const lockFile = join(directory, 'lock.db');
  // An existing file can be opened even if nothing can be written.
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
  const holder: Holder = { pid: process.pid, host: hostname(), since: new Date().toISOString(), what, address: null };
  try {
    writing(file, () => describe(holder));
  } catch (error) {
    db.close();
    throw error;
  }
  held.add(db);

  function describe(known: Holder): void {
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

function describeHolder({ pid, host, since, what, address }: Holder): string {
  return `${what}, process ${pid} on ${host} since ${since}${address ? ` (${address})` : ''}`;
}
