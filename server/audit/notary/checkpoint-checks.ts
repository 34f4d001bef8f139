import { counted } from '../../../config/counted.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { type CheckpointReader, keptCheckpoints } from '../../../events/proof/checkpoints.ts';
import { readHandover } from '../../../events/proof/handovers.ts';
import { openNote, parseCheckpoint, parseNote, parseVerifierKey, type Verifier } from '../../../events/proof/notes.ts';
import type { TreeHead } from '../../../events/proof/proofs.ts';
import type { Finding } from '../../../events/proof/seen-heads.ts';
import { contradiction } from '../../../events/proof/seen-heads.ts';
import { readKeyEvents } from '../../../events/service-events/key-events.ts';
import type { KnownKey } from '../../../events/vault/key-replacement.ts';

/**
 * The keys by which checkpoints of a log are checked; `disowned` holds the ids of those whose signatures count no more.
 */
export type TrustedKeys = { verifiers: readonly Verifier[]; disowned: ReadonlySet<string> };

/** A checkpoint, and its name in findings. */
type NamedNote = { name: string; note: string };

/**
 * The verdict on a checkpoint. `sound`: the log is the one that was signed. `unknown`: the same, but the key is not
 * known. `disowned`: not compared, since its key signed events whose loss the operator accepted.
 */
type CheckpointVerdict = { finding: Finding } | { verdict: 'sound' | 'unknown' | 'disowned'; keyId: string };

/** Selects the known keys that were not given up. */
export function trustedKeys(known: readonly KnownKey[], disowned: ReadonlySet<string>): TrustedKeys {
  const trusted = known.filter(({ id }) => !disowned.has(id));
  return { verifiers: trusted.map(({ verifierKey }) => parseVerifierKey(verifierKey)), disowned };
}

/** Checks a log against a checkpoint of it: the signature, the size and the root. */
export function checkInLog(log: LogReader, trust: TrustedKeys, { name, note }: NamedNote): CheckpointVerdict {
  const { log: logId, size } = log.head();
  const { verifiers } = trust;
  const outcome = checkNote(logId, trust, { name, note });
  if ('finding' in outcome || outcome.verdict === 'disowned') return outcome;
  const { head, ...checked } = outcome;
  const finding = contradiction({ size, rootAt: log.rootAt }, { name, ...head }, () =>
    log.signedHeads(verifiers.map(({ key }) => key)),
  );
  return finding === null ? checked : { finding };
}

/** Checks a checkpoint without its log: gives the head that it signs, and whether its key is trusted. */
export function checkNote(
  logId: string,
  { verifiers, disowned }: TrustedKeys,
  { name, note }: NamedNote,
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

/** Checks the hand-overs in a log: both keys that the event names have signed it, over what the log was then. */
export function checkHandovers(log: LogReader): Finding | null {
  const { log: logId, size } = log.head();
  for (const { position, change } of readKeyEvents(log)) {
    if (change.kind !== 'replaced' || change.handover === undefined) continue;
    const name = `the hand-over in event ${position}`;
    const read = readHandover(change.handover);
    if (!read) return `${name} is not what the keys that it names have signed`;
    if (read.origin !== logId) return `${name} is of another log, ${read.origin}`;
    if (read.from.id !== change.from.id || read.to.id !== change.to.id)
      return `${name} names other keys than the event`;
    if (read.size >= position) return `${name} is of ${counted(read.size, 'event')}, and stands among them`;
    const finding = contradiction({ size, rootAt: log.rootAt }, { name, size: read.size, root: read.root });
    if (finding !== null) return finding;
  }
  return null;
}

/** The finding for a checkpoint in the row of another size; null if the row fits. */
export function misplaced(name: string, { size }: Pick<TreeHead, 'size'>, row: number): Finding | null {
  return size === row ? null : `${name} is one of ${counted(size, 'event')}, and stands in the place of one of ${row}`;
}

/** The number of events, from the first, that a trusted key has signed, as far as the log itself keeps it. */
export function signedSize(log: LogReader, checkpoints: CheckpointReader, { verifiers }: TrustedKeys): number {
  const { size } = log.head();
  const newest = checkpoints.recent(keptCheckpoints).find(({ note }) => {
    const head = parseCheckpoint(openNote(note, verifiers)?.text ?? '');
    return head !== null && head.size <= size && log.rootAt(head.size).equals(head.root);
  });
  return newest?.size ?? 0;
}

/**
 * The name under which a checkpoint is anchored: sorted by these names, the largest tree is the last. The time is part
 * of it, since one key may sign one tree twice, as after a restored backup, and an anchored checkpoint is never
 * overwritten.
 */
export function anchorName(size: number, note: string): string {
  const parsed = parseNote(note);
  const time = parseCheckpoint(parsed?.text ?? '')?.time ?? '';
  return [paddedSize(size), parsed?.signatures[0]?.id ?? '', ...(time && [time.replace(/\W/g, '').toLowerCase()])].join(
    '-',
  );
}

/** The prefix of the names of anchored checkpoints of this size. */
export function paddedSize(size: number): string {
  return String(size).padStart(16, '0');
}

/** The name of an anchored checkpoint in findings. */
export function anchored(name: string): string {
  return `the anchored checkpoint ${name}`;
}
