import type { Rules, Schema } from '../../config/schema.ts';
import { schemaStream } from '../../events/facts/catalogue.ts';
import { inWords } from '../../events/facts/durations.ts';
import { type Change, type Command, changeOf } from '../../events/facts/log.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import { upgradeLog } from '../../events/log/upgrading.ts';
import { isSealed } from '../../events/proof/seals.ts';
import { type Acceptance, decideAcceptance } from '../../events/service-events/acceptances.ts';
import { createLog, isLog, renewWal, settleLog } from '../../events/store/log-file.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { type Declaration, differenceTo, epochsOf } from '../tables/epochs.ts';
import { logFile, moveIntoPlace, readFileOf, removeDatabase, removeOtherReadFiles, syncPath } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector, type Projector } from '../tables/projector.ts';
import { type LogOpenOptions, openCheckedLog } from '../tables/read-file-checks.ts';
import type { RowMarks } from '../tables/row-marks.ts';
import { removeOtherSearchFiles, searchFileOf } from '../tables/search-tables.ts';
import { projectionHash, tablesOf } from '../tables/tables.ts';
import { backUpBeforeUpgrade, type UpgradeOptions } from './before-upgrade.ts';
import type { Helpers } from './helpers.ts';
import { buildReadFile, catchUp } from './rebuild.ts';
import { afterAll, checkChanges, isUpToDate, requireFit, type SchemaCheck, settledIn } from './schema-check.ts';
import { checkClaims, claimsIn } from './schema-fit.ts';

/** Thrown if the clock is so far behind the last event that one of the two is wrong. */
export class ClockError extends Error {
  override name = 'ClockError';
}

/** A data directory that is open for writing: its log, and the projector of its read file, which has caught up. */
export type BootResult = {
  /** The schema of the configuration, whose collections have their categories. */
  schema: Schema;
  log: SqliteLog;
  projector: Projector;
  readFile: string;
  /** Both files, as they are open for writing. */
  databases: readonly [log: Sqlite, read: Sqlite];
  rebuilt: boolean;
  /** The number of events in the log when it was opened. */
  found: number;
  /** When the last event was recorded. */
  foundAt: string;
  /** The format that the log had when it was opened, if it was an earlier one. */
  upgradedFrom: number | null;
  /** Whether the schema and rules are not recorded yet, see {@link BootOptions.isReplica}. */
  isPending: boolean;
  /** The part of the log that was accepted although this vault had not sealed it. */
  accepted: Acceptance | null;
  /** Closes both files. */
  close: () => void;
};

export type BootOptions = LogOpenOptions &
  SchemaCheck & {
    rules: Rules;
    /** The id of the log, if it has to be made. */
    logId: string;
    /**
     * Why the operator accepts a log that is not sealed; `signedSize` gives the number of events that this vault had
     * signed.
     */
    acceptance?: { reason: string; signedSize: () => number };
    /** Called with the id of the log as soon as its head is sealed. */
    onSealed?: (log: string) => void;
    /**
     * Start even if the clock is behind the last event by more than a day: times then stand still until the clock gets
     * there.
     */
    acceptsClock?: boolean;
    /** The marks of threads that keep rows of the read tables; absent if no thread does. */
    marks?: RowMarks;
    /** Other threads, which help to build a read file. */
    helpers?: Helpers | null;
    /** Build the read file even if there is one. */
    isRebuild?: boolean;
    /** The options for upgrading a log of an earlier format; by default after a backup, silently. */
    upgrading?: UpgradeOptions;
    /**
     * Whether the log is a replica: its commits are durable elsewhere, and the start records no changed schema or rules
     * in it.
     */
    isReplica?: boolean;
  };

/**
 * A small cache, for a commit that has split pages of an index may look at every cached page: that took a tenth to a
 * fifth of the CPU of a batch. A page that is read again is in the cache of the system. `changedMiB` still keeps
 * changes of a large transaction from being written twice.
 */
const writerCache = { cacheMiB: 8, changedMiB: 64 };

