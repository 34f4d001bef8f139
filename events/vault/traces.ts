import type { Sqlite } from '../../storage/sqlite.ts';

/**
 * Takes deleted content off the disk: it is zeros in the file, but stands in the write-ahead log until that is emptied.
 *
 * @returns false if another process that reads just now was in the way.
 */
export function removeTraces(db: Sqlite): boolean {
  return db.pragma('wal_checkpoint(TRUNCATE)', { simple: true }) === 0;
}

/** Remembers whether something was deleted since the write-ahead log was emptied last. */
export function openTraces(db: Sqlite) {
  // An earlier process may have left some.
  let hasTraces = true;
  return {
    /** Notes a deletion, by the number of its rows. */
    note(rows: number): void {
      if (rows > 0) hasTraces = true;
    },
    /** Removes them, unless there are none; false if nothing was removed. A later call tries again. */
    remove(): boolean {
      if (!hasTraces || !removeTraces(db)) return false;
      hasTraces = false;
      return true;
    },
  };
}
