import { explained, isDiskFull, isOutOfFiles, isUnopened, withDatabase } from './sqlite.ts';

/** A reader is given this long to let go of the write-ahead log; its caller tries again later. */
const patienceMilliseconds = 50;

/**
 * Writes a SQLite file anew, so that no page holds anything but what its rows do. To overwrite what is deleted is not enough:
 * when SQLite moves rows between pages it leaves copies of them in the unused part of the old ones, and a row that is changed
 * or a value that is given up leaves its own. For the only process that writes the file; readers go on reading beside it. The
 * former content is still in the write-ahead log and in the file until {@link emptyWal} has succeeded.
 *
 * @throws what {@link hindranceOf} tells of, when there is no room for a copy among temporary files and for one beside the file.
 */
export function rewrite(path: string): void {
  // Pages begin as zeros only with this: the memory that they are made in has held others.
  withDatabase(path, { durability: 'full', secureDelete: true }, (db) => explained(() => db.exec('VACUUM')));
}

/** Brings what is in the write-ahead log into the file, and empties it. False while somebody still reads from before. */
export function emptyWal(path: string): boolean {
  return withDatabase(path, { durability: 'full', cacheMiB: 1 }, (db) => {
    db.pragma(`busy_timeout = ${patienceMilliseconds}`);
    return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
  });
}

/**
 * Why a file cannot be written anew now, though it may be later. `room`: the disk is full. `files`: too many are open. `place`: a
 * temporary file cannot be made.
 */
export type Hindrance = 'room' | 'files' | 'place';

/** The meaning of an error of {@link rewrite}; null for one that does not pass by itself. */
export function hindranceOf(error: unknown): Hindrance | null {
  if (isDiskFull(error)) return 'room';
  if (isOutOfFiles(error)) return 'files';
  const isPlaceless = error instanceof Error && 'code' in error && error.code === 'SQLITE_IOERR_GETTEMPPATH';
  return isPlaceless || isUnopened(error) ? 'place' : null;
}