/**
 * Opens a data directory for writing: makes the log on first use, checks it against its head, whose seal is the
 * vault's, and against what the read files have seen of it, records a changed schema, and brings the read file up to
 * date, or builds it if this schema has no read file yet. Nothing of the log changes before every check that may refuse
 * it: no format, no seal, no event.
 *
 * @throws BrokenLogError if the log lost events or is damaged; ClockError if the clock is far behind it; SchemaError if
 * documents stand against the new schema, or it changes what they answer and may not.
 */
export function boot(options: BootOptions): BootResult {
  const { directory, progress } = options;
  // The commits of a replica are durable elsewhere.
  if (!options.isReplica) renewWal(logFile(directory));
  const db = openDatabase(logFile(directory), {
    durability: options.isReplica ? 'normal' : 'full',
    shrinks: true,
    ...writerCache,
  });
  let read: Sqlite | null = null;
  const close = () => {
    read?.close();
    db.close();
  };
  try {
    // An error before this is committed leaves the log as it was.
    db.exec('BEGIN IMMEDIATE');
    const plan = planStart(db, options);
    const { log, projection, readFile, accepted, isPending, declared } = plan;
    const { rebuilt, hasOtherClaims } = bringUpReadFile(db, plan, options);
    db.exec('COMMIT');
    // The name of the write-ahead log, too: if the sync of its folder fails, SQLite continues.
    syncPath(directory);
    // Outside of the transaction: a full disk is no reason not to start.
    settleLog(db);
    if (accepted) record(log, commandOf(options, decideAcceptance(accepted), options.acceptance?.reason));
    options.onSealed?.(log.head().log);
    read = openDatabase(readFile, { durability: 'normal', ...writerCache });
    const projector = openProjector(read, projection, { marks: options.marks });
    recordSchema(plan, read, { ids: options.ids, hasOtherClaims });
    catchUp(projector, { log, progress });
    if (!isPending) {
      removeOtherReadFiles(directory, readFile);
      // A search file that was made from other read tables is made anew with them.
      removeOtherSearchFiles(directory, rebuilt ? null : searchFileOf(readFile, declared.schema));
    }
    const { found, foundAt, upgradedFrom } = plan;
    const opened = { schema: declared.schema, log, projector, readFile, databases: [db, read] as const, close };
    return { ...opened, rebuilt, found, foundAt, upgradedFrom, accepted, isPending };
  } catch (error) {
    close();
    throw error;
  }
}

/** A log that passed all checks, and what the start will make of it. */
type StartPlan = Pick<
  BootResult,
  'log' | 'found' | 'foundAt' | 'upgradedFrom' | 'accepted' | 'isPending' | 'readFile'
> & {
  /** The schema, whose collections have their categories, and the rules. */
  declared: Declaration;
  isChanged: boolean;
  hasOtherRules: boolean;
  projection: Projection;
};

/** Upgrades or makes the log, and checks it, inside of the transaction of the start. */
function planStart(db: Sqlite, options: BootOptions): StartPlan {
  const { directory, seals, isReplica = false } = options;
  const upgradedFrom = upgradeLog(db, seals);
  if (!isLog(db)) createLog(db, options.logId, seals.key);
  const log = openCheckedLog(db, options);
  const { size: found, recordedAt: foundAt } = log.head();
  if (!options.acceptsClock) requireClock(foundAt, options.now());
  const epochs = epochsOf(log);
  const { schema } = settledIn(log, epochs, options.schema);
  const declared = { ...options, schema };
  const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), declared);
  // A node is asked when it has to record the schema.
  const acceptsLoss = options.acceptsLoss === true || isReplica;
  if (isChanged) checkChanges({ ...declared, acceptsLoss }, log, epochs);
  // A replica can be made anew.
  if (upgradedFrom !== null && !isReplica)
    backUpBeforeUpgrade(directory, upgradedFrom, options.upgrading ?? { noBackup: false, tell: () => {} });
  const accepted = acceptanceOf(options, log);
  const isPending = isReplica && (isChanged || hasOtherRules);
  const position = isPending ? afterAll : found + (accepted ? 1 : 0) + 1;
  if (isChanged) epochs.push({ position, schema, rules: options.rules });
  const upcaster = compileUpcaster(epochs);
  const projection: Projection = { tables: tablesOf(schema), upcaster, epochs };
  const readFile = readFileOf(directory, projectionHash(schema, upcaster));
  const opened = { log, found, foundAt, upgradedFrom, accepted, isPending };
  return { ...opened, declared, isChanged, hasOtherRules, projection, readFile };
}

