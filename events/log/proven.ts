import { hash } from 'node:crypto';
import { headerOf } from '../facts/envelope.ts';
import { appendLeaf, type HashSource, leafHash, rootOf, type Tree, tileWidth, treeAt } from '../proof/merkle.ts';
import { AlteredEventError } from '../store/altered.ts';
import type { StoredTree } from '../store/stored-tree.ts';

/**
 * The right edge of the tree: what the head proves, the leaves that have no full tile yet, and the last header.
 */
type Edge = { tree: Tree; leaves: Buffer[]; last: string | undefined };

type TileId = { level: number; index: number };

/** Tiles that are held, of 8 KiB each: four megabytes. */
const mostHeld = 512;
/** Other tiles that were proven, of which only a hash is kept, to recognize them. */
const mostKnown = 50_000;

/** A stored tree, and what of it is proven so far. */
type Proof = {
  stored: StoredTree;
  edge: Edge | null;
  held: Newest<Buffer>;
  known: Newest<string>;
};

/**
 * Gives the hashes of a log's tree that its head proves: the hashes of the open tile and the tree before it give the
 * head's root, and the hashes of a stored tile give the hash of the tile in the tile above. A tile is checked once, the
 * edge whenever the log has grown.
 */
export function proveHashes(stored: StoredTree) {
  const proof: Proof = { stored, edge: null, held: newest(mostHeld), known: newest(mostKnown) };
  const hashes: HashSource = (level, start, count) => {
    const { tree, leaves } = edgeFor(proof, (start + count) * tileWidth ** level);
    const full = tree.size - leaves.length;
    if (level === 0 && start >= full) return leaves.slice(start - full, start - full + count);
    const index = Math.floor(start / tileWidth);
    const bytes = tileOf(proof, tree, { level, index, count: (start % tileWidth) + count });
    const at = (start % tileWidth) * 32;
    return Array.from({ length: count }, (_, i) => bytes.subarray(at + i * 32, at + (i + 1) * 32));
  };
  return {
    hashes,
    /** The leaf hash of an event. */
    leafOf: (position: number): Buffer => leafOf(proof, position),
  };
}

function leafOf(proof: Proof, position: number): Buffer {
  const { tree, leaves } = edgeFor(proof, position);
  const full = tree.size - leaves.length;
  if (position > full) return leaves[position - full - 1] as Buffer;
  return hashIn(proof, tree, { level: 0, at: position - 1 });
}

/** The edge of a tree that has at least `size` leaves. @throws AlteredEventError if the head does not prove it. */
function edgeFor(proof: Proof, size: number): Edge {
  const { edge, stored } = proof;
  if (edge && edge.tree.size >= size) return edge;
  const now = stored.head();
  if (now.size < size) throw new AlteredEventError(`event ${size} of the log is behind its end, ${now.size}`);
  const isNear = edge !== null && now.size - edge.tree.size <= tileWidth;
  const next = edge && isNear ? grown(edge, now.size, stored) : edgeAt(now.size, stored);
  const from = next.tree.size - next.leaves.length + 1;
  if (!rootOf(next.tree).equals(now.root)) {
    const which = next.leaves.length > 0 ? `one of the events ${from} to ${now.size}` : 'a tile';
    throw new AlteredEventError(`${which} of the log was altered: its tree does not give the root of its head`);
  }
  if (timeOf(next.last) !== now.recordedAt)
    throw new AlteredEventError('the head of the log was altered: its time is not that of the last event');
  proof.edge = next;
  return next;
}

/** The edge of a tree that has grown to `size` leaves. */
function grown({ tree, leaves }: Edge, size: number, { headers }: StoredTree): Edge {
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

function edgeAt(size: number, { hashes, headers }: StoredTree): Edge {
  const open = size % tileWidth;
  const leaves = open === 0 ? [] : hashes(0, size - open, open);
  return { tree: treeAt(size, hashes), leaves, last: headers(size - 1, size)[0] };
}

/** The hashes of a tile, one after the other: at least `count` of them. */
function tileOf(proof: Proof, tree: Tree, { level, index, count }: TileId & { count: number }): Buffer {
  const { stored, held, known } = proof;
  const name = `${level}/${index}`;
  const before = held.get(name);
  if (before && before.length >= count * 32) return before;
  const width = Math.min(Math.floor(tree.size / tileWidth ** level) - index * tileWidth, tileWidth);
  const found = stored.tile(level, index)?.subarray(0, width * 32) ?? Buffer.alloc(0);
  const digest = hash('sha256', found, 'base64');
  if (known.get(name) !== digest) {
    const subtrees = found.length === width * 32 ? subtreesOf(found) : [];
    const expected =
      width === tileWidth ? [hashIn(proof, tree, { level: level + 1, at: index })] : edgeNodes(tree, level);
    if (subtrees.length !== expected.length || subtrees.some((node, at) => !expected[at]?.equals(node)))
      throw new AlteredEventError(`tile ${name} of the log was altered: it is not what its tree is made of`);
  }
  held.set(name, found);
  known.set(name, digest);
  return found;
}

/** A hash of a level, counted from the first hash of its first tile. */
function hashIn(proof: Proof, tree: Tree, { level, at }: { level: number; at: number }): Buffer {
  const offset = at % tileWidth;
  const hashes = tileOf(proof, tree, { level, index: Math.floor(at / tileWidth), count: offset + 1 });
  return hashes.subarray(offset * 32, (offset + 1) * 32);
}

type Newest<T> = ReturnType<typeof newest<T>>;

/** Keeps the newest values, at most `most` of them. */
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

/** The roots of the perfect subtrees of a tree whose leaves are in the last tile of a level. */
function edgeNodes({ size, nodes }: Tree, level: number): Buffer[] {
  const before = onesIn(Math.floor(size / tileWidth ** (level + 1)));
  return nodes.slice(before, before + onesIn(Math.floor(size / tileWidth ** level) % tileWidth));
}

function onesIn(count: number): number {
  return count.toString(2).replaceAll('0', '').length;
}
