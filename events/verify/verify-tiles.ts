import type { Sqlite } from '../../storage/sqlite.ts';
import { tileWidth } from '../proof/merkle.ts';
import type { Finding } from '../proof/seen-heads.ts';

/**
 * Fills tiles as the log did, and compares each with the stored tile.
 *
 * @param isLive whether the last tile of a level may have grown. `full`: the number of tiles of level 0 that were
 * checked elsewhere.
 */
export function tileChecker(db: Sqlite, isLive: boolean, full = 0) {
  const select = db
    .prepare<[level: number, index: number], Buffer>('SELECT hashes FROM tiles WHERE level = ? AND idx = ?')
    .pluck();
  const open: Buffer[][] = [];
  const counts: number[] = [];
  let wrong: Finding | null = null;
  /** The first events whose hash is not the one in their tile. */
  let altered: { from: number; to: number } | null = null;
  let expected = full;

  function add(height: number, node: Buffer): void {
    if (height % 8 !== 0) return;
    const level = height / 8;
    const tile = open[level] ?? [];
    open[level] = tile;
    tile.push(node);
    if (tile.length === tileWidth) close(level);
  }

  function close(level: number): void {
    const index = counts[level] ?? 0;
    counts[level] = index + 1;
    expected += 1;
    const stored = select.get(level, index);
    const hashes = open[level] ?? [];
    const isGrown = isLive && hashes.length < tileWidth;
    if (!(isGrown ? stored?.subarray(0, hashes.length * 32) : stored)?.equals(Buffer.concat(hashes))) {
      wrong ??= `tile ${level}/${index} does not follow from the events`;
      const at = hashes.findIndex((hash, place) => !stored?.subarray(place * 32, (place + 1) * 32).equals(hash));
      const each = tileWidth ** level;
      const from = (index * tileWidth + at) * each + 1;
      if (stored && at >= 0) altered ??= { from, to: from + each - 1 };
    }
    open[level] = [];
  }

  function finish(): Finding | null {
    // A tile of level 0 is stored only when full; a higher tile grows with the tiles below.
    open.forEach((tile, level) => {
      if (level > 0 && tile.length > 0) close(level);
    });
    const stored = db.prepare<[], number>('SELECT count(*) FROM tiles').pluck().get() ?? 0;
    const isRight = isLive ? stored >= expected : stored === expected;
    return wrong ?? (isRight ? null : `there are ${stored} tiles, the events make ${expected}`);
  }

  /**
   * Says which event was altered if the tree does not give the root. For the right edge of the tree no single hash is
   * stored.
   */
  function blame(size: number): [Finding, { from: number; to: number }] {
    const { from, to } = altered ?? { from: (counts[0] ?? 0) * tileWidth + 1, to: size };
    const which = from === to ? `event ${from}` : `one of the events ${from} to ${to}`;
    const finding = `${which} was altered: the tree over ${size === 1 ? 'the one event' : `all ${size} events`} does not give the root of the head`;
    return [finding, { from, to }];
  }

  return { add, finish, blame };
}