/**
 * Brings the read file up to date, or builds it.
 *
 * @returns `hasOtherClaims`: whether new read tables show other unique values than are claimed. Then claims were lost,
 * or renames are read otherwise now.
 */
function bringUpReadFile(
  db: Sqlite,
  { log, declared: { schema }, isChanged, projection, readFile }: StartPlan,
  { progress, helpers, isRebuild, isReplica }: BootOptions,
): { rebuilt: boolean; hasOtherClaims: boolean } {
  if (!isRebuild && isUpToDate(readFile, projection, { log, progress })) {
    if (isChanged) requireFit(log, schema, readFile);
    return { rebuilt: false, hasOtherClaims: false };
  }
  const building = `${readFile}.building`;
  buildReadFile(building, projection, { log, progress, helped: { helpers, db } });
  const hasOtherClaims =
    !isChanged &&
    !isReplica &&
    withDatabase(building, { readonly: true }, (made) => checkClaims(db, claimsIn(made, schema)) !== null);
  if (isChanged || hasOtherClaims) requireFit(log, schema, building);
  removeDatabase(readFile);
  moveIntoPlace(building, readFile);
  return { rebuilt: true, hasOtherClaims };
}

/**
 * Records a changed schema with its claims, or changed rules. The claims come from the read file, which is up to date.
 */
function recordSchema(
  { log, declared, isChanged, hasOtherRules, isPending }: StartPlan,
  read: Sqlite,
  { ids, hasOtherClaims }: Pick<BootOptions, 'ids'> & { hasOtherClaims: boolean },
): void {
  const command = () => commandOf({ ids }, schemaChange(log, declared));
  if ((isChanged && !isPending) || hasOtherClaims) log.changeSchema(command(), claimsIn(read, declared.schema));
  // The schema is the same, so the claims and the read tables are too.
  else if (hasOtherRules && !isPending) record(log, command());
}

/**
 * The command that records a schema and rules, for a log whose read tables and claims stay as they are.
 *
 * @param log the log as it is.
 */
export function schemaCommand(log: LogReader, declared: Declaration & Pick<BootOptions, 'ids'>): Command {
  return commandOf(declared, schemaChange(log, declared));
}

/** The part of the log that the operator accepts; null if the vault has sealed the log. */
function acceptanceOf({ seals, acceptance }: BootOptions, log: LogReader): Acceptance | null {
  const head = log.head();
  if (!acceptance || isSealed(seals.key, head)) return null;
  return { from: acceptance.signedSize() || null, to: head.size };
}

const dayMilliseconds = 24 * 3600 * 1000;

function requireClock(recordedAt: string, now: number): void {
  const ahead = (Date.parse(recordedAt) || 0) - now;
  if (ahead <= dayMilliseconds) return;
  throw new ClockError(
    `the last event was recorded at ${recordedAt}, and the clock of this machine says ${new Date(now).toISOString()}, ` +
      `${inWords(ahead)} before: set the clock right; if it is right now, and was wrong when that was recorded, ` +
      'annals clock correct has the log go on with right times (--accept-clock starts all the same: times stand still then ' +
      'until the clock has come there)',
  );
}

function record(log: SqliteLog, command: Command): void {
  const [outcome] = log.append([command]).outcomes;
  if (outcome instanceof Error) throw outcome;
}

function commandOf({ ids }: Pick<BootOptions, 'ids'>, change: Change, reason?: string): Command {
  const context = reason === undefined ? {} : { reason };
  return { ...change, actor: { type: 'system' }, correlationId: ids.next().id, context };
}

function schemaChange(log: LogReader, { schema, rules }: Declaration): Change {
  return changeOf(schemaStream, [{ type: 'schema.changed', data: { schema, rules } }], log.versionOf(schemaStream));
}
