import type { LogReader } from '../../../events/log-reader.ts';
import { treeAt } from '../../../events/merkle.ts';
import { openNote, parseVerifierKey } from '../../../events/notes.ts';
import { consistencyProof, inclusionProver } from '../../../events/proofs.ts';
import type { KeptToken } from '../../../events/stamps.ts';
import type { App } from '../../app.ts';
import type { LogCheckpoint } from '../../ports.ts';

/** Makes the proofs that events are in a tree of `size` events, as the formats have them. */
export function proverOf(log: LogReader, size: number): (position: number) => string[] {
  const prove = inclusionProver(size, log.hashes);
  return (position) => prove(position - 1).map(base64);
}

/** The roots of the perfect subtrees of the first `size` events, largest first. */
export function subtreesOf(log: LogReader, size: number): string[] {
  return treeAt(size, log.hashes).nodes.map(base64);
}

/** The proof that the tree of `size` events extends that of `first`. */
export function consistencyOf(log: LogReader, first: number, size: number): string[] {
  return consistencyProof(first, size, log.hashes).map(base64);
}

function base64(hash: Buffer): string {
  return hash.toString('base64');
}

/** A proof that the tree extends one of an earlier size. */
export type Earlier = { size: number; proof: string[] };

const maxEarlier = 32;

/** A checkpoint that is cosigned or time-stamped, as the formats have it. */
export type Stamped = { checkpoint: string; tokens: KeptToken[] };

/** A checkpoint of a log that proves what an archive holds, with the key that it is signed by, and other checkpoints. */
export type Proven = {
  log: LogReader;
  checkpoint: LogCheckpoint;
  verifierKey: string;
  earlier: Earlier[];
  stamped: Stamped[];
};

/**
 * Ties a checkpoint to earlier ones: the cosigned and time-stamped checkpoints for the event at a position and newest; and consistency
 * proofs from their sizes, from those in `since`, and from the newest checkpoints. A verifier has the key that signs now, so checkpoints
 * of former keys are left out.
 */
export async function provenBy(
  { events: log, notary }: Pick<App, 'events' | 'notary'>,
  checkpoint: LogCheckpoint,
  { position, since }: { position: number; since: readonly number[] },
): Promise<Proven> {
  const { size } = checkpoint;
  const verifierKey = await notary.verifierKey();
  const verifiers = [parseVerifierKey(verifierKey)];
  const [recent, around] = await Promise.all([notary.recent(maxEarlier), notary.stamped(position, size)]);
  const vouched = around.filter(({ note }) => openNote(note, verifiers));
  const sizes = new Set([...since, ...[...recent, ...vouched].map((known) => known.size)]);
  const before = [...sizes].filter((one) => one > 0 && one < size).sort((a, b) => a - b);
  const earlier = before.map((one) => ({ size: one, proof: consistencyOf(log, one, size) }));
  const stamped = vouched.map(({ note, tokens }) => ({ checkpoint: note, tokens }));
  return { log, checkpoint, verifierKey, earlier, stamped };
}
