import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../../config/counted.ts';
import { headerOf } from '../../../events/facts/envelope.ts';
import { type LogReader, readLog } from '../../../events/log/log-reader.ts';
import { type KeptCheckpoint, readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { parseCheckpoint, parseNote } from '../../../events/proof/notes.ts';
import type { TreeHead } from '../../../events/proof/proofs.ts';
import type { KnownSeals } from '../../../events/proof/seals.ts';
import type { Finding } from '../../../events/proof/seen-heads.ts';
import { contradiction } from '../../../events/proof/seen-heads.ts';
import { tellAcceptances } from '../../../events/service-events/acceptances.ts';
import { formatOf, openLogToRead, sealFinding } from '../../../events/store/log-file.ts';
import { logFormat } from '../../../events/store/log-tables.ts';
import type { GivenUp } from '../../../events/vault/key-replacement.ts';
import type { KnownKeys } from '../../../events/vault/log-keys.ts';
import { openVault, withVault } from '../../../events/vault/vault.ts';
import { logFile } from '../../../projections/tables/files.ts';
import { openBlobStore } from '../../../storage/blob-store.ts';
import type { Anchor, BlobSettings } from '../../../storage/blobs.ts';
import { openDatabase, type Sqlite } from '../../../storage/sqlite.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import { anchored, checkHandovers, checkInLog, misplaced, type TrustedKeys, trustedKeys } from './checkpoint-checks.ts';
import { type Disownings, disowningsOf, tellDisownings, trustedKeysOf } from './keys.ts';
import { ageOf, type Outsiders, readVouched, type Vouchable, vouchedFor } from './outside.ts';

/** The result of a verification of checkpoints. */
type Verification = {
  /** The first finding; null: the log is sound. */
  finding: Finding | null;
  notes: string[];
  /** Parts of the last line. */
  last: string[];
  /** Whether a part could not be checked, or nothing is signed. */
  isPartial: boolean;
};

/** How many checkpoints are read at a time from a store. */
const atATime = 16;

type NamedCheckpoint = { name: string; size: number; note: string };

type Options = {
  directory: string;
  blobs: BlobSettings;
  outsiders: Outsiders;
  /** The events that were verified: the last line says how many of the first ones are signed. */
  events: number;
};

/** The checkpoints that were compared with the log so far. */
type CheckpointComparison = {
  counts: { sound: number; unknown: number; disowned: number };
  /** The largest that is signed by a trusted key. */
  signed: { size: number; keyId: string };
  /** The notes of those whose key was given up. */
  givenUp: Set<string>;
};

/**
 * Compares a log with the vault, whose key seals its head, and with all checkpoints of it: what the key signed last,
 * those in the log, and those that are anchored. If all belong to one log, they are consistent with each other too.
 */
export async function verifyCheckpoints(options: Options): Promise<Verification> {
  const db = openLogToRead(logFile(options.directory));
  const found: Verification = { finding: null, notes: [], last: [], isPartial: false };
  try {
    const finding = await verifyIn(db, options, found);
    return { ...found, finding };
  } finally {
    db.close();
  }
}

/** Adds to `found` all but the finding, which it returns. */
async function verifyIn(db: Sqlite, options: Options, found: Verification): Promise<Finding | null> {
  const { directory, blobs, outsiders, events } = options;
  const { notes } = found;
  const log = readLog(db);
  const head = log.head();
  if (head.recordedAt !== '') notes.push(`the newest event is of ${head.recordedAt}, ${ageOf(head.recordedAt)}`);
  const vault = join(directory, 'vault.db');
  const keys = existsSync(vault) ? withVault(vault, (known, seals) => readKeys(log, known, seals)) : null;
  if (!keys)
    notes.push(
      'there is no vault.db: it cannot be told by which key the checkpoints are signed, nor what wrote the events after the last',
    );
  const broken = keys && sealFinding(formatOf(db), head, keys.seals);
  if (broken) return broken;
  if (keys && formatOf(db) < 3)
    notes.push(
      `log.db has format ${formatOf(db)}, where nothing says who wrote it; the next start brings it to format ${logFormat}`,
    );
  const handover = checkHandovers(log);
  if (handover !== null) return handover;
  const disownings = keys?.disownings ?? disowningsOf(log, [], new Set());
  notes.push(...tellDisownings(disownings), ...tellAcceptances(log));
  if (disownings.untold.length > 0) found.isPartial = true;
  const trust = trustedKeys(keys?.known ?? [], disownings.ids);
  const contradicted = keys && checkSigned(log, keys.signed, trust);
  if (contradicted) return contradicted;

  const compared: CheckpointComparison = {
    counts: { sound: 0, unknown: 0, disowned: 0 },
    signed: { size: 0, keyId: '' },
    givenUp: new Set(),
  };
  const compare = (checkpoints: AsyncIterable<NamedCheckpoint> | Iterable<NamedCheckpoint>) =>
    compareWith({ log, trust }, checkpoints, compared);
  const vouched = readVouched(db);
  const inLog = await compare(kept(vouched.checkpoints));
  if (inLog) return inLog;
  const outside = await vouchedFor(without(vouched, compared.givenUp), outsiders);
  if (outside.finding) return outside.finding;
  try {
    const finding = await compare(textsOf(blobs));
    if (finding) return finding;
  } catch (error) {
    if (!isStoreFailure(error)) throw error;
    found.isPartial = true;
    notes.push(`the anchored checkpoints were not looked at: ${error.message}`);
  }
  notes.push(...tell(compared.counts, keys !== null), ...outside.notes);
  found.last.push(signedPart(compared.signed, events));
  const newest = vouched.checkpoints.at(-1);
  if (newest && keys && isByUnknownKey(log, trust, newest))
    found.last.push(
      `the newest checkpoint in the log, of ${counted(newest.size, 'event')}, is signed by a key that vault.db does not know`,
    );
  if (compared.signed.size === 0 && (!keys || isOld(log))) found.isPartial = true;
  return null;
}

/** Compares a log with the heads that its keys have signed, as the vault knows them. */
function checkSigned(log: LogReader, heads: readonly TreeHead[], trust: TrustedKeys): Finding | null {
  const trusted = trust.verifiers.map(({ key }) => key);
  for (const signed of heads) {
    // Read now: the key may have signed a head after the verification began.
    const tree = { size: log.head().size, rootAt: log.rootAt };
    const finding = contradiction(tree, { name: 'the signing key', ...signed }, () => log.signedHeads(trusted));
    if (finding) return finding;
  }
  return null;
}

async function compareWith(
  { log, trust }: { log: LogReader; trust: TrustedKeys },
  checkpoints: AsyncIterable<NamedCheckpoint> | Iterable<NamedCheckpoint>,
  compared: CheckpointComparison,
): Promise<Finding | null> {
  for await (const { name, size, note } of checkpoints) {
    const checked = checkInLog(log, trust, { name, note });
    if ('finding' in checked) return checked.finding;
    const wrong = misplaced(name, { size: sizeIn(note) }, size);
    if (wrong !== null) return wrong;
    const { verdict, keyId } = checked;
    compared.counts[verdict] += 1;
    if (verdict === 'disowned') compared.givenUp.add(note);
    if (verdict === 'sound' && size > compared.signed.size) compared.signed = { size, keyId };
  }
  return null;
}

function isByUnknownKey(log: LogReader, trust: TrustedKeys, { note }: KeptCheckpoint): boolean {
  const checked = checkInLog(log, trust, { name: '', note });
  return 'verdict' in checked && checked.verdict === 'unknown';
}

/**
 * After the operator has accepted that a log lost events: gives up its key, and every key that signed something that is
 * not true of the log any more, and deletes their checkpoints. Does nothing if nothing contradicts the log. The vault
 * remembers what was done until the log records it.
 *
 * @returns the lines for the operator.
 */
export async function disownContradicted(directory: string, blobs: BlobSettings, reason: string): Promise<string[]> {
  const db = openDatabase(logFile(directory), { durability: 'full' });
  const vault = openVault(join(directory, 'vault.db'));
  const lines: string[] = [];
  try {
    const log = readLog(db);
    const { log: logId, size } = log.head();
    const { signer, signed } = vault.logKeys.current(logId);
    const trust = trustedKeysOf(log, vault.logKeys.known(logId), vault.logKeys.disowned(logId));
    /** By the ids of keys, the most events that each has signed. */
    const wrong = new Map<string, number>();
    const blame = (id: string, signed: number) => wrong.set(id, Math.max(signed, wrong.get(id) ?? 0));
    const blameAll = (note: string) => {
      if (!('finding' in checkInLog(log, trust, { name: '', note }))) return;
      for (const id of idsIn(note, logId)) blame(id, sizeIn(note));
    };
    if (signed && contradiction({ size, rootAt: log.rootAt }, { name: '', ...signed })) blame(signer.id, signed.size);
    const inLog = [...readCheckpoints(db).all()];
    for (const { note } of inLog) blameAll(note);
    try {
      for await (const { note } of textsOf(blobs)) blameAll(note);
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      lines.push(`the anchored checkpoints could not be looked at: ${error.message}`);
    }
    if (wrong.size === 0) return lines;
    blame(signer.id, signed?.size ?? 0);
    const disowned = [...wrong].map(([id, signed]): GivenUp => (signed > 0 ? { id, signed } : { id }));
    vault.logKeys.replace(logId, { disowned, reason });
    const remove = db.prepare('DELETE FROM checkpoints WHERE size = ?');
    for (const { size: at, note } of inLog) if (idsIn(note, logId).every((id) => wrong.has(id))) remove.run(at);
    db.exec('DELETE FROM timestamps WHERE size NOT IN (SELECT size FROM checkpoints)');
    lines.push(
      'what was signed before is not true any more: the signing key is given up, and checkpoints of it count no more;',
      `auditors need to know the new one: ${vault.logKeys.current(logId).signer.key}`,
    );
    return lines;
  } finally {
    vault.close();
    db.close();
  }
}

/**
 * A service signs seconds after a change. A log with an event older than this, and nothing signed, has lost
 * checkpoints, or had no service.
 */
const soonMilliseconds = 60_000;

function isOld(log: LogReader): boolean {
  const [first] = log.headers(0, Math.min(1, log.head().size));
  return first !== undefined && Date.now() - Date.parse(headerOf(first).recordedAt) > soonMilliseconds;
}

function signedPart({ size, keyId }: { size: number; keyId: string }, events: number): string {
  const count = Math.min(size, events);
  return `${count} of ${counted(events, 'event')} ${count === 1 ? 'is' : 'are'} signed${count === 0 ? ' by a key that is known' : ` by the key ${keyId}`}`;
}

function readKeys(log: LogReader, keys: KnownKeys, seals: KnownSeals) {
  const { log: logId } = log.head();
  const known = keys.known(logId);
  const disownings: Disownings = disowningsOf(log, known, keys.disowned(logId));
  const signed = keys.signed().filter((one) => one.log === logId);
  const heads = signed.map(({ size, root }) => ({ size, root: Buffer.from(root) }));
  return { known, disownings, seals, signed: heads };
}

function* kept(rows: readonly KeptCheckpoint[]): Generator<NamedCheckpoint> {
  for (const { size, note } of rows) yield { name: `the checkpoint of position ${size}`, size, note };
}

/** Leaves out cosignatures and time stamps of checkpoints whose key was given up. */
function without({ checkpoints, tokens }: Vouchable, givenUp: ReadonlySet<string>): Vouchable {
  const gone = new Set(checkpoints.filter(({ note }) => givenUp.has(note)).map(({ size }) => size));
  return {
    checkpoints: checkpoints.filter(({ size }) => !gone.has(size)),
    tokens: tokens.filter(({ size }) => !gone.has(size)),
  };
}

/** The number of events that a checkpoint states; 0 for a malformed one, which `checkInLog` reports. */
function sizeIn(note: string): number {
  return parseCheckpoint(parseNote(note)?.text ?? '')?.size ?? 0;
}

/** All that are anchored, in order; a few are read at a time. */
async function* textsOf(settings: BlobSettings): AsyncGenerator<NamedCheckpoint> {
  const store = openBlobStore(settings);
  const read = async (some: readonly Anchor[]): Promise<NamedCheckpoint[]> =>
    Promise.all(
      some.map(async ({ name, read }) => {
        const note = await read();
        return { name: anchored(name), size: sizeIn(note), note };
      }),
    );
  try {
    let some: Anchor[] = [];
    for await (const anchor of store.anchors()) {
      some.push(anchor);
      if (some.length < atATime) continue;
      yield* await read(some);
      some = [];
    }
    yield* await read(some);
  } finally {
    store.close();
  }
}

/** The ids of the keys of the log that signed a note. Signatures of witnesses are left out. */
function idsIn(note: string, logId: string): string[] {
  const signatures = parseNote(note)?.signatures ?? [];
  return signatures.filter(({ name }) => name === logId).map(({ id }) => id);
}

function tell(counts: { sound: number; unknown: number; disowned: number }, hasKeys: boolean): string[] {
  const notes: string[] = [];
  if (counts.sound > 0) notes.push(`the log is the one of ${counted(counts.sound, 'signed checkpoint')}`);
  if (counts.unknown > 0) {
    const why = hasKeys ? 'by a key that vault.db does not know' : 'by whatever key';
    notes.push(`checkpoints signed ${why}: ${counts.unknown}; they fit the log`);
  }
  if (counts.disowned > 0) {
    notes.push(`checkpoints that the log is not held against, for their key was given up: ${counts.disowned}`);
  }
  return notes;
}
