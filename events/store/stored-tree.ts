import { pluckLate, prepareLate, type Sqlite } from '../../storage/sqlite.ts';
import { type HashSource, leafHash, tileWidth } from '../proof/merkle.ts';
import type { Head } from '../proof/seals.ts';
import { BrokenLogError } from './log-file.ts';

export type StoredTree = ReturnType<typeof readStoredTree>;

/** Reads the head of a log and the tree under it as they are stored. `proven.ts` proves them. */
export function readStoredTree(db: Sqlite) {
  const selectHead = prepareLate<[], Head>(db, 'SELECT log, size, root, recorded_at AS recordedAt, mac FROM head');
  const selectHeaders = pluckLate<[after: number, upTo: number], string>(
    db,
    'SELECT header FROM headers WHERE position > ? AND position <= ? ORDER BY position',
  );
  const selectTile = pluckLate<[level: number, index: number], Buffer>(
    db,
    'SELECT hashes FROM tiles WHERE level = ? AND idx = ?',
  );

  function head(): Head {
    const rows = selectHead().all();
    const [found] = rows;
    if (!found || rows.length !== 1) throw new BrokenLogError(`log.db has ${rows.length} heads`);
    if (!Number.isSafeInteger(found.size) || !Buffer.isBuffer(found.root))
      throw new BrokenLogError('the head of log.db is damaged');
    return found;
  }

  /** The headers at positions `after + 1` to `upTo`. */
  function headers(after: number, upTo: number): string[] {
    return selectHeaders().all(after, upTo);
  }

  /** The hashes of a tile, one after the other. */
  function tile(level: number, index: number): Buffer | undefined {
    return selectTile().get(level, index);
  }

  /** The stored hashes, from tiles; at the right edge of the tree, which has no full tile yet, from the headers. */
  const hashes: HashSource = (level, start, count) => {
    const index = Math.floor(start / tileWidth);
    const stored = tile(level, index);
    const at = (start % tileWidth) * 32;
    if (stored && stored.length >= at + count * 32) {
      return Array.from({ length: count }, (_, i) => stored.subarray(at + i * 32, at + (i + 1) * 32));
    }
    if (level > 0) throw new BrokenLogError(`tile ${level}/${index} is missing or short`);
    const found = headers(start, start + count);
    if (found.length !== count) throw new BrokenLogError(`events ${start + 1} to ${start + count} are missing`);
    return found.map(leafHash);
  };

  return { head, headers, tile, hashes };
}
