import type { LogReader } from '../../events/log-reader.ts';
import { treeAt } from '../../events/merkle.ts';
import { consistencyProof, inclusionProver } from '../../events/proofs.ts';
import type { LogCheckpoint, Notary } from '../notary/notary.ts';

/** Makes the proofs that events are in a tree of `size` events, as the formats have them. */
export function proverOf(log: LogReader, size: number): (position: number) => string[] {
  const prove = inclusionProver(size, log.hashes);
  return (position) => prove(position - 1).map(base64);
}

/** The roots of the perfect subtrees of the first `size` events, largest first. */
export function subtreesOf(log: LogReader, size: number): string[] {
  return treeAt(size, log.hashes).nodes.map(base64);
}

/** The proof that the tree of `size` events goes on from that of `first`. */
export function consistencyOf(log: LogReader, first: number, size: number): string[] {
  return consistencyProof(first, size, log.hashes).map(base64);
}

function base64(hash: Buffer): string {
  return hash.toString('base64');
}

/** A proof that the tree goes on from one of an earlier size. */
export type Earlier = { size: number; proof: string[] };

const maxEarlier = 32;

/** Proofs from the sizes that were asked for, and from those of the newest checkpoints. */
export async function earlierOf(
  log: LogReader,
  notary: Notary,
  { size }: LogCheckpoint,
  since: readonly number[],
): Promise<Earlier[]> {
  const recent = (await notary.recent(maxEarlier)).map((checkpoint) => checkpoint.size);
  const sizes = new Set([...since, ...recent].filter((one) => one > 0 && one < size));
  return [...sizes].sort((a, b) => a - b).map((one) => ({ size: one, proof: consistencyOf(log, one, size) }));
}
