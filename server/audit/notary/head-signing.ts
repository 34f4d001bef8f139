import { DomainError } from '../../../config/errors.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import type { CheckpointChange, KeptCheckpoint, readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { rootOf, treeAt } from '../../../events/proof/merkle.ts';
import { checkpointText, openNote, parseCheckpoint, parseNote } from '../../../events/proof/notes.ts';
import type { TreeHead } from '../../../events/proof/proofs.ts';
import { type Head, isSealed } from '../../../events/proof/seals.ts';
import { unsealed } from '../../../events/store/log-file.ts';
import type { LogKey } from '../../../events/vault/key-replacement.ts';
import { isDiskFull } from '../../../storage/sqlite.ts';
import type { Alteration, LogCheckpoint } from '../../ports.ts';
import { diskFullAtSigning } from '../../writer/disk-full.ts';
import type { LogServices } from './keys.ts';

const alteredRetrySeconds = 3600;

/** The parts of a service by which its log is signed. */
export type NotaryOptions = LogServices & {
  /** The key that the head of the log is sealed with. */
  sealKey: string;
  /** Resolves when the log keeps a checkpoint durably. @throws DomainError `unavailable` if the disk is full. */
  keep: (change: CheckpointChange) => Promise<void>;
  /** Resolves when the log here has all that was recorded before the call, by any node. */
  upToDate?: () => Promise<void>;
  /** Records in the log the changes of keys that the vault remembers. */
  tell?: () => Promise<void>;
  /** Called before the first signature of a key, which another node may have made. */
  onKey?: () => Promise<void>;
  /** The last finding about the log. A log that is known to be altered is not signed. */
  altered?: () => Alteration | null;
  /** Called when a checkpoint has been signed and kept. */
  onSigned: (checkpoint: LogCheckpoint) => void;
  /** The time between two looks whether the log has grown. */
  milliseconds?: number;
};

/** The log that is signed, and what is known of its last signature. */
export type HeadSigning = NotaryOptions & {
  logId: string;
  reader: LogReader;
  checkpoints: ReturnType<typeof readCheckpoints>;
  /** Why nothing is signed; null if heads are signed. */
  refusal: Error | null;
  /** The id of the key that signed last. */
  lastKey: string | null;
  /** The key and the note that were found last to belong together. */
  lastKnown: string | null;
};

/**
 * Thrown when a signature would contradict an earlier one, or cover events that the writer did not write: the log was
 * altered.
 */
export class ContradictionError extends Error {
  override name = 'ContradictionError';
}

/** The key that signs, after its changes were recorded in the log. */
export async function currentKey(signing: HeadSigning): Promise<LogKey> {
  const { keys, logId, tell, onKey } = signing;
  const key = await keys.current(logId);
  // After the key was read: the node that made it has left in the vault what the log is to be told.
  if ((await keys.untold(logId)).length > 0) await tell?.();
  if (key.signer.id !== signing.lastKey) await onKey?.().catch(roomless);
  signing.lastKey = key.signer.id;
  return key;
}

/** The key that signs, and a head that contradicts nothing that the key has signed. */
export async function signableHead(signing: HeadSigning, { acceptsAltered = false } = {}) {
  if (signing.refusal) throw signing.refusal;
  const known = signing.altered?.() ?? null;
  if (known?.part === 'log' && !acceptsAltered) throw refusalOfAltered(known);
  const { signer, signed } = await currentKey(signing);
  // After `signed` was read: the key may have signed, on another node, events that are not here yet.
  await signing.upToDate?.();
  const head = signing.reader.head();
  const [newest] = signing.checkpoints.recent(1);
  const before = newest ? parseCheckpoint(openNote(newest.note, [signer])?.text ?? '') : null;
  for (const earlier of [signed, before]) if (earlier) requireSame(signing.reader, earlier, head);
  return { signer, signed, head, newest, isSigned: before?.size === head.size };
}

/** @throws ContradictionError if the key of vault.db has not sealed the head. */
export function requireSealed({ sealKey }: HeadSigning, head: Head): void {
  if (!isSealed(sealKey, head)) throw new ContradictionError(unsealed(true));
}

/** Signs the head of the log, or gives the checkpoint that has signed it. */
export async function sign(signing: HeadSigning): Promise<LogCheckpoint> {
  const { keys, logId, now, keep, onSigned } = signing;
  const { signer, signed, head, newest, isSigned } = await signableHead(signing);
  if (newest && isSigned && signed?.size === head.size) return describe(newest);
  requireSealed(signing, head);
  const time = new Date(now()).toISOString();
  // Before the vault remembers it: a node that is suspended in between would sign with a key replaced meanwhile.
  const note = signer.sign(checkpointText(logId, { ...head, time }));
  // Another node has signed meanwhile: its signature is compared first.
  if (!(await keys.sign(logId, signer.id, head, signed).catch(roomless))) return await sign(signing);
  // A vault from a backup does not know of this checkpoint. Another one would lose its cosignatures and time stamps.
  if (newest && isSigned) return describe(newest);
  const change = { size: head.size, note, signedAt: time };
  await keep({ kind: 'signed', ...change });
  const made = describe(change);
  onSigned(made);
  return made;
}

/** Whether a checkpoint is signed by our key, and the vault knows of it. */
export async function isKnown(signing: HeadSigning, { size, note }: KeptCheckpoint): Promise<boolean> {
  const { signer, signed } = await signing.keys.current(signing.logId);
  if (signed?.size !== size) return false;
  // While nothing is written, the same checkpoint is asked about every ten seconds.
  const asked = `${signer.id}\n${note}`;
  if (asked === signing.lastKnown) return true;
  if (openNote(note, [signer]) === null) return false;
  signing.lastKnown = asked;
  return true;
}

/** Compares an earlier head with the stored tree, whatever the head says now. */
function requireSame(reader: LogReader, earlier: TreeHead, { size, root }: TreeHead): void {
  const rootAt = () => (earlier.size < size ? rootOf(treeAt(earlier.size, reader.storedHashes)) : null);
  const now = earlier.size === size ? root : rootAt();
  if (now?.equals(earlier.root)) return;
  throw new ContradictionError(
    `the log was altered: it ends at position ${size}, and at position ${earlier.size} it is not the log that was signed`,
  );
}

function refusalOfAltered({ finding }: Alteration): DomainError {
  const message = `the log is known to be altered: ${finding}; no checkpoint is signed until "annals verify" finds it sound`;
  return new DomainError('unavailable', message, [], alteredRetrySeconds);
}

function roomless(error: unknown): never {
  throw isDiskFull(error) ? diskFullAtSigning() : error;
}

/** A kept checkpoint as answers show it. */
export function describe({ size, note, signedAt }: Pick<KeptCheckpoint, 'size' | 'note' | 'signedAt'>): LogCheckpoint {
  const said = parseCheckpoint(parseNote(note)?.text ?? '');
  return { size, root: said?.root.toString('base64') ?? '', note, signedAt: said?.time ?? signedAt };
}
