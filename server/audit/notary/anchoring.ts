import { setTimeout as wait } from 'node:timers/promises';
import { readLog } from '../../../events/log/log-reader.ts';
import {
  type CheckpointChange,
  type KeptCheckpoint,
  keptCheckpoints,
  readCheckpoints,
} from '../../../events/proof/checkpoints.ts';
import { parseNote, signedByLog } from '../../../events/proof/notes.ts';
import { readStamps } from '../../../events/proof/stamps.ts';
import { BrokenLogError } from '../../../events/store/log-file.ts';
import type { BlobStore } from '../../../storage/blobs.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import { PrivateAddressError } from '../../platform/public-addresses.ts';
import { StartError } from '../../writer/writer.ts';
import { post, type Receiver } from './asking.ts';
import { anchored, anchorName, checkInLog, paddedSize, trustedKeys } from './checkpoint-checks.ts';
import { type Cosigner, cosignedBy } from './cosigning.ts';
import { type Courier, createCourier, usual as usualRests } from './courier.ts';
import { disowningsOf, type LogParts, tellDisownings } from './keys.ts';
import type { Authority } from './stamping.ts';

/** Copies checkpoints to places where a person who can alter the log may not be able to alter them. */
export type Anchoring = {
  /**
   * Holds the log against the newest anchored checkpoints. A store that does not answer in a few seconds is asked
   * later.
   *
   * @throws StartError when the log is not the one that was anchored.
   */
  start: () => Promise<void>;
  /** A checkpoint has been signed. */
  wake: () => void;
  close: () => Promise<void>;
};

type Options = LogParts & {
  keep: (change: CheckpointChange) => Promise<void>;
  /** The store of files, once it is ready. */
  store: () => Promise<BlobStore>;
  /** Resolves when the log here has all that was recorded before the call, by any node. */
  upToDate?: () => Promise<void>;
  /** The receiver that checkpoints are posted to; null: none. */
  webhook: Receiver | null;
  /** The time-stamp authority; null: none. */
  authority: Authority | null;
  /** The witnesses that cosign checkpoints. */
  witnesses: readonly Cosigner[];
  /** Called when the log turns out not to be the one that was anchored, once it has been started. */
  onContradiction: (error: Error) => void;
  milliseconds?: { patience: number; shortest: number; longest: number };
};

const usual = { patience: 5000, shortest: 2000, longest: 60_000 };
/** A witness serves many logs, and is asked once a minute at most, whatever starts and stops in between. */
const cosignedEach = 60_000;
/**
 * An authority is asked every ten minutes at most, in the same way: its tokens stay in the log, some kilobytes each.
 */
const stampedEach = 600_000;

/**
 * Copies checkpoints to the store of files, and to a webhook if there is one; checks the stored copies at the start.
 */
export function openAnchoring(options: Options): Anchoring {
  const { file, keys, store, onContradiction, log, upToDate = async () => {}, milliseconds = usual } = options;
  const db = openDatabase(file, { readonly: true, cacheMiB: 4 });
  const reader = readLog(db);
  const checkpoints = readCheckpoints(db);
  const closing = new AbortController();
  const { signal } = closing;
  let isChecked = false;
  const couriers = couriersOf(options, db, () => isChecked);

  function wake(): void {
    for (const courier of couriers) courier.wake();
  }

  /** Checks anchored checkpoints from the newest one on that the log knows to be stored: it covers those before it. */
  async function check(): Promise<void> {
    const { log: logId } = reader.head();
    await keys.current(logId);
    const known = await keys.known(logId);
    const disownings = disowningsOf(reader, known, await keys.disowned(logId));
    for (const line of tellDisownings({ ...disownings, events: [] })) log.warn(line);
    const trust = trustedKeys(known, disownings.ids);
    const others = { unknown: 0, disowned: 0 };
    const from = paddedSize(checkpoints.newestStored() ?? 0);
    for await (const { name, read } of (await store()).anchors(from)) {
      const note = { name: anchored(name), note: await read() };
      // Another node may have anchored it just now.
      if ('finding' in checkInLog(reader, trust, note)) await upToDate();
      const checked = checkInLog(reader, trust, note);
      if ('finding' in checked) throw new BrokenLogError(checked.finding);
      if (checked.verdict !== 'sound') others[checked.verdict] += 1;
    }
    if (others.unknown > 0) {
      log.warn(`anchored checkpoints signed by a key that vault.db does not know: ${others.unknown}; they fit the log`);
    }
    if (others.disowned > 0) {
      log.warn(`anchored checkpoints that the log is not held against, for their key was given up: ${others.disowned}`);
    }
    isChecked = true;
  }

  async function start(): Promise<void> {
    const first = check();
    const late = wait(milliseconds.patience, 'it does not answer', { ref: false, signal });
    const outcome = await Promise.race([first, late]).catch((error) => error);
    if (outcome instanceof BrokenLogError) throw new StartError(outcome.message);
    if (outcome !== undefined) {
      if (outcome instanceof Error && !isStoreFailure(outcome)) throw outcome;
      const reason = outcome instanceof Error ? outcome.message : outcome;
      log.warn(`the log is not held against the anchored checkpoints until their store works: ${reason}`);
      goOn(first).catch((err) => log.error({ err }, 'the anchored checkpoints cannot be looked at'));
    }
    wake();
  }

  async function goOn(first: Promise<void>): Promise<void> {
    let attempt = first;
    for (let pause = milliseconds.shortest; !isChecked; pause = Math.min(2 * pause, milliseconds.longest)) {
      try {
        await attempt;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof BrokenLogError) {
          onContradiction(error);
          return;
        }
        if (!isStoreFailure(error)) throw error;
        await wait(pause, undefined, { ref: false, signal }).catch(() => {});
        if (signal.aborted) return;
        attempt = check();
      }
    }
    log.info('the log has been held against the anchored checkpoints, and is the one that was signed');
    wake();
  }

  return {
    start,
    wake,
    async close() {
      closing.abort();
      await Promise.all(couriers.map((courier) => courier.close()));
      db.close();
    },
  };
}

