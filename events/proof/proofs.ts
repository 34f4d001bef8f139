import { type HashSource, rangeRoot } from './merkle.ts';

/**
 * The proof that a leaf is in the tree of the first `size` leaves (RFC 6962, section 2.1.1): the hashes beside its
 * path, from its sibling to the child of the root. `index` counts from 0: the event at position P has index P - 1.
 *
 * @param source must hold every hash of a tree of at least `size` leaves.
 * @throws RangeError if a tree of that size has no such leaf.
 */
export function inclusionProof(index: number, size: number, source: HashSource): Buffer[] {
  return wayUp(index, size, (start, end) => rangeRoot(start, end, source));
}

function wayUp(index: number, size: number, rootIn: (start: number, end: number) => Buffer): Buffer[] {
  if (!isCount(index) || !isCount(size) || index >= size) throw new RangeError(`no leaf ${index} in a tree of ${size}`);
  return path(index, 0, size);

  function path(at: number, start: number, end: number): Buffer[] {
    if (end - start === 1) return [];
    const middle = start + splitOf(end - start);
    if (at < middle) return [...path(at, start, middle), rootIn(middle, end)];
    return [...path(at, middle, end), rootIn(start, middle)];
  }
}

/** The most hashes that are kept for neighbours to share: some megabytes. */
const mostKept = 20_000;

/** Makes many proofs of inclusion in one tree, best in the order of the leaves: shared subtrees are hashed once. */
export function inclusionProver(size: number, source: HashSource): (index: number) => Buffer[] {
  const known = new Map<string, Buffer>();

  function rootIn(start: number, end: number): Buffer {
    // The hash of a leaf is a slice of its tile, and would keep the whole tile in memory.
    if (end - start === 1) return rangeRoot(start, end, source);
    const key = `${start}-${end}`;
    const kept = known.get(key);
    if (kept) return kept;
    const root = rangeRoot(start, end, source);
    if (known.size >= mostKept) known.clear();
    known.set(key, root);
    return root;
  }

  return (index) => wayUp(index, size, rootIn);
}

/**
 * The proof that the tree of the first `second` leaves extends the tree of the first `first` (RFC 6962, section 2.1.2).
 * It is empty if there is nothing to prove: for trees of one size, and from the empty tree.
 *
 * @param source must hold every hash of a tree of at least `second` leaves.
 * @throws RangeError if the first tree is larger than the second.
 */
export function consistencyProof(first: number, second: number, source: HashSource): Buffer[] {
  if (!isCount(first) || !isCount(second) || first > second) {
    throw new RangeError(`a tree of ${second} does not go on from one of ${first}`);
  }
  return first === 0 ? [] : subproof(0, second, true);

  /** `isWhole`: the first tree begins where this subtree does, so that the reader of the proof knows its root. */
  function subproof(start: number, end: number, isWhole: boolean): Buffer[] {
    if (first === end) return isWhole ? [] : [rangeRoot(start, end, source)];
    const middle = start + splitOf(end - start);
    if (first <= middle) return [...subproof(start, middle, isWhole), rangeRoot(middle, end, source)];
    return [...subproof(middle, end, false), rangeRoot(start, middle, source)];
  }
}

/** The size and the root of a tree. */
export type TreeHead = { size: number; root: Buffer };

/** The largest power of two below `count`. Counts exceed 32 bits, so this does not shift. */
function splitOf(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

type ShownProof = { index: number; proof: readonly Buffer[]; checkpoint: string; entry?: Buffer };

/**
 * A proof that can be checked offline (C2SP tlog-proof): the index of the entry, the hashes of its proof of inclusion,
 * and the signed checkpoint of its tree.
 *
 * `entry` is the entry itself, as extra data: only its hash, which is the proven one, vouches for it.
 */
export function proofText({ index, proof, checkpoint, entry }: ShownProof): string {
  const hashes = proof.map((hash) => `${hash.toString('base64')}\n`).join('');
  const extra = entry ? `extra ${entry.toString('base64')}\n` : '';
  return `c2sp.org/tlog-proof@v1\n${extra}index ${index}\n${hashes}\n${checkpoint}`;
}
