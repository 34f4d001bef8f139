import { closeSync, fsyncSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDamage, isHalfChanged, openDatabase, type Sqlite } from '../../storage/sqlite.ts';

/** The log's path in a data directory. */
export function logFile(directory: string): string {
  return join(directory, 'log.db');
}

/** The path of the deliveries of webhooks in a data directory. */
export function webhooksFile(directory: string): string {
  return join(directory, 'webhooks.db');
}

/** The read file of a projection hash. */
export function readFileOf(directory: string, projectionHash: string): string {
  return join(directory, `read-${projectionHash}.db`);
}

/** Moves a finished file to its path so that it is there, whole, after a power cut. */
export function moveIntoPlace(from: string, to: string): void {
  syncPath(from);
  renameSync(from, to);
  syncPath(dirname(to));
}

/** Makes a file, or the entries of a directory, survive a power cut. */
export function syncPath(path: string): void {
  const isDirectory = statSync(path).isDirectory();
  // Windows cannot sync a directory.
  if (isDirectory && process.platform === 'win32') return;
  const descriptor = openSync(path, isDirectory ? 'r' : 'r+');
  fsyncSync(descriptor);
  closeSync(descriptor);
}

/** Removes a SQLite file and the files SQLite keeps beside it. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
}

/** Removes the read files of other schemas, and unfinished ones. */
export function removeOtherReadFiles(directory: string, keep: string): void {
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    if (/^read-[0-9a-f]+\.db(\.[\w-]+)?$/.test(name) && path !== keep) removeDatabase(path);
  }
}

/**
 * Removes the read files of other schemas while other processes may work in the directory: the file that a running
 * `annals verify` replays into stays.
 */
export function removeFormerReadFiles(directory: string, keep: string): void {
  for (const name of readdirSync(directory)) {
    if (/^read-[0-9a-f]+\.db(\.building)?$/.test(name) && name !== basename(keep))
      removeDatabase(join(directory, name));
  }
}

/** Looks into a read file; null if it is damaged, or half changed by a power cut, for then it can be rebuilt. */
export function lookInto<T>(path: string, look: (db: Sqlite) => T): T | null {
  let db: Sqlite | null = null;
  try {
    db = openDatabase(path, { readonly: true, cacheMiB: 64 });
    return look(db);
  } catch (error) {
    if (isDamage(error) || isHalfChanged(error)) return null;
    throw error;
  } finally {
    db?.close();
  }
}
