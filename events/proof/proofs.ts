import { type HashSource, rangeRoot } from './merkle.ts';

/**
 * The proof that a leaf is in the tree of the first `size` leaves (RFC 6962, section 2.1.1): the hashes beside its way
 * up, from its sibling to the child of the root. `index` counts from 0: that of the event at position P is P - 1.
 *
 * @param source must hold every hash of a tree of at least `size` leaves.
 * @throws RangeError when there is no such leaf in a tree of that size.
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

/** So many hashes are kept of what neighbours have in common: some megabytes. */
const mostKept = 20_000;

/** Makes many proofs of inclusion in one tree, best in the order of the leaves: what several need is hashed once. */
export function inclusionProver(size: number, source: HashSource): (index: number) => Buffer[] {
  const known = new Map<string, Buffer>();

  function rootIn(start: number, end: number): Buffer {
    // A leaf's hash is a part of its whole tile, which would be kept with it.
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
 * The proof that the tree of the first `second` leaves only goes on from that of the first `first` (RFC 6962, section
 * 2.1.2). It is empty where there is nothing to prove: for trees of one size, and from the empty tree on.
 *
 * @param source must hold every hash of a tree of at least `second` leaves.
 * @throws RangeError when the first tree is larger than the second.
 */
export function consistencyProof(first: number, second: number, source: HashSource): Buffer[] {
  if (!isCount(first) || !isCount(second) || first > second) {
    throw new RangeError(`a tree of ${second} does not go on from one of ${first}`);
  }
  return first === 0 ? [] : subproof(0, second, true);

  /**
   * `isWhole`: the first tree is all of this one's beginning so far, so that its root is known to the reader of the
   * proof.
   */
  function subproof(start: number, end: number, isWhole: boolean): Buffer[] {
    if (first === end) return isWhole ? [] : [rangeRoot(start, end, source)];
    const middle = start + splitOf(end - start);
    if (first <= middle) return [...subproof(start, middle, isWhole), rangeRoot(middle, end, source)];
    return [...subproof(middle, end, false), rangeRoot(start, middle, source)];
  }
}

/** A tree as a proof speaks of it. */
export type TreeHead = { size: number; root: Buffer };

/** The largest power of two below `count`. Counts go beyond 32 bits, so there is no shifting here. */
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
 * A proof that can be checked offline (C2SP tlog-proof): where the entry is, the hashes of its proof of inclusion, and
 * the signed checkpoint of the tree that it is in.
 *
 * `entry` is the entry itself, given along as extra data: nothing vouches for it but that its hash is the proven one.
 */
export function proofText({ index, proof, checkpoint, entry }: ShownProof): string {
  const hashes = proof.map((hash) => `${hash.toString('base64')}\n`).join('');
  const extra = entry ? `extra ${entry.toString('base64')}\n` : '';
  return `c2sp.org/tlog-proof@v1\n${extra}index ${index}\n${hashes}\n${checkpoint}`;
}
