import type { EventText, LogReader } from '../../events/log-reader.ts';
import { treeAt } from '../../events/merkle.ts';
import { consistencyProof, inclusionProver } from '../../events/proofs.ts';
import { nextTurn } from '../audit/turns.ts';
import type { LogCheckpoint, Notary } from '../notary/notary.ts';

/** How much of the log is read and held at a time, in characters of stored text; one event may be longer. */
const chunkLength = 1 << 18;

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

/** The events at positions `from` to `to`, chunk by chunk; other requests have their turn between two. */
export async function* eventsBetween(log: LogReader, from: number, to: number): AsyncGenerator<EventText[]> {
  for (let next = from; next <= to; ) {
    const chunk = log.textsWithin(next - 1, to, chunkLength);
    if (chunk.length === 0) throw new Error(`event ${next} is missing`);
    yield chunk;
    next += chunk.length;
    await nextTurn();
  }
}

/** The events of a stream that stand at positions up to `upTo`, chunk by chunk, oldest first. */
export async function* eventsOf(log: LogReader, stream: string, upTo: number): AsyncGenerator<EventText[]> {
  for (let version = 0; ; ) {
    const chunk = log.streamTextsWithin(stream, version, upTo, chunkLength);
    if (chunk.length === 0) return;
    yield chunk;
    version += chunk.length;
    await nextTurn();
  }
}

/** So many headers are read in one go: some megabyte. */
const headersAtOnce = 2000;

/** The headers at positions `from` to `to`, chunk by chunk. */
export async function* headersBetween(log: LogReader, from: number, to: number): AsyncGenerator<string[]> {
  for (let next = from; next <= to; next += headersAtOnce) {
    yield log.headers(next - 1, Math.min(next + headersAtOnce - 1, to));
    await nextTurn();
  }
}
