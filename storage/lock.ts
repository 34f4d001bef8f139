import { hostname } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Thrown when another process works on the data directory; its message says which. */
export class LockedError extends Error {
  override name = 'LockedError';
}

/** A held data directory. */
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
  const db = new Database(join(directory, 'lock.db'));
  // Rollback journal: a reader can see who holds it while the holder keeps the write lock.
  db.pragma('journal_mode = DELETE');
  db.pragma('busy_timeout = 200');
  try {
    db.exec('BEGIN IMMEDIATE');
  } catch (error) {
    const message = `the data directory ${directory} is in use by ${describeHolder(db)}`;
    db.close();
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) {
      throw new LockedError(message);
    }
    throw error;
  }
  const holder: Holder = {
    pid: process.pid,
    host: hostname(),
    since: new Date().toISOString(),
    what,
    address: null,
  };

  function keep(): void {
    db.exec('CREATE TABLE IF NOT EXISTS holder (only INTEGER PRIMARY KEY CHECK (only = 1), json TEXT NOT NULL) STRICT');
    db.prepare('INSERT OR REPLACE INTO holder VALUES (1, ?)').run(JSON.stringify(holder));
    db.exec('COMMIT');
    db.exec('BEGIN IMMEDIATE');
  }

  keep();
  return {
    /** Tells others under which address the holder answers. */
    describe(address) {
      holder.address = address;
      keep();
    },
    release() {
      db.exec('ROLLBACK');
      db.close();
    },
  };
}

function describeHolder(db: Database.Database): string {
  try {
    const text = db.prepare('SELECT json FROM holder').pluck().get() as string;
    const { pid, host, since, what, address } = JSON.parse(text) as Holder;
    return `${what}, process ${pid} on ${host} since ${since}${address ? ` (${address})` : ''}`;
  } catch {
    return 'another process';
  }
}
