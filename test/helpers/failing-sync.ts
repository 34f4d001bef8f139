import { existsSync, openSync, readSync, writeSync } from 'node:fs';
import { basename } from 'node:path';
import Database from 'better-sqlite3';

// Loaded before a service (`NODE_OPTIONS=--import …`), this module makes the commits of log.db fail as a failed fsync
// does, from the moment on in which the file exists that FAIL_SYNC_WHEN names. Otherwise such a test would need a disk
// that fails.

/**
 * The length of the two copies of the header in the shared index of the write-ahead log. The header says how far the
 * log goes.
 */
const headerBytes = 96;

/**
 * Commits as a disk does whose fsync fails: the commit frame is in the write-ahead log, and the index does not say so.
 * A process that has the file open does not see the transaction; recovery, by a process that opens the file alone,
 * finds it.
 *
 * @param commit commits a transaction of the SQLite file at `path`.
 */
export function commitUnseen(path: string, commit: () => void): void {
  // Never closed: closing any descriptor of a file releases all POSIX locks that the process has on it.
  const index = openSync(`${path}-shm`, 'r+');
  const header = Buffer.alloc(headerBytes);
  readSync(index, header, 0, headerBytes, 0);
  commit();
  writeSync(index, header, 0, headerBytes, 0);
}

/** The environment of a service whose commits fail as soon as the file is there. */
export function failingSync(when: string): Record<string, string> {
  return { NODE_OPTIONS: `--import=${import.meta.url}`, FAIL_SYNC_WHEN: when };
}

const when = process.env.FAIL_SYNC_WHEN;

if (when !== undefined) {
  const { prepare } = Database.prototype;
  Database.prototype.prepare = function (this: Database.Database, source: string) {
    const statement = Reflect.apply(prepare, this, [source]);
    if (source !== 'COMMIT' || basename(this.name) !== 'log.db') return statement;
    const { run } = statement;
    return Object.defineProperty(statement, 'run', {
      value: () => {
        if (!existsSync(when)) return Reflect.apply(run, statement, []);
        commitUnseen(this.name, () => Reflect.apply(run, statement, []));
        throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      },
    });
  } as typeof prepare;
}
