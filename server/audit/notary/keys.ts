import type { Logger } from 'pino';
import type { Command, Outcome } from '../../../events/facts/log.ts';
import { type LogReader, readLog } from '../../../events/log/log-reader.ts';
import { readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { parseNote } from '../../../events/proof/notes.ts';
import {
  decideKeyChange,
  isSameChange,
  type KeyChange,
  type KeyEvent,
  keyStreamVersion,
  type NamedKey,
  readKeyEvents,
} from '../../../events/service-events/key-events.ts';
import type { KnownKey } from '../../../events/vault/key-replacement.ts';
import type { VaultPort } from '../../../events/vault/vault-port.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import type { KeyRecord } from '../../ports.ts';
import { type TrustedKeys, trustedKeys } from './checkpoint-checks.ts';

/**
 * The disowned keys. `ids`: those that an event names, without keys in the vault that it does not call disowned.
 * `untold`: those that only the vault names, which are ignored. `denied`: keys in the vault that only the log names.
 */
export type Disownings = { ids: Set<string>; events: KeyEvent[]; untold: string[]; denied: KeyEvent[] };

/**
 * @param known the keys in the vault.
 * @param inVault the ids of the keys that the vault calls disowned.
 */
export function disowningsOf(
  log: Pick<LogReader, 'stream'>,
  known: readonly KnownKey[],
  inVault: ReadonlySet<string>,
): Disownings {
  const told = readKeyEvents(log).filter(({ change }) => change.kind === 'disowned');
  const isDenied = (event: KeyEvent) => known.some(({ id }) => id === idOf(event)) && !inVault.has(idOf(event));
  const [denied, events] = [told.filter(isDenied), told.filter((event) => !isDenied(event))];
  const ids = new Set(events.map(idOf));
  return { ids, events, denied, untold: [...inVault].filter((id) => !ids.has(id)) };
}

/**
 * The keys by which the checkpoints of a log are checked, as log and vault know them now.
 *
 * @param known the keys in the vault.
 * @param inVault the ids of the keys that the vault calls disowned.
 */
export function trustedKeysOf(log: LogReader, known: readonly KnownKey[], inVault: ReadonlySet<string>): TrustedKeys {
  return trustedKeys(known, disowningsOf(log, known, inVault).ids);
}

/** Describes disowned keys, a line each. */
export function tellDisownings({ events, untold, denied }: Disownings): string[] {
  return [
    ...events.map((event) => {
      const { change, position, recordedAt } = event;
      return `the key ${idOf(event)} was disowned by event ${position}, ${recordedAt}: ${change.reason}`;
    }),
    ...untold.map(
      (id) =>
        `vault.db says that the key ${id} was disowned, and no event of the log does: what it signed counts as that of any key`,
    ),
    ...denied.map(
      (event) =>
        `event ${event.position} says that the key ${idOf(event)} was disowned, and vault.db, which has that key, does not: ` +
        'what it signed counts as that of any key',
    ),
  ];
}

function idOf({ change }: KeyEvent): string {
  return change.kind === 'disowned' ? change.key.id : '';
}

/** The parts of a service that the work on its log needs. */
export type LogServices = {
  /** The path of the log. */
  file: string;
  keys: VaultPort['logKeys'];
  log: Logger;
  /** The clock that is believed, in milliseconds since the epoch. */
  now: () => number;
};

/** @param append gives the outcome of a command, and throws if the outcome is unknown. */
type Recording = Pick<LogServices, 'file' | 'keys'> & {
  append: (command: Command) => Promise<Outcome>;
  /** Makes the id under which one change is recorded. */
  nextId: () => string;
  /** Called for each change that was recorded. */
  onRecorded: (line: string) => void;
  /** Resolves when the log here has all that was recorded before the call, by any node. */
  upToDate?: () => Promise<void>;
};

/**
 * Records in the log the changes of its keys. The vault remembers each change until the log has its event. If the vault
 * has another key than the one that signed before, that is recorded as a change too. Must be called before anything is
 * signed.
 */
export async function recordKeyChanges(recording: Recording): Promise<void> {
  await withLog(recording, async (db, log) => {
    await recordUntold(recording, log);
    while (await noteOtherKey(recording, db, log)) await recordUntold(recording, log);
  });
}

/**
 * Tells the log of the changes that the vault remembers. Of several nodes that do at the same time, one records each.
 */
export async function recordUntoldChanges(recording: Recording): Promise<void> {
  await withLog(recording, (_db, log) => recordUntold(recording, log));
}

async function withLog({ file }: Recording, run: (db: Sqlite, log: LogReader) => Promise<void>): Promise<void> {
  const db = openDatabase(file, { readonly: true, cacheMiB: 1 });
  try {
    await run(db, readLog(db));
  } finally {
    db.close();
  }
}

async function recordUntold(recording: Recording, log: LogReader): Promise<void> {
  const { keys, onRecorded } = recording;
  const { log: logId } = log.head();
  for (const { number, change } of await keys.untold(logId)) {
    if (await record(recording, log, change)) onRecorded(describe(change));
    await keys.told(number);
  }
}

/** @returns true if the change was recorded now; false if the log has its event already. */
async function record({ append, nextId, upToDate }: Recording, log: LogReader, change: KeyChange): Promise<boolean> {
  for (;;) {
    await upToDate?.();
    const version = keyStreamVersion(log);
    if (readKeyEvents(log).some((event) => isSameChange(event.change, change))) return false;
    const { reason } = change;
    const command = decideKeyChange(change, version);
    const outcome = await append({
      ...command,
      actor: { type: 'system' },
      correlationId: nextId(),
      context: { reason },
    });
    // Otherwise another node was faster, perhaps with this one.
    if (outcome.ok) return true;
  }
}

const lost = 'vault.db did not have the key that signed before';
const older = 'vault.db is older than the log: its key had been replaced before';

/**
 * Notes that the key that signs is not the one that signed before, although that one was not replaced: the vault was
 * replaced.
 *
 * @returns whether there is a change to record in the log.
 */
async function noteOtherKey({ keys, upToDate }: Recording, db: Sqlite, log: LogReader): Promise<boolean> {
  const { log: logId } = log.head();
  const { signer, signed } = await keys.current(logId);
  // Another node may replace the key now. After this call, the log here has the event of the key that was read.
  if ((await keys.untold(logId)).length > 0) return true;
  await upToDate?.();
  const changes = readKeyEvents(log).map(({ change }) => change);
  const replaced = changes.findLast((change) => change.kind === 'replaced');
  // Without an event, a key that has signed before is the first key, whatever else is in the log.
  const before: NamedKey | null = replaced ? replaced.to : signed === null ? newestSigner(db, logId) : null;
  if (!before || before.id === signer.id) return false;
  const isFormer = changes.some((change) =>
    change.kind === 'replaced' ? change.from.id === signer.id : change.key.id === signer.id,
  );
  // A verifier that knows that a key was given up would not accept its new signatures.
  if (isFormer) await keys.replace(logId, { reason: older, from: before, expected: { id: signer.id, signed } });
  else {
    const to = { id: signer.id, verifierKey: signer.key };
    const change: KeyChange = { kind: 'replaced', from: before, to, reason: lost };
    if (changes.some((one) => isSameChange(one, change))) return false;
    await keys.note(logId, change);
  }
  return true;
}

function newestSigner(db: Sqlite, logId: string): NamedKey | null {
  const [newest] = readCheckpoints(db).recent(1);
  const id = newest && signerIn(newest.note, logId);
  return id ? { id } : null;
}

/** The id of the key that has signed a checkpoint of a log, by what the checkpoint says. */
function signerIn(note: string, logId: string): string | null {
  return parseNote(note)?.signatures.find(({ name }) => name === logId)?.id ?? null;
}

function describe(change: KeyChange): string {
  if (change.kind === 'disowned') return `the key ${change.key.id} is disowned: ${change.reason}`;
  return `the key ${change.from.id} is replaced by ${change.to.id}: ${change.reason}`;
}

/**
 * All keys of a log, oldest first, by one snapshot of the log.
 *
 * @param current the key that signs now, if it is known; else the key that the log names last.
 */
export function keyHistory(db: Sqlite, current: NamedKey | null): KeyRecord[] {
  return db.transaction(() => readHistory(db, current))();
}

function readHistory(db: Sqlite, current: NamedKey | null): KeyRecord[] {
  const log = readLog(db);
  const { log: logId } = log.head();
  const records = new Map<string, KeyRecord>();
  const recordOf = ({ id, verifierKey }: NamedKey): KeyRecord => {
    const blank = { signs: false, since: null, first: null, last: null, replaced: null, disowned: null };
    const record = records.get(id) ?? { id, verifierKey: null, ...blank };
    record.verifierKey ??= verifierKey ?? null;
    records.set(id, record);
    return record;
  };
  let latest: NamedKey | null = null;
  for (const { id, first, last } of readCheckpoints(db).signers(logId)) {
    latest = { id };
    Object.assign(recordOf(latest), { first, last });
  }
  for (const { change, ...event } of readKeyEvents(log)) {
    const told = { ...event, reason: change.reason };
    if (change.kind === 'disowned') {
      recordOf(change.key).disowned = { ...told, signed: change.signed ?? null };
      continue;
    }
    recordOf(change.from).replaced = { ...told, by: change.to.id, handover: change.handover ?? null };
    recordOf(change.to).since = told;
    latest = change.to;
  }
  const signing = current ?? latest;
  if (signing) recordOf(signing).signs = true;
  return [...records.values()].sort((one, other) => beginning(one) - beginning(other));
}

function beginning({ since, first, signs }: KeyRecord): number {
  return since?.position ?? first?.size ?? (signs ? Number.MAX_SAFE_INTEGER : 0);
}
