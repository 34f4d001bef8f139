import { hash } from 'node:crypto';

/**
 * A growing Merkle tree as RFC 6962 (section 2.1) defines it, kept as the roots of its perfect subtrees, largest first:
 * all that is needed to append a leaf and to know the root.
 */
export type Tree = { size: number; nodes: Buffer[] };

/** The root of the empty tree: the hash of nothing (RFC 6962, section 2.1). */
export const emptyRoot: Buffer = hash('sha256', '', 'buffer');

/** The leaf hash, SHA-256(0x00 ‖ entry), of an entry given as bytes or as text in UTF-8. */
export function leafHash(entry: string | Buffer): Buffer {
  return sha256(typeof entry === 'string' ? `\0${entry}` : Buffer.concat([leafPrefix, entry]));
}

/** Hashes by way of text: a Buffer that Node's hash makes has separate memory, which costs more than the hash. */
function sha256(input: string | Buffer): Buffer {
  return Buffer.from(hash('sha256', input, 'hex'), 'hex');
}

const leafPrefix = Buffer.from([0]);
// One buffer for every inner node: hashing is synchronous, and it keeps the append path free of garbage.
const scratch = Buffer.alloc(65, 1);

/** The hash of an inner node, SHA-256(0x01 ‖ left ‖ right). */
export function nodeHash(left: Buffer, right: Buffer): Buffer {
  left.copy(scratch, 1);
  right.copy(scratch, 33);
  return sha256(scratch);
}

/**
 * Appends a leaf to `tree` in place. `onNode` is called with every perfect subtree that this leaf completes, from
 * height 0 (the leaf itself) upwards: so tiles are filled.
 */
export function appendLeaf(tree: Tree, leaf: Buffer, onNode: (height: number, hash: Buffer) => void): void {
  let node = leaf;
  let height = 0;
  onNode(0, node);
  for (let rest = tree.size; rest % 2 === 1; rest = Math.floor(rest / 2)) {
    node = nodeHash(tree.nodes.pop() as Buffer, node);
    height += 1;
    onNode(height, node);
  }
  tree.nodes.push(node);
  tree.size += 1;
}

/** The root of the tree. */
export function rootOf(tree: Tree): Buffer {
  let root = tree.nodes.at(-1);
  if (!root) return emptyRoot;
  for (let index = tree.nodes.length - 2; index >= 0; index -= 1) root = nodeHash(tree.nodes[index] as Buffer, root);
  return root;
}

/** Entries per tile (C2SP tlog-tiles): tiles of height 8. */
export const tileWidth = 256;

/** Gives `count` hashes of tile level `level` from `start` on: at level 0 leaf hashes, above it roots of full tiles. */
export type HashSource = (level: number, start: number, count: number) => Buffer[];

/**
 * The tree as it was at `size`, from stored tile hashes.
 *
 * @param source must hold every hash of a tree of at least `size` leaves.
 */
export function treeAt(size: number, source: HashSource): Tree {
  return { size, nodes: subtreesOf(0, size, source) };
}

/**
 * The root of the tree over the leaves from `start` up to, but without, `end`: MTH(D[start:end]) of RFC 6962, section
 * 2.1.
 *
 * @param start a multiple of the smallest power of two that is not less than `end - start`, as it is for every subtree.
 */
export function rangeRoot(start: number, end: number, source: HashSource): Buffer {
  return rootOf({ size: end - start, nodes: subtreesOf(start, end, source) });
}

/** The roots of the perfect subtrees over a range of leaves, largest first. */
function subtreesOf(from: number, end: number, source: HashSource): Buffer[] {
  const nodes: Buffer[] = [];
  const count = end - from;
  let start = from;
  for (let height = Math.floor(Math.log2(Math.max(count, 1))); height >= 0; height -= 1) {
    const width = 2 ** height;
    if (Math.floor(count / width) % 2 === 0) continue;
    nodes.push(subtreeAt(height, start / width, source));
    start += width;
  }
  return nodes;
}

function subtreeAt(height: number, index: number, source: HashSource): Buffer {
  const level = Math.floor(height / 8);
  const count = 2 ** (height % 8);
  let row = source(level, index * count, count);
  while (row.length > 1) {
    const above: Buffer[] = [];
    for (let at = 0; at < row.length; at += 2) above.push(nodeHash(row[at] as Buffer, row[at + 1] as Buffer));
    row = above;
  }
  return row[0] as Buffer;
}
