import { isDeepStrictEqual } from 'node:util';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { RecordedEvent } from '../facts/log.ts';
import { appendLeaf, leafHash, rootOf, type Tree, tileWidth, treeAt } from '../proof/merkle.ts';
import { type Head, macOf, type Seals, sealKeyOf } from '../proof/seals.ts';
import { BrokenLogError, requireSealed } from '../store/log-file.ts';
import type { LogReader } from './log-reader.ts';
import type { Rows } from './shipment.ts';

/**
 * The events that a transaction has recorded so far, and their headers as they are stored. `rows`: the other rows that
 * it writes, if they are to be shipped.
 */
export type Batch = { recorded: RecordedEvent[]; leaves: string[]; rows: Rows | null };

export type Tip = ReturnType<typeof openTip>;

type Reader = Pick<LogReader, 'head' | 'storedHashes'>;

/**
 * The end of a log that is being written. It alone holds what the writer remembers of the log: the head, the tree under
 * it, and the leaf hashes of the level-0 tile that is not full yet.
 *
 * @throws BrokenLogError if the file does not end where the head says, or the tree does not give the head's root.
 */
export function openTip(db: Sqlite, reader: Reader, seals: Seals) {
  const key = sealKeyOf(seals.key);
  const upsertTile = db.prepare(
    // || makes a text, even from two blobs.
    `INSERT INTO tiles VALUES (?, ?, ?)
     ON CONFLICT (level, idx) DO UPDATE SET hashes = CAST(tiles.hashes || excluded.hashes AS BLOB)`,
  );
  const updateHead = db.prepare('UPDATE head SET size = ?, root = ?, recorded_at = ?, mac = ?');

  let head = reader.head();
  let tree = checkedTree(db, head, reader);
  let openTile = openTileOf(head, reader);

  /** Writes the tiles and the head for the events of a batch. @returns the head, which counts once it is committed. */
  function extend({ recorded, leaves }: Pick<Batch, 'recorded' | 'leaves'>): Head {
    if (leaves.length === 0) return head;
    const above: { level: number; index: number; hash: Buffer }[] = [];
    for (const header of leaves) {
      appendLeaf(tree, leafHash(header), (height, node) => {
        if (height === 0) openTile.push(node);
        else if (height % 8 === 0) above.push(tileEntry(tree.size, height, node));
      });
      if (openTile.length < tileWidth) continue;
      upsertTile.run(0, tree.size / tileWidth - 1, Buffer.concat(openTile));
      openTile = [];
    }
    for (const { level, index, hash } of above) upsertTile.run(level, Math.floor(index / tileWidth), hash);
    const after = { log: head.log, size: tree.size, root: rootOf(tree), recordedAt: lastTime(recorded) };
    const mac = macOf(key, after);
    updateHead.run(after.size, after.root, after.recordedAt, mac);
    return { ...after, mac };
  }

  /** Must be called after a commit. */
  function moveTo(committed: Head): void {
    head = committed;
  }

  /** Must be called after a rollback. @throws UnsealedError if another program has written to the log. */
  function reload(): void {
    const found = reader.head();
    if (!isDeepStrictEqual(found, head)) requireSealed(seals, found);
    head = found;
    tree = treeAt(head.size, reader.storedHashes);
    openTile = openTileOf(head, reader);
  }

  return { head: () => head, extend, moveTo, reload };
}

function checkedTree(db: Sqlite, head: Head, { storedHashes }: Reader): Tree {
  const last = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck().get() ?? 0;
  if (last !== head.size) throw new BrokenLogError(`log.db ends at position ${last}, its head says ${head.size}`);
  const found = treeAt(head.size, storedHashes);
  if (!rootOf(found).equals(head.root))
    throw new BrokenLogError(`the tree of log.db does not give the root of its head at position ${head.size}`);
  return found;
}

function openTileOf({ size }: Head, { storedHashes }: Reader): Buffer[] {
  const full = Math.floor(size / tileWidth) * tileWidth;
  return full === size ? [] : storedHashes(0, full, size - full);
}

function tileEntry(size: number, height: number, hash: Buffer) {
  const level = height / 8;
  // appendLeaf counts the leaf only after its calls of `onNode`.
  return { level, index: (size + 1) / 2 ** height - 1, hash };
}

/** The time of the last event of a batch; an empty text for an empty one. */
export function lastTime(recorded: readonly RecordedEvent[]): string {
  return recorded.at(-1)?.header.recordedAt ?? '';
}
