import { emptyRoot, nodeHash } from '../../events/proof/merkle.ts';
import type { TreeHead } from '../../events/proof/proofs.ts';

/** Whether `proof` leads from a leaf hash to the root of the tree of `size` leaves (RFC 9162, section 2.1.3.2). */
export function verifyInclusion(
  { index, size }: { index: number; size: number },
  leaf: Buffer,
  proof: readonly Buffer[],
  root: Buffer,
): boolean {
  if (!isCount(index) || !isCount(size) || index >= size) return false;
  let at = index;
  let last = size - 1;
  let found = leaf;
  for (const hash of proof) {
    if (last === 0 || hash.length !== 32) return false;
    if (at % 2 === 1 || at === last) {
      found = nodeHash(hash, found);
      for (; at % 2 === 0 && at !== 0; at /= 2) last = half(last);
    } else found = nodeHash(found, hash);
    at = half(at);
    last = half(last);
  }
  return last === 0 && found.equals(root);
}

/** Whether `proof` shows that the second tree only goes on from the first (RFC 9162, section 2.1.4.2). */
export function verifyConsistency(first: TreeHead, second: TreeHead, proof: readonly Buffer[]): boolean {
  if (!isCount(first.size) || !isCount(second.size) || first.size > second.size) return false;
  if (first.size === second.size) return proof.length === 0 && first.root.equals(second.root);
  if (first.size === 0) return proof.length === 0 && first.root.equals(emptyRoot);
  if (proof.length === 0 || proof.some(({ length }) => length !== 32)) return false;
  let at = first.size - 1;
  let last = second.size - 1;
  for (; at % 2 === 1; at = half(at)) last = half(last);
  // If the first tree is perfect, its root is a node of the second tree: the proof begins with it, so it is not sent.
  const [start, ...rest] = at === 0 ? [first.root, ...proof] : proof;
  let before = start as Buffer;
  let now = before;
  for (const hash of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      before = nodeHash(hash, before);
      now = nodeHash(hash, now);
      for (; at % 2 === 0 && at !== 0; at /= 2) last = half(last);
    } else now = nodeHash(now, hash);
    at = half(at);
    last = half(last);
  }
  return last === 0 && before.equals(first.root) && now.equals(second.root);
}

function half(count: number): number {
  return Math.floor(count / 2);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
