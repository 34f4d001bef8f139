import { readLog } from '../../../events/log/log-reader.ts';
import {
  type CheckpointChange,
  type KeptCheckpoint,
  keptCheckpoints,
  readCheckpoints,
} from '../../../events/proof/checkpoints.ts';
import { parseNote, signedByLog } from '../../../events/proof/notes.ts';
import { readStamps } from '../../../events/proof/stamps.ts';
import type { BlobStore } from '../../../storage/blobs.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import { PrivateAddressError } from '../../platform/public-addresses.ts';
import { post, type Receiver } from './asking.ts';
import { anchorName } from './checkpoint-checks.ts';
import { type Cosigner, cosignedBy } from './cosigning.ts';
import { type Courier, createCourier, usual } from './courier.ts';
import type { LogServices } from './keys.ts';
import type { Authority } from './stamping.ts';

/** Where checkpoints go: the store of files always, the others if they are set. */
export type Destinations = Pick<LogServices, 'log' | 'now'> & {
  /** Records that a checkpoint was delivered, with what came back. */
  keep: (change: CheckpointChange) => Promise<void>;
  /** The store of files, once it is ready. */
  store: () => Promise<BlobStore>;
  /** The receiver that checkpoints are posted to; null: none. */
  webhook: Receiver | null;
  /** The time-stamp authority; null: none. */
  authority: Authority | null;
  /** The witnesses that cosign checkpoints. */
  witnesses: readonly Cosigner[];
};

/** A witness serves many logs: it is asked once a minute at most, also across restarts. */
const cosignedEach = 60_000;
/** An authority is asked every ten minutes at most, also across restarts: its tokens stay in the log, some KiB each. */
const stampedEach = 600_000;

/**
 * Makes a courier for each destination.
 *
 * @param db the log, which says what was delivered.
 * @param isChecked whether the anchored checkpoints have been checked: before that none is anchored.
 */
export function couriersOf(to: Destinations, db: Sqlite, isChecked: () => boolean): Courier[] {
  const { webhook, authority, witnesses } = to;
  return [
    storeCourier(to, db, isChecked),
    ...(webhook ? [webhookCourier(to, db, webhook)] : []),
    ...(authority ? [authorityCourier(to, db, authority)] : []),
    ...witnesses.map((witness) => witnessCourier(to, db, witness)),
  ];
}

function storeCourier({ store, keep, log }: Destinations, db: Sqlite, isChecked: () => boolean): Courier {
  return createCourier({
    what: 'anchored in the store of files',
    newest: newestIn(db, ({ isStored }) => isChecked() && !isStored),
    send: async ({ size, note }) => (await store()).anchor(anchorName(size, note), note),
    mark: ({ size }) => keep({ kind: 'stored', size }),
    log,
  });
}

function webhookCourier({ keep, log }: Destinations, db: Sqlite, webhook: Receiver): Courier {
  return createCourier({
    what: `posted to the webhook at ${new URL(webhook.url).origin}`,
    newest: newestIn(db, ({ isPosted }) => !isPosted),
    send: ({ note }, aborted) => allowedBy('ANNALS_CHECKPOINT_WEBHOOK_ALLOW_PRIVATE', post(webhook, note, aborted)),
    mark: ({ size }) => keep({ kind: 'posted', size }),
    log,
  });
}

function authorityCourier({ keep, log, now }: Destinations, db: Sqlite, authority: Authority): Courier {
  const stamps = readStamps(db);
  const name = new URL(authority.url).host;
  return createCourier({
    what: `time-stamped by ${name}`,
    newest: newestIn(db, ({ size }) => !stamps.hasToken(size, name)),
    // The reader of tokens is loaded only if there is an authority.
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
    milliseconds: { ...usual, rest: stampedEach },
  });
}

function witnessCourier({ keep, log, now }: Destinations, db: Sqlite, witness: Cosigner): Courier {
  const { cosign, isDue, timeOf } = cosignedBy(witness, readLog(db));
  const kept = readCheckpoints(db).recent(keptCheckpoints);
  const [newestTime = null] = kept.flatMap(({ note }) => timeOf(note) ?? []);
  return createCourier({
    what: `cosigned by the witness ${witness.key.name}`,
    newest: newestIn(db, ({ note }) => isDue(note)),
    send: (checkpoint, aborted) => allowedBy('ANNALS_WITNESS_ALLOW_PRIVATE', cosign(checkpoint, aborted)),
    mark: ({ size, note }, line) => keep({ kind: 'cosigned', size, text: parseNote(note)?.text ?? '', line }),
    log,
    left: leftOf(cosignedEach, newestTime, now()),
    milliseconds: { ...usual, rest: cosignedEach },
  });
}

/** Looks for the newest checkpoint, null if it is not due. */
function newestIn(db: Sqlite, isDue: (checkpoint: KeptCheckpoint) => boolean): () => KeptCheckpoint | null {
  const checkpoints = readCheckpoints(db);
  return () => {
    const [found] = checkpoints.recent(1);
    return found && isDue(found) ? found : null;
  };
}

/** Has the refusal of an address that is not public name the setting that allows it. */
function allowedBy<T>(setting: string, sent: Promise<T>): Promise<T> {
  return sent.catch((error) => {
    if (error instanceof PrivateAddressError) throw new Error(`${error.message}, which ${setting}=true allows`);
    throw error;
  });
}

/**
 * The milliseconds that are left of a rest after the last delivery; at most the whole rest, since a clock may be wrong.
 *
 * @param since the last delivery in ISO 8601; null: there was none.
 */
function leftOf(rest: number, since: string | null, now: number): number {
  return since === null ? 0 : Math.min(Math.max(Date.parse(since) + rest - now, 0), rest);
}
