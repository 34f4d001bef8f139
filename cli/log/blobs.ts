import { counted } from '../../config/counted.ts';
import { type LogReader, readLog } from '../../events/log/log-reader.ts';
import { readReplicaMark } from '../../events/replica/replica-mark.ts';
import { openTail, readNamings } from '../../events/service-events/blobs.ts';
import { fileKey, lossesOf } from '../../events/service-events/losses.ts';
import {
  BrokenLogError,
  formatOf,
  isLog,
  openLogToRead,
  renewWal,
  sealFinding,
  settleLog,
  wayOut,
} from '../../events/store/log-file.ts';
import { withVault } from '../../events/vault/vault.ts';
import { logFile } from '../../projections/tables/files.ts';
import { checkAgainstReadFiles, checkAgainstSeen, checkpointsIn } from '../../projections/tables/read-file-checks.ts';
import { createCollector, maxCandidates } from '../../server/files/blobs/collector.ts';
import { maxSuspects } from '../../server/files/blobs/losses.ts';
import { createPins } from '../../server/files/blobs/pins.ts';
import { blobSettingsOf, storeName } from '../../server/files/blobs/store.ts';
import {
  type FileProblem,
  type HeldFile,
  holdingsOf,
  type StoreVerdict,
  verifyStore,
} from '../../server/files/blobs/verify.ts';
import { showProgress } from '../../server/platform/progress.ts';
import type { RemovalResult } from '../../server/ports.ts';
import { briefHolders } from '../../server/running/directory.ts';
import type { CommandLine } from '../../server/settings/command.ts';
import { loadConfiguration } from '../../server/settings/configuration.ts';
import { type Settings, UsageError } from '../../server/settings/settings.ts';
import { openBlobStore } from '../../storage/blob-store.ts';
import type { BlobSettings, BlobStore } from '../../storage/blobs.ts';
import { lockDirectory } from '../../storage/lock.ts';
import { type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { existingLog, readableLog, startErrorOf } from '../data-directory.ts';
import { CallError } from '../errors.ts';
import type { verifyBlobsFlags } from '../flags.ts';
import { existingVault, readReason } from '../held-directory.ts';
import { callAsOperator, callOrDoAlone, type OperatorAnswer, reportRefusal } from '../operator-connection.ts';
import { printLine } from '../terminal.ts';

/** A log and the store of its files, both open. */
type OpenStore = {
  settings: Settings;
  directory: string;
  blobSettings: BlobSettings;
  db: Sqlite;
  log: LogReader;
  blobs: BlobStore;
};

/** The number of names shown without --names. */
const shown = 20;

/** `annals blobs gc [--dry-run] [--names]`: exit 0 done, 1 refused, 2 could not run. Prints what was removed. */
export async function collectBlobs({
  settings,
  flags,
}: CommandLine<{ 'dry-run': 'boolean'; names: 'boolean' }>): Promise<number> {
  return withStore(settings, flags['dry-run'] === true, async (opened) => {
    const { blobSettings, log, blobs } = opened;
    requireVaulted(opened);
    // A store of another log is full of files that this one does not name.
    if (!flags['dry-run'] || blobSettings.kind === 'bucket') await blobs.prepare(log.head().log);
    const candidates = await findCandidates(opened);
    if (flags['dry-run']) {
      const names = [...candidates.unnamed.keys()];
      printNames(names, flags.names ? names.length : shown);
      return printLine(`would remove ${amount(candidates.unnamed, names)} from ${storeName(blobSettings)}`);
    }
    return collect(opened, candidates, flags.names === true);
  });
}

/** Files that no event names, with their sizes, as of a position of the log; `refresh` reads on from there. */
type UnnamedFiles = { unnamed: Map<string, number>; refresh: () => number };

async function findCandidates({ db, log, blobs }: OpenStore): Promise<UnnamedFiles> {
  let position = log.head().size;
  const named = new Set<string>();
  for (const { sha256 } of readNamings(db, 0, position, showProgress('reading the log'))) named.add(sha256);
  const unnamed = new Map<string, number>();
  for await (const { sha256, size } of blobs.list()) if (!named.has(sha256)) unnamed.set(sha256, size);

  /** Drops files that an event names by now, so that the service is not asked about them. */
  function refresh(): number {
    const { size } = log.head();
    for (const { sha256 } of readNamings(db, position, size)) unnamed.delete(sha256);
    position = size;
    return position;
  }
  refresh();
  return { unnamed, refresh };
}

async function collect(opened: OpenStore, { unnamed, refresh }: UnnamedFiles, withNames: boolean): Promise<number> {
  const sizes = new Map(unnamed);
  const removed: string[] = [];
  const held: RemovalResult['held'] = [];
  const progress = showProgress('removing files');
  const tell = (end: string) => {
    if (withNames) printNames(removed, removed.length);
    printLine(`removed ${amount(sizes, removed)} ${end}`);
  };
  const tellOfSome = () => {
    if (removed.length > 0) tell('before this');
  };
  for (;;) {
    const position = refresh();
    const batch = [...unnamed.keys().take(maxCandidates)];
    if (batch.length === 0) break;
    const answered = await orTell(removeUnnamed(opened, position, batch), tellOfSome);
    const { body } = answered;
    if (answered.status >= 300 || !isCollected(body)) return reportRefusal(answered);
    removed.push(...body.removed);
    held.push(...body.held);
    for (const sha256 of batch) unnamed.delete(sha256);
    progress(sizes.size - unnamed.size, sizes.size);
  }
  const kept = sizes.size - removed.length - held.length;
  const needed = kept === 0 ? '' : `; ${counted(kept, 'is', 'are')} needed by now`;
  tell(`from ${storeName(opened.blobSettings)}${needed}`);
  for (const { sha256, because } of held) printLine(`${sha256} stays: ${because}`);
  return held.length === 0 ? 0 : 1;
}

/** Tells what was done before the service fails or refuses. */
async function orTell(asking: Promise<OperatorAnswer>, tellOfSome: () => void): Promise<OperatorAnswer> {
  const answered = await asking.catch((error) => {
    tellOfSome();
    throw error;
  });
  if (answered.status >= 300) tellOfSome();
  return answered;
}

function isCollected(body: object): body is RemovalResult {
  return 'removed' in body && 'held' in body;
}

/** Removes files through the running service, which knows the uploads in progress; without a service there are none. */
function removeUnnamed(opened: OpenStore, position: number, sha256: string[]): Promise<OperatorAnswer> {
  const { settings, directory, blobSettings, db, blobs } = opened;
  const store = storeName(blobSettings);
  const order = { path: '/api/operator/blobs/collect', body: { store, position, sha256 } };
  return callOrDoAlone(settings, order, async () => {
    // Taken for each batch, without waiting: a service that keeps the lock would take most of the time.
    const lock = lockDirectory(directory, briefHolders.collect, 0);
    try {
      // Other nodes may be storing files.
      if (readReplicaMark(directory) !== null) throw new CallError(ofNode);
      // Whether the last batch of a writer was recorded, only the one writer of the log can settle: this process now.
      renewWal(logFile(directory));
      withDatabase(logFile(directory), { durability: 'full', cacheMiB: 1 }, settleLog);
      const { remove } = blobs;
      const ready = async () => {};
      const removing = createCollector({ store, remove, ready, pins: createPins(), isNamed: openTail(db) });
      return { status: 200, body: await removing({ store, position, sha256 }) };
    } finally {
      lock.release();
    }
  });
}

const ofNode = 'this is the directory of a node, which has to run: only then it knows of uploads to other nodes';

/** `annals blobs verify [--record --reason TEXT]`: exit 0 sound, 1 missing or altered, 2 could not run. */
export async function verifyBlobs({ settings, flags }: CommandLine<typeof verifyBlobsFlags>): Promise<number> {
  if (!flags.record) refuseWithoutRecord(flags);
  const reason = flags.record ? readReason(flags.reason, 'why files are lost') : null;
  return withStore(settings, !flags.record, async (opened) => {
    const { blobSettings, db, blobs } = opened;
    const progress = { log: showProgress('reading the log'), files: showProgress('reading the files, in bytes') };
    const verdict = await verifyStore(db, blobs, progress);
    const { stored, unnamed, needed, problems } = verdict;
    const store = storeName(blobSettings);
    printLine(`checked ${amount(stored, [...stored.keys()])} in ${store}`);
    if (unnamed.length > 0)
      printLine(`note: no event names ${amount(stored, unnamed)}; annals blobs gc removes such files`);
    if (stored.size === 0 && needed > 0) printLine(`note: ${store} holds no file at all: is it the right one?`);
    for (const problem of problems) printLine(textOf(problem));
    if (reason !== null) {
      const refused = await record(opened, verdict, reason);
      if (refused !== null) return refused;
    } else if (suspectsOf(opened, verdict).some(({ state }) => state === 'missing')) {
      printLine('note: the log does not say that what is missing is lost: --record --reason TEXT puts that on record');
    }
    // A file that a document needs comes first.
    const worst = problems.find(({ namedBy }) => namedBy !== '') ?? problems[0];
    if (!worst) {
      return printLine(`sound: every file is what it was, and none of the ${needed} that the log needs is missing`);
    }
    const others = problems.length - 1;
    const more = `; ${counted(others, 'more file is', 'more files are')} missing or altered`;
    printLine(`NOT SOUND: ${textOf(worst)}${others === 0 ? '' : more}`);
    return 1;
  });
}

/** The files about which log and store differ: missing ones, and lost ones that were found again. */
function suspectsOf({ db, log }: OpenStore, verdict: StoreVerdict): HeldFile[] {
  const lost = lossesOf(log);
  if (lost.size + verdict.problems.length === 0) return [];
  return [...holdingsOf(db, verdict)].filter(({ state, ...file }) =>
    lost.has(fileKey(file)) ? state === 'sound' : state === 'missing',
  );
}

/** The messages for flags that have no meaning without --record. */
const withoutRecord: Record<string, string> = {
  reason: 'without it nothing is written',
  config: 'without it nothing is written, and the configuration is not read',
  'accept-clock': 'without it nothing is written, whatever the clock says',
};

function refuseWithoutRecord(flags: Record<string, unknown>): void {
  const given = Object.entries(withoutRecord).filter(([name]) => flags[name] !== undefined);
  if (given.length > 0)
    throw new UsageError(given.map(([name, why]) => `--${name} goes with --record: ${why}`).join('\n'));
}

/** Records lost and found files through the service. Gives the exit code if it refuses. */
async function record(opened: OpenStore, verdict: StoreVerdict, reason: string): Promise<number | null> {
  const { settings, blobSettings } = opened;
  const suspects = suspectsOf(opened, verdict).map(({ stream, version }) => ({ stream, version }));
  const loaded = suspects.length > 0 ? await loadConfiguration(settings.config) : null;
  const recorded = { lost: 0, found: 0, erased: 0 };
  const tell = (end: string) => {
    const { lost, found, erased } = recorded;
    const again = found === 0 ? '' : ` and ${counted(found, 'file')} as found again`;
    const gone = erased === 0 ? '' : `; ${counted(erased, 'file is', 'files are')} erased by now`;
    printLine(`recorded ${counted(lost, 'file')} as lost${again}${end}${gone}`);
  };
  const tellOfSome = () => {
    if (recorded.lost + recorded.found > 0) tell(' before this');
  };
  for (let at = 0; loaded && at < suspects.length; at += maxSuspects) {
    const body = { store: storeName(blobSettings), reason, files: suspects.slice(at, at + maxSuspects) };
    const order = { path: '/api/operator/blobs/losses', body };
    const answered = await orTell(callAsOperator({ settings, loaded }, order), tellOfSome);
    if (answered.status >= 300) return reportRefusal(answered);
    recorded.lost += Number(answered.body.lost);
    recorded.found += Number(answered.body.found);
    recorded.erased += Number(answered.body.erased);
  }
  tell('');
  return null;
}

function textOf({ sha256, what, namedBy }: FileProblem): string {
  return `${sha256} is ${what}${namedBy}`;
}

async function withStore(
  settings: Settings,
  isReading: boolean,
  run: (opened: OpenStore) => Promise<number>,
): Promise<number> {
  const { directory, done } = isReading
    ? readableLog(settings, { withTables: true })
    : { directory: existingLog(settings), done: () => {} };
  const blobSettings = blobSettingsOf(settings);
  const blobs = openBlobStore(blobSettings);
  let db: Sqlite | null = null;
  try {
    db = openLogToRead(logFile(directory));
    return await run({ settings, directory, blobSettings, db, log: openSoundly(db, directory), blobs });
  } catch (error) {
    throw startErrorOf(error, (message) => `${message}; annals verify says more about the log`);
  } finally {
    blobs.close();
    db?.close();
    done();
  }
}

/** Opens a log, unless it has lost events: it might not name all files that are needed. */
function openSoundly(db: Sqlite, directory: string): LogReader {
  if (!isLog(db)) throw new BrokenLogError('log.db is empty');
  const witnesses = checkpointsIn(directory);
  const log = readLog(db);
  checkAgainstReadFiles(witnesses, log);
  return log;
}

/**
 * Requires the seal of the vault: a log that another program wrote to, or cut, must not decide which files are removed.
 */
function requireVaulted({ directory, db, log }: OpenStore): void {
  const { seals, signed } = withVault(existingVault(directory), (keys, seals) => ({ seals, signed: keys.signed() }));
  checkAgainstSeen(directory, log, signed);
  const finding = sealFinding(formatOf(db), log.head(), seals);
  if (finding !== null) throw new BrokenLogError(`${finding}; ${wayOut}`);
}

function printNames(names: readonly string[], most: number): void {
  for (const name of names.slice(0, most)) printLine(name);
  if (names.length > most) printLine(`and ${names.length - most} more, which --names shows`);
}

function amount(sizes: ReadonlyMap<string, number>, names: readonly string[]): string {
  const bytes = names.reduce((sum, name) => sum + (sizes.get(name) ?? 0), 0);
  return `${counted(names.length, 'file')} (${counted(bytes, 'byte')})`;
}
