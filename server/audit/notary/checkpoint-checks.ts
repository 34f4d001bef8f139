import { counted } from '../../../config/counted.ts';
import { type CheckpointReader, keptCheckpoints } from '../../../events/checkpoints.ts';
import type { Finding } from '../../../events/findings.ts';
import type { KnownKey } from '../../../events/log-keys.ts';
import type { LogReader } from '../../../events/log-reader.ts';
import { openNote, parseCheckpoint, parseNote, parseVerifierKey, type Verifier } from '../../../events/notes.ts';
import type { TreeHead } from '../../../events/proofs.ts';
import { contradiction } from '../../../events/seen-heads.ts';

/** The keys by which checkpoints of a log are judged; `disowned` holds the ids of those whose word counts no more. */
export type TrustedKeys = { verifiers: readonly Verifier[]; disowned: ReadonlySet<string> };

/**
 * What a checkpoint says of a log. `sound`: that it is the one that was signed. `unknown`: the same, but nobody knows the key.
 * `disowned`: nothing any more, for its key vouched for events that are gone, which was accepted.
 */
export type CheckpointVerdict = { finding: Finding } | { verdict: 'sound' | 'unknown' | 'disowned'; keyId: string };

/** What to checkInLog by: the keys that are known, but for those that were given up. */
export function trustedKeys(known: readonly KnownKey[], disowned: ReadonlySet<string>): TrustedKeys {
  const trusted = known.filter(({ id }) => !disowned.has(id));
  return { verifiers: trusted.map(({ verifierKey }) => parseVerifierKey(verifierKey)), disowned };
}

/**
 * Holds a log against a checkpoint of it: the signature, the size and the root.
 *
 * @param name says which one it is, in what is found.
 */
export function checkInLog(
  log: LogReader,
  { verifiers, disowned }: TrustedKeys,
  name: string,
  note: string,
): CheckpointVerdict {
  const { log: logId, size } = log.head();
  const outcome = checkNote(logId, { verifiers, disowned }, name, note);
  if ('finding' in outcome || outcome.verdict === 'disowned') return outcome;
  const { head, ...checked } = outcome;
  const finding = contradiction({ size, rootAt: log.rootAt }, { name, ...head }, () =>
    log.signedHeads(verifiers.map(({ key }) => key)),
  );
  return finding === null ? checked : { finding };
}

/** What a checkpoint says, whatever the log is: the head that it is of, and what the word of its key counts. */
export function checkNote(
  logId: string,
  { verifiers, disowned }: TrustedKeys,
  name: string,
  note: string,
): { finding: Finding } | (Exclude<CheckpointVerdict, { finding: Finding }> & { head: TreeHead }) {
  const parsed = parseNote(note);
  const said = parseCheckpoint(parsed?.text ?? '');
  if (!parsed || !said) return { finding: `${name} is no signed checkpoint` };
  if (said.origin !== logId)
    return { finding: `${name} is that of another log, ${JSON.stringify(said.origin.slice(0, 100))}` };
  const ids = parsed.signatures.filter((signature) => signature.name === logId).map(({ id }) => id);
  const [keyId = ''] = ids;
  const head = { size: said.size, root: said.root };
  if (ids.some((id) => disowned.has(id))) return { verdict: 'disowned', keyId, head };
  const isKnown = verifiers.some(({ id }) => ids.includes(id));
  if (isKnown && !openNote(note, verifiers)) return { finding: `${name} is not signed by the key that it names` };
  return { verdict: isKnown ? 'sound' : 'unknown', keyId, head };
}

/** What is found where a checkpoint stands in a row of another size than it is of; null where it stands in its own. */
export function misplaced(name: string, { size }: Pick<TreeHead, 'size'>, row: number): Finding | null {
  return size === row ? null : `${name} is one of ${counted(size, 'event')}, and stands in the place of one of ${row}`;
}

/** How many of the first events a key that counts has signed, as far as the log itself keeps it. */
export function signedSize(log: LogReader, checkpoints: CheckpointReader, { verifiers }: TrustedKeys): number {
  const { size } = log.head();
  const newest = checkpoints.recent(keptCheckpoints).find(({ note }) => {
    const head = parseCheckpoint(openNote(note, verifiers)?.text ?? '');
    return head !== null && head.size <= size && log.rootAt(head.size).equals(head.root);
  });
  return newest?.size ?? 0;
}

/**
 * What a checkpoint is anchored as: sorted by these names, the largest tree is the last. The time is part of it, for one tree may be
 * signed twice by one key, as after a backup was put back, and nothing takes the place of what is anchored.
 */
export function anchorName(size: number, note: string): string {
  const parsed = parseNote(note);
  const time = parseCheckpoint(parsed?.text ?? '')?.time ?? '';
  return [paddedSize(size), parsed?.signatures[0]?.id ?? '', ...(time && [time.replace(/\W/g, '').toLowerCase()])].join(
    '-',
  );
}

/** What the names of anchored checkpoints of this size begin with. */
export function paddedSize(size: number): string {
  return String(size).padStart(16, '0');
}

/** How an anchored checkpoint is named in what is found about it. */
export function anchored(name: string): string {
  return `the anchored checkpoint ${name}`;
}
