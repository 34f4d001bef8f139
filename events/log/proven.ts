import { hash } from 'node:crypto';
import { headerOf } from '../facts/envelope.ts';
import { appendLeaf, type HashSource, leafHash, rootOf, type Tree, tileWidth, treeAt } from '../proof/merkle.ts';
import { AlteredEventError } from '../store/altered.ts';
import type { StoredTree } from '../store/stored-tree.ts';

/**
 * The right edge of the tree: what is proven by the head, the leaves that have no full tile yet, and the last header.
 */
type Edge = { tree: Tree; leaves: Buffer[]; last: string | undefined };

type TilePlace = { level: number; index: number };

/**
 * So many tiles are held, of 8 KiB each: four megabytes. Of others that were proven only a hash is, to know them again.
 */
const mostHeld = 512;
const mostKnown = 50_000;

/**
 * The hashes of a log's tree that are proven by its head: those of the open tile give its root, with the tree before
 * it, and those of a stored tile give the hash of it in the tile above. A tile is looked at once, the edge when the log
 * has grown.
 */
export function proveHashes({ head, headers, tile, hashes: stored }: StoredTree) {
  let edge: Edge | null = null;
  const held = newest<Buffer>(mostHeld);
  const known = newest<string>(mostKnown);

  /** The edge of a tree that has so many leaves at least. @throws AlteredEventError when the head does not prove it. */
  function edgeFor(size: number): Edge {
    if (edge && edge.tree.size >= size) return edge;
    const now = head();
    if (now.size < size) throw new AlteredEventError(`event ${size} of the log is behind its end, ${now.size}`);
    const isNear = edge !== null && now.size - edge.tree.size <= tileWidth;
    const next = edge && isNear ? goOn(edge, now.size) : edgeAt(now.size);
    const from = next.tree.size - next.leaves.length + 1;
    if (!rootOf(next.tree).equals(now.root)) {
      const which = next.leaves.length > 0 ? `one of the events ${from} to ${now.size}` : 'a tile';
      throw new AlteredEventError(`${which} of the log was altered: its tree does not give the root of its head`);
    }
    if (timeOf(next.last) !== now.recordedAt)
      throw new AlteredEventError('the head of the log was altered: its time is not that of the last event');
    edge = next;
    return next;
  }

  function goOn({ tree, leaves }: Edge, size: number): Edge {
    const next = { tree: { size: tree.size, nodes: [...tree.nodes] }, leaves: [...leaves] };
    const added = headers(tree.size, size);
    for (const header of added) {
      appendLeaf(next.tree, leafHash(header), (height, node) => {
        if (height === 0) next.leaves.push(node);
      });
      if (next.leaves.length === tileWidth) next.leaves = [];
    }
    return { ...next, last: added.at(-1) };
  }

  function edgeAt(size: number): Edge {
    const open = size % tileWidth;
    const leaves = open === 0 ? [] : stored(0, size - open, open);
    return { tree: treeAt(size, stored), leaves, last: headers(size - 1, size)[0] };
  }

  /** The hashes of a tile, one after the other: so many at least. */
  function tileOf(tree: Tree, { level, index }: TilePlace, count: number): Buffer {
    const name = `${level}/${index}`;
    const before = held.get(name);
    if (before && before.length >= count * 32) return before;
    const width = Math.min(Math.floor(tree.size / tileWidth ** level) - index * tileWidth, tileWidth);
    const found = tile(level, index)?.subarray(0, width * 32) ?? Buffer.alloc(0);
    const digest = hash('sha256', found, 'base64');
    if (known.get(name) !== digest) {
      const subtrees = found.length === width * 32 ? subtreesOf(found) : [];
      const expected = width === tileWidth ? [hashIn(tree, level + 1, index)] : edgeNodes(tree, level);
      if (subtrees.length !== expected.length || subtrees.some((node, at) => !expected[at]?.equals(node)))
        throw new AlteredEventError(`tile ${name} of the log was altered: it is not what its tree is made of`);
    }
    held.set(name, found);
    known.set(name, digest);
    return found;
  }

  /** A hash of a level, counted from the first of its first tile. */
  function hashIn(tree: Tree, level: number, at: number): Buffer {
    const place = at % tileWidth;
    const hashes = tileOf(tree, { level, index: Math.floor(at / tileWidth) }, place + 1);
    return hashes.subarray(place * 32, (place + 1) * 32);
  }

  const hashes: HashSource = (level, start, count) => {
    const now = edgeFor((start + count) * tileWidth ** level);
    const full = now.tree.size - now.leaves.length;
    if (level === 0 && start >= full) return now.leaves.slice(start - full, start - full + count);
    const bytes = tileOf(now.tree, { level, index: Math.floor(start / tileWidth) }, (start % tileWidth) + count);
    const at = (start % tileWidth) * 32;
    return Array.from({ length: count }, (_, i) => bytes.subarray(at + i * 32, at + (i + 1) * 32));
  };

  /** The leaf hash of an event. */
  function leafOf(position: number): Buffer {
    const now = edgeFor(position);
    const full = now.tree.size - now.leaves.length;
    if (position > full) return now.leaves[position - full - 1] as Buffer;
    return hashIn(now.tree, 0, position - 1);
  }

  return { hashes, leafOf };
}

/** Keeps the newest values, so many at most. */
function newest<T>(most: number) {
  const map = new Map<string, T>();

  function set(name: string, value: T): void {
    map.delete(name);
    const { value: oldest } = map.keys().next();
    if (map.size >= most && oldest !== undefined) map.delete(oldest);
    map.set(name, value);
  }

  return { get: (name: string) => map.get(name), set };
}

function timeOf(header: string | undefined): string {
  return header === undefined ? '' : headerOf(header).recordedAt;
}

/** The roots of the perfect subtrees over the hashes of a tile, largest first. */
function subtreesOf(hashes: Buffer): Buffer[] {
  const tree: Tree = { size: 0, nodes: [] };
  for (let at = 0; at < hashes.length; at += 32) appendLeaf(tree, hashes.subarray(at, at + 32), () => {});
  return tree.nodes;
}

/** Those of the roots of a tree's perfect subtrees that the last tile of a level holds the leaves of. */
function edgeNodes({ size, nodes }: Tree, level: number): Buffer[] {
  const before = onesIn(Math.floor(size / tileWidth ** (level + 1)));
  return nodes.slice(before, before + onesIn(Math.floor(size / tileWidth ** level) % tileWidth));
}

function onesIn(count: number): number {
  return count.toString(2).replaceAll('0', '').length;
}
