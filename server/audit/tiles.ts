import { BrokenLogError } from '../../events/log-file.ts';
import type { LogReader } from '../../events/log-reader.ts';
import { tileWidth } from '../../events/merkle.ts';

/** A tile of the tree (C2SP tlog-tiles), or with `level` null the entries of one of level 0. `width` is below 256 for a partial one. */
export type TileName = { level: number | null; index: number; width: number };

/**
 * The tile that a path names: `<L>/<N>[.p/<W>]` or `entries/<N>[.p/<W>]`, N in groups of three digits, all but the last after an
 * `x`. There is one way to write each; null for everything else.
 */
export function parseTilePath(path: string): TileName | null {
  const match = /^(entries|\d|[1-5]\d|6[0-3])\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path);
  const [, level = '', groups = '', partial] = match ?? [];
  const width = partial === undefined ? tileWidth : Number(partial);
  // x000 at the beginning would be a second way to write an index, and a partial tile of 256 is a full one.
  if (!match || groups.startsWith('x000') || (partial !== undefined && width >= tileWidth)) return null;
  return { level: level === 'entries' ? null : Number(level), index: Number(groups.replace(/[x/]/g, '')), width };
}

/** True when a tree of `size` leaves has all of a tile. */
export function hasTile({ level, index, width }: TileName, size: number): boolean {
  return index * tileWidth + width <= Math.floor(size / tileWidth ** (level ?? 0));
}

/** The bytes of a tile: its hashes one after the other; of entries, each after its length in two bytes, the greater first. */
export function tileBytes(log: LogReader, { level, index, width }: TileName): Buffer {
  const start = index * tileWidth;
  if (level !== null) return Buffer.concat(log.hashes(level, start, width));
  const entries = log.headers(start, start + width);
  if (entries.length !== width) throw new BrokenLogError(`events ${start + 1} to ${start + width} are missing`);
  return Buffer.concat(
    entries.flatMap((text) => {
      const entry = Buffer.from(text);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(entry.length);
      return [length, entry];
    }),
  );
}
