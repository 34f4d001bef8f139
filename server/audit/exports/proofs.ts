import type { LogReader } from '../../../events/log/log-reader.ts';
import { readHandover } from '../../../events/proof/handovers.ts';
import { treeAt } from '../../../events/proof/merkle.ts';
import { openNote, parseVerifierKey, type Verifier } from '../../../events/proof/notes.ts';
import { consistencyProof, inclusionProver } from '../../../events/proof/proofs.ts';
import type { KeptToken } from '../../../events/proof/stamps.ts';
import { readKeyEvents } from '../../../events/service-events/key-events.ts';
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

/** The proof that the tree of `size` events extends the tree of `first` events. */
export function consistencyOf(log: LogReader, first: number, size: number): string[] {
  return consistencyProof(first, size, log.hashes).map(base64);
}

function base64(hash: Buffer): string {
  return hash.toString('base64');
}

/** A proof that the tree extends one of an earlier size. */
type Earlier = { size: number; proof: string[] };

const maxEarlier = 32;

/** The earlier checkpoints and hand-overs that go along with evidence; `handovers` are notes. */

/** A checkpoint that is cosigned or time-stamped, as the formats have it. */
type StampedCheckpoint = { checkpoint: string; tokens: KeptToken[] };

/**
 * A checkpoint of a log that proves what an archive holds, with the key that it is signed by, and other checkpoints.
 */
export type Proven = {
  log: LogReader;
  checkpoint: LogCheckpoint;
  verifierKey: string;
  earlier: Earlier[];
  stamped: StampedCheckpoint[];
  /** The hand-overs from key to key, as notes. */
  handovers: string[];
};

/**
 * Ties a checkpoint to earlier ones: the cosigned and time-stamped checkpoints for the event at a position and newest;
 * the hand-overs from key to key; and consistency proofs from the sizes of both, from those in `since`, and from the
 * newest checkpoints. Checkpoints of former keys to which no hand-over leads from the present one are left out.
 */
export async function provenBy(
  { events: log, notary }: Pick<App, 'events' | 'notary'>,
  checkpoint: LogCheckpoint,
  { position, since }: { position: number; since: readonly number[] },
): Promise<Proven> {
  const { size } = checkpoint;
  const verifierKey = await notary.verifierKey();
  const shown = handoversIn(log, size);
  const verifiers = verifiersFrom(parseVerifierKey(verifierKey), shown);
  const [recent, around] = await Promise.all([notary.recent(maxEarlier), notary.stamped(position, size)]);
  const vouched = around.filter(({ note }) => openNote(note, verifiers));
  const sizes = new Set([...since, ...[...recent, ...vouched, ...shown].map((known) => known.size)]);
  const before = [...sizes].filter((one) => one > 0 && one < size).sort((a, b) => a - b);
  const earlier = before.map((one) => ({ size: one, proof: consistencyOf(log, one, size) }));
  const stamped = vouched.map(({ note, tokens }) => ({ checkpoint: note, tokens }));
  return { log, checkpoint, verifierKey, earlier, stamped, handovers: shown.map(({ note }) => note) };
}

type ShownHandover = { note: string; size: number; from: Verifier; to: Verifier };

/** The hand-overs within the first `size` events, oldest first, without hand-overs of disowned keys. */
function handoversIn(log: LogReader, size: number): ShownHandover[] {
  const changes = readKeyEvents(log).map(({ change }) => change);
  const disowned = new Set(changes.flatMap((change) => (change.kind === 'disowned' ? [change.key.id] : [])));
  return changes.flatMap((change) => {
    if (change.kind !== 'replaced' || change.handover === undefined) return [];
    const read = readHandover(change.handover);
    const isShown = read && read.size <= size && !disowned.has(read.from.id) && !disowned.has(read.to.id);
    return isShown ? [{ note: change.handover, size: read.size, from: read.from, to: read.to }] : [];
  });
}

/** A key, and those before it that handed over to one of these. */
function verifiersFrom(current: Verifier, handovers: readonly ShownHandover[]): Verifier[] {
  const verifiers = [current];
  for (const { from, to } of handovers.toReversed())
    if (verifiers.some(({ key }) => key === to.key)) verifiers.push(from);
  return verifiers;
}