/** A courier for each place that checkpoints go to. @param isChecked whether the anchored ones have been checked. */
function couriersOf(options: Options, db: Sqlite, isChecked: () => boolean): Courier[] {
  const { keep, store, webhook, authority, witnesses, log, now } = options;
  const checkpoints = readCheckpoints(db);
  const stamps = readStamps(db);
  const newest = (isDue: (checkpoint: KeptCheckpoint) => boolean) => {
    const [found] = checkpoints.recent(1);
    return found && isDue(found) ? found : null;
  };
  const couriers: Courier[] = [
    createCourier({
      what: 'anchored in the store of files',
      // The anchored checkpoints are checked before a new one is added.
      newest: () => newest(({ isStored }) => isChecked() && !isStored),
      send: async ({ size, note }) => (await store()).anchor(anchorName(size, note), note),
      mark: ({ size }) => keep({ kind: 'stored', size }),
      log,
    }),
  ];
  if (webhook) {
    couriers.push(
      createCourier({
        what: `posted to the webhook at ${new URL(webhook.url).origin}`,
        newest: () => newest(({ isPosted }) => !isPosted),
        send: ({ note }, aborted) => allowedBy('ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE', post(webhook, note, aborted)),
        mark: ({ size }) => keep({ kind: 'posted', size }),
        log,
      }),
    );
  }
  if (authority) {
    const name = new URL(authority.url).host;
    couriers.push(
      createCourier({
        what: `time-stamped by ${name}`,
        newest: () => newest(({ size }) => !stamps.hasToken(size, name)),
        // The reader of tokens is loaded only where an authority makes them.
        send: async ({ note }, aborted) => {
          const { stamp } = await import('./stamping.ts');
          return allowedBy('ANNALS_TSA_ALLOW_PRIVATE', stamp(authority, note, aborted));
        },
        mark: ({ size, note }, token) => {
          const receivedAt = new Date(now()).toISOString();
          return keep({ kind: 'timestamped', size, signed: signedByLog(note), authority: name, token, receivedAt });
        },
        log,
        left: leftOf(stampedEach, stamps.newestReceived(name), now()),
        milliseconds: { ...usualRests, rest: stampedEach },
      }),
    );
  }
  for (const witness of witnesses) {
    const { cosign, isDue, timeOf } = cosignedBy(witness, readLog(db));
    const [newestTime = null] = checkpoints.recent(keptCheckpoints).flatMap(({ note }) => timeOf(note) ?? []);
    couriers.push(
      createCourier({
        what: `cosigned by the witness ${witness.key.name}`,
        newest: () => newest(({ note }) => isDue(note)),
        send: (checkpoint, aborted) => allowedBy('ANNALS_WITNESS_ALLOW_PRIVATE', cosign(checkpoint, aborted)),
        mark: ({ size, note }, line) => keep({ kind: 'cosigned', size, text: parseNote(note)?.text ?? '', line }),
        log,
        left: leftOf(cosignedEach, newestTime, now()),
        milliseconds: { ...usualRests, rest: cosignedEach },
      }),
    );
  }
  return couriers;
}

/** Has the refusal of an address that is not public name the setting that allows it. */
function allowedBy<T>(setting: string, sent: Promise<T>): Promise<T> {
  return sent.catch((error) => {
    if (error instanceof PrivateAddressError) throw new Error(`${error.message}, which ${setting}=true allows`);
    throw error;
  });
}

/**
 * How much of a rest is left after a time; all of it at most, for a clock may be wrong. @param since ISO 8601; null for
 * never.
 */
function leftOf(rest: number, since: string | null, now: number): number {
  return since === null ? 0 : Math.min(Math.max(Date.parse(since) + rest - now, 0), rest);
}
