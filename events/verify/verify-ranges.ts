import type { Sqlite } from '../../storage/sqlite.ts';
import { parseHeader } from '../log/event-checks.ts';
import { readLog } from '../log/log-reader.ts';
import { appendLeaf, leafHash, rootOf, type Tree, tileWidth } from '../proof/merkle.ts';
import type { Head } from '../proof/seals.ts';
import { openLogToRead } from '../store/log-file.ts';
import { rowChecker, selectRows } from './verify-rows.ts';
import { tileChecker } from './verify-tiles.ts';

/**
 * A range of the log in the file `log`: the events at positions `after + 1` to `upTo`; `after` is a multiple of the
 * width of a tile.
 */
export type RangePiece = { log: string; after: number; upTo: number };

/**
 * The result for a range of sound events: `tiles` are the roots of its full tiles, `leaves` the leaf hashes of the
 * rest, 32 bytes each; `last` is when its last event was recorded.
 */
export type RangeResult = { after: number; upTo: number; tiles: Uint8Array; leaves: Uint8Array; last: string };

/** Divides the events of a log into at most `count` ranges. */
export function rangesOf(log: string, size: number, count: number): RangePiece[] {
  const width = Math.max(1, Math.ceil(size / count / tileWidth)) * tileWidth;
  return Array.from({ length: Math.ceil(size / width) }, (_, at) => {
    return { log, after: at * width, upTo: Math.min((at + 1) * width, size) };
  });
}

const chunk = 500;

/**
 * Checks the events of a range as {@link verifyLog} does.
 *
 * @param beat is called with the number of events that were checked since.
 * @throws Error if an event is not sound; {@link verifyLog} says which, and why.
 */
export function checkRange({ log: file, after, upTo }: RangePiece, beat: (events: number) => void): RangeResult {
  const db = openLogToRead(file, 16);
  try {
    const select = selectRows(db);
    const checker = rowChecker(db, readLog(db).head().log, headerAt(db, after));
    const tiles: Buffer[] = [];
    const tree: Tree = { size: 0, nodes: [] };
    let open: Buffer[] = [];
    const add = (height: number, node: Buffer) => {
      if (height === 0) open.push(node);
      if (height !== 8) return;
      tiles.push(node);
      requireTile(db, after / tileWidth + tiles.length - 1, open);
      open = [];
    };
    for (let position = after; position < upTo; ) {
      checker.begin();
      const rows = select.all(position, upTo, chunk);
      if (rows.length === 0) throw unsound(position + 1);
      for (const row of rows) {
        position += 1;
        const found = checker.check(row, position);
        if (typeof found === 'string' || checker.form(found) !== null) throw unsound(position);
        checker.pass(found);
        appendLeaf(tree, leafHash(row.header), add);
      }
      beat(rows.length);
    }
    return { after, upTo, tiles: Buffer.concat(tiles), leaves: Buffer.concat(open), last: checker.recordedAt() };
  } finally {
    db.close();
  }
}

function headerAt(db: Sqlite, position: number) {
  if (position === 0) return null;
  const text = db
    .prepare<[position: number], string>('SELECT header FROM headers WHERE position = ?')
    .pluck()
    .get(position);
  const header = text === undefined ? null : parseHeader(text);
  if (!header) throw unsound(position);
  return header;
}

function requireTile(db: Sqlite, index: number, leaves: readonly Buffer[]): void {
  const select = db.prepare<[index: number], Buffer>('SELECT hashes FROM tiles WHERE level = 0 AND idx = ?').pluck();
  if (!select.get(index)?.equals(Buffer.concat(leaves))) throw unsound(index * tileWidth + 1);
}

function unsound(position: number): Error {
  return new Error(`event ${position} is not sound`);
}

/**
 * Whether ranges of sound events are together a whole log: the tiles above them and the head follow from them, and
 * nothing follows behind them.
 */
export function makeTheLog(db: Sqlite, { size, root, recordedAt }: Head, ranges: readonly RangeResult[]): boolean {
  const full = Math.floor(size / tileWidth);
  const checked = tileChecker(db, false, full);
  const tree: Tree = { size: 0, nodes: [] };
  const rest: Tree = { size: 0, nodes: [] };
  let end = 0;
  let last = '';
  for (const { after, upTo, tiles, leaves, last: recorded } of ranges.toSorted((a, b) => a.after - b.after)) {
    if (after !== end) return false;
    for (const node of hashesIn(tiles)) appendLeaf(tree, node, (height, hash) => checked.add(height + 8, hash));
    for (const leaf of hashesIn(leaves)) appendLeaf(rest, leaf, () => {});
    end = upTo;
    last = recorded;
  }
  const isWhole = end === size && tree.size === full && rest.size === size % tileWidth;
  const behind = db.prepare('SELECT 1 FROM events WHERE position > ? LIMIT 1').get(size);
  const made = rootOf({ size, nodes: [...tree.nodes, ...rest.nodes] });
  return isWhole && behind === undefined && made.equals(root) && last === recordedAt && checked.finish() === null;
}

/** Splits hashes; a Buffer that is passed between threads becomes a Uint8Array. */
function hashesIn(bytes: Uint8Array): Buffer[] {
  const all = Buffer.from(bytes);
  return Array.from({ length: all.length / 32 }, (_, at) => all.subarray(at * 32, (at + 1) * 32));
}
