import { readLog } from '../../../events/log/log-reader.ts';
import { readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { readStamps } from '../../../events/proof/stamps.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { every } from '../../platform/ticks.ts';
import type { Notary } from '../../ports.ts';
import { changeKeyWith } from './changing.ts';
import { signedSize } from './checkpoint-checks.ts';
import {
  ContradictionError,
  currentKey,
  describe,
  type HeadSigning,
  isKnown,
  type NotaryOptions,
  requireSealed,
  sign,
  signableHead,
} from './head-signing.ts';
import { trustedKeysOf } from './keys.ts';

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

/**
 * Opens the notary, which signs the head of a log: at most every 10 seconds if the log grew, on demand, and at the end.
 * A head that contradicts one that the key or the log knows to be signed is never signed (C2SP tlog-checkpoint).
 */
export function openNotary(options: NotaryOptions): MainNotary {
  const { file, keys, log, now, altered = () => null, milliseconds = 10_000 } = options;
  const db = openDatabase(file, { readonly: true, cacheMiB: 4 });
  const reader = readLog(db);
  const checkpoints = readCheckpoints(db);
  const stamps = readStamps(db);
  const { log: logId } = reader.head();
  const refusal = new Error('the log has not been looked at yet');
  const signing: HeadSigning = { ...options, logId, reader, checkpoints, refusal, lastKey: null, lastKnown: null };
  let last: Promise<unknown> = Promise.resolve();
  let hasFailed = false;
  let endLooking = () => {};

  /** Runs signatures one after the other: each sees what the one before it has signed. */
  function sequentially<T>(run: () => Promise<T>): Promise<T> {
    const result = last.then(run);
    last = result.catch(() => {});
    return result;
  }

  const checkpoint = () => sequentially(() => sign(signing));

  /** Signs in the background. A failure is logged once, until a signature succeeds. */
  async function signQuietly(): Promise<void> {
    // The log of the service says so already.
    if (altered()?.part === 'log') return;
    try {
      const [newest] = checkpoints.recent(1);
      if (newest?.size === reader.head().size && (await isKnown(signing, newest)) && !hasFailed) return;
      await checkpoint();
      hasFailed = false;
    } catch (err) {
      const level = err instanceof ContradictionError ? 'fatal' : 'error';
      if (!hasFailed) log[level]({ err }, 'no checkpoint could be signed');
      hasFailed = true;
    }
  }

  const changeKey = changeKeyWith({
    keys,
    logId,
    now,
    async head(way) {
      // A key that has leaked is replaced, also if the log was altered: it signs nothing for that.
      const { signer, signed, head } = await signableHead(signing, { acceptsAltered: way === 'replace' });
      requireSealed(signing, head);
      return { signer, signed, head };
    },
    told: () => currentKey(signing),
  });

  return {
    changeKey: (way, reason) => sequentially(() => changeKey(way, reason)),
    async signedSize() {
      const [known, disowned] = [await keys.known(logId), await keys.disowned(logId)];
      return signedSize(reader, checkpoints, trustedKeysOf(reader, known, disowned));
    },
    begin() {
      signing.refusal = null;
      endLooking = every(milliseconds, signQuietly);
    },
    refuse(reason) {
      endLooking();
      signing.refusal = reason;
    },
    signQuietly,
    checkpoint,
    recent: async (count) => checkpoints.recent(count).map(describe),
    stamped: async (position, size) => stamps.around(position, size),
    verifierKey: async () => (await keys.current(logId)).signer.key,
    async close() {
      endLooking();
      if (!signing.refusal) await signQuietly();
      await last;
      db.close();
    },
  };
}
