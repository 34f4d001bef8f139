import type { KnownKey } from '../../events/log-keys.ts';
import type { LogReader } from '../../events/log-reader.ts';
import { openNote, parseCheckpoint, parseNote, parseVerifierKey, type Verifier } from '../../events/notes.ts';
import type { TreeHead } from '../../events/proofs.ts';
import type { Finding } from '../../events/verify.ts';

/** The keys by which checkpoints of a log are judged; `disowned` holds the ids of those whose word counts no more. */
export type Judges = { verifiers: readonly Verifier[]; disowned: ReadonlySet<string> };

/**
 * What a checkpoint says of a log. `sound`: that it is the one that was signed. `unknown`: the same, but nobody knows the key.
 * `disowned`: nothing any more, for its key vouched for events that are gone, which was accepted.
 */
export type Judgement = { finding: Finding } | { verdict: 'sound' | 'unknown' | 'disowned'; keyId: string };

/** What to judge by: the keys that are known, but for those that were given up. */
export function judgesOf(known: readonly KnownKey[], disowned: ReadonlySet<string>): Judges {
  const trusted = known.filter(({ id }) => !disowned.has(id));
  return { verifiers: trusted.map(({ verifierKey }) => parseVerifierKey(verifierKey)), disowned };
}

/**
 * Holds a log against a checkpoint of it: the signature, the size and the root.
 *
 * @param name says which one it is, in what is found.
 */
export function judge(log: LogReader, { verifiers, disowned }: Judges, name: string, note: string): Judgement {
  const parsed = parseNote(note);
  const said = parseCheckpoint(parsed?.text ?? '');
  const { log: logId, size } = log.head();
  if (!parsed || !said) return { finding: `${name} is no signed checkpoint` };
  if (said.origin !== logId)
    return { finding: `${name} is that of another log, ${JSON.stringify(said.origin.slice(0, 100))}` };
  const ids = parsed.signatures.filter((signature) => signature.name === logId).map(({ id }) => id);
  const [keyId = ''] = ids;
  if (ids.some((id) => disowned.has(id))) return { verdict: 'disowned', keyId };
  const isKnown = verifiers.some(({ id }) => ids.includes(id));
  if (isKnown && !openNote(note, verifiers)) return { finding: `${name} is not signed by the key that it names` };
  const finding = contradiction(log, size, name, said);
  if (finding !== null) return { finding };
  return { verdict: isKnown ? 'sound' : 'unknown', keyId };
}

/** In which way a log of `size` events is not the one of a tree head; null when it goes on from there. */
export function contradiction(log: LogReader, size: number, name: string, head: TreeHead): Finding | null {
  if (head.size > size)
    return `the log lost events: it ends at position ${size}, but ${name} has seen position ${head.size}`;
  if (log.rootAt(head.size).equals(head.root)) return null;
  return `the log was altered: at position ${head.size} it is not the log that ${name} has seen`;
}

/** What a checkpoint is anchored as: sorted by these names, the largest tree is the last. */
export function anchorName(size: number, note: string): string {
  return `${paddedSize(size)}-${parseNote(note)?.signatures[0]?.id ?? ''}`;
}

/** What the names of anchored checkpoints of this size begin with. */
export function paddedSize(size: number): string {
  return String(size).padStart(16, '0');
}

/** How an anchored checkpoint is named in what is found about it. */
export function anchored(name: string): string {
  return `the anchored checkpoint ${name}`;
}
