import { DomainError } from '../../../config/errors.ts';
import { readLog } from '../../../events/log/log-reader.ts';
import { type CheckpointChange, type KeptCheckpoint, readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { rootOf, treeAt } from '../../../events/proof/merkle.ts';
import { checkpointText, openNote, parseCheckpoint, parseNote } from '../../../events/proof/notes.ts';
import type { TreeHead } from '../../../events/proof/proofs.ts';
import { type Head, isSealed } from '../../../events/proof/seals.ts';
import { readStamps } from '../../../events/proof/stamps.ts';
import { unsealed } from '../../../events/store/log-file.ts';
import type { LogKey } from '../../../events/vault/key-replacement.ts';
import { isDiskFull, openDatabase } from '../../../storage/sqlite.ts';
import { every } from '../../platform/ticks.ts';
import type { Altered, LogCheckpoint, Notary } from '../../ports.ts';
import { diskFullAtSigning } from '../../writer/disk-full.ts';
import { changeKeyWith } from './changing.ts';
import { signedSize } from './checkpoint-checks.ts';
import { type LogParts, trustedKeysOf } from './keys.ts';

const alteredRetrySeconds = 3600;

/** The notary as the main thread has it. */
export type MainNotary = Omit<Notary, 'verification'> & {
  /** Allows signing: no known checkpoint contradicts the log. */
  begin: () => void;
  /** How many of the first events a key of this log has signed, as far as the log keeps it. */
  signedSize: () => Promise<number>;
  /** Signs the last events, if none has signed them. A failure is logged. */
  signQuietly: () => Promise<void>;
  /** Ends signing, for this reason. */
  refuse: (reason: Error) => void;
  /** Signs the last events, and closes its files. A failure to sign does not keep a service from stopping. */
  close: () => Promise<void>;
};

/** The parts of a service by which its log is signed. */
export type NotaryOptions = LogParts & {
  /** The key that the head of the log is sealed with. */
  sealKey: string;
  /**
   * Keeps a checkpoint in the log: what resolves is durable. @throws DomainError `unavailable` when there is no room.
   */
  keep: (change: CheckpointChange) => Promise<void>;
  /** Resolves when the log here has all that was recorded before the call, by any node. */
  upToDate?: () => Promise<void>;
  /** Records the changes of keys that the vault remembers. */
  tell?: () => Promise<void>;
  /** Called before a key signs that another node may have made. */
  onKey?: () => Promise<void>;
  /** The last finding about the log: one that is known to be altered is not signed. */
  altered?: () => Altered | null;
  /** Called when a checkpoint has been signed and kept. */
  onSigned: (checkpoint: LogCheckpoint) => void;
  /** How often it looks whether the log has grown. */
  milliseconds?: number;
};

/**
 * Thrown when a signature would contradict an earlier one, or cover events that the writer did not write: the log is
 * not the one it was.
 */
class ContradictionError extends Error {
  override name = 'ContradictionError';
}

/**
 * Signs the head of a log: when it grew, every 10 seconds at most, on demand, and at the end. A head that contradicts
 * any that the key or the log knows to be signed is never signed (C2SP tlog-checkpoint).
 */
export function openNotary(options: NotaryOptions): MainNotary {
  const { upToDate = async () => {}, tell = async () => {}, onKey = async () => {} } = options;
  const { file, keys, sealKey, keep, onSigned, log, now, altered = () => null, milliseconds = 10_000 } = options;
  const db = openDatabase(file, { readonly: true, cacheMiB: 4 });
  const reader = readLog(db);
  const checkpoints = readCheckpoints(db);
  const stamps = readStamps(db);
  const { log: logId } = reader.head();
  let last: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  let endLooking = () => {};
  let refusal: Error | null = new Error('the log has not been looked at yet');
  let lastKey: string | null = null;
  let lastKnown: string | null = null;

  /** One after the other: each sees what the one before it has signed. */
  function inTurn<T>(run: () => Promise<T>): Promise<T> {
    const result = last.then(run);
    last = result.catch(() => {});
    return result;
  }

  /** The key that signs, of which the log has been told. */
  async function currentKey(): Promise<LogKey> {
    const key = await keys.current(logId);
    // After the key was read: who has made it has left there what the log is to be told.
    if ((await keys.untold(logId)).length > 0) await tell();
    if (key.signer.id !== lastKey) await onKey().catch(roomless);
    lastKey = key.signer.id;
    return key;
  }

  /** The key that signs, and a head that contradicts nothing of what it has signed. */
  async function signable({ acceptsAltered = false } = {}) {
    if (refusal) throw refusal;
    const known = altered();
    if (known?.part === 'log' && !acceptsAltered) throw refusalOfAltered(known);
    const { signer, signed } = await currentKey();
    // After what was signed was read: the key may have signed, on another node, what this one lacks.
    await upToDate();
    const head = reader.head();
    const [newest] = checkpoints.recent(1);
    const before = newest ? parseCheckpoint(openNote(newest.note, [signer])?.text ?? '') : null;
    for (const earlier of [signed, before]) if (earlier) requireSame(earlier, head);
    return { signer, signed, head, newest, isSigned: before?.size === head.size };
  }

  function requireSealed(head: Head): void {
    if (!isSealed(sealKey, head)) throw new ContradictionError(unsealed(true));
  }

  async function sign(): Promise<LogCheckpoint> {
    const { signer, signed, head, newest, isSigned } = await signable();
    if (newest && isSigned && signed?.size === head.size) return describe(newest);
    requireSealed(head);
    const time = new Date(now()).toISOString();
    // Made first: a node that stood still after it is remembered would sign with a key that was replaced meanwhile.
    const note = signer.sign(checkpointText(logId, { ...head, time }));
    // Another node has signed meanwhile: what it signed is compared first.
    if (!(await keys.sign(logId, signer.id, head, signed).catch(roomless))) return await sign();
    // An older vault does not know of it. A new signature would lose the cosignatures and time stamps.
    if (newest && isSigned) return describe(newest);
    const change = { size: head.size, note, signedAt: time };
    await keep({ kind: 'signed', ...change });
    const made = describe(change);
    onSigned(made);
    return made;
  }

  const checkpoint = () => inTurn(sign);

  /** Compared with the stored tree, whatever the head says now. */
  function rootAt(size: number): Buffer {
    return rootOf(treeAt(size, reader.storedHashes));
  }

  function requireSame(earlier: TreeHead, { size, root }: TreeHead): void {
    const now = earlier.size === size ? root : earlier.size < size ? rootAt(earlier.size) : null;
    if (now?.equals(earlier.root)) return;
    throw new ContradictionError(
      `the log was altered: it ends at position ${size}, and at position ${earlier.size} it is not the log that was signed`,
    );
  }

  /** Signs in the background: a failure is logged once, and again when it is another. */
  async function signQuietly(): Promise<void> {
    // The log says so already.
    if (altered()?.part === 'log') return;
    try {
      const [newest] = checkpoints.recent(1);
      if (newest?.size === reader.head().size && (await isKnown(newest)) && !hasFailed) return;
      await checkpoint();
      hasFailed = false;
    } catch (err) {
      if (!hasFailed)
        log[err instanceof ContradictionError ? 'fatal' : 'error']({ err }, 'no checkpoint could be signed');
      hasFailed = true;
    }
  }

  /** Whether a checkpoint is of our key, and the vault knows of it. */
  async function isKnown({ size, note }: KeptCheckpoint): Promise<boolean> {
    const { signer, signed } = await keys.current(logId);
    if (signed?.size !== size) return false;
    // It is the same one every ten seconds, as long as nothing is written.
    const asked = `${signer.id}\n${note}`;
    if (asked === lastKnown) return true;
    if (openNote(note, [signer]) === null) return false;
    lastKnown = asked;
    return true;
  }

  const changeKey = changeKeyWith({
    keys,
    logId,
    now,
    async head(way) {
      // A key that has leaked is replaced, and signs nothing for that.
      const { signer, signed, head } = await signable({ acceptsAltered: way === 'replace' });
      requireSealed(head);
      return { signer, signed, head };
    },
    told: currentKey,
  });

  return {
    changeKey: (way, reason) => inTurn(() => changeKey(way, reason)),
    async signedSize() {
      const [known, disowned] = [await keys.known(logId), await keys.disowned(logId)];
      return signedSize(reader, checkpoints, trustedKeysOf(reader, known, disowned));
    },
    begin() {
      refusal = null;
      endLooking = every(milliseconds, signQuietly);
    },
    refuse(reason) {
      endLooking();
      refusal = reason;
    },
    signQuietly,
    checkpoint,
    recent: async (count) => checkpoints.recent(count).map(describe),
    stamped: async (position, size) => stamps.around(position, size),
    verifierKey: async () => (await keys.current(logId)).signer.key,
    async close() {
      endLooking();
      if (!refusal) await signQuietly();
      await last;
      db.close();
    },
  };
}

function refusalOfAltered({ finding }: Altered): DomainError {
  const message = `the log is known to be altered: ${finding}; no checkpoint is signed until "annals verify" finds it sound`;
  return new DomainError('unavailable', message, [], alteredRetrySeconds);
}

function roomless(error: unknown): never {
  throw isDiskFull(error) ? diskFullAtSigning() : error;
}

function describe({ size, note, signedAt }: Pick<KeptCheckpoint, 'size' | 'note' | 'signedAt'>): LogCheckpoint {
  const said = parseCheckpoint(parseNote(note)?.text ?? '');
  return { size, root: said?.root.toString('base64') ?? '', note, signedAt: said?.time ?? signedAt };
}
