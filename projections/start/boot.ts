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
import { type Declared, differenceTo, epochsOf } from '../tables/epochs.ts';
import { logFile, moveIntoPlace, readFileOf, removeDatabase, removeOtherReadFiles, syncPath } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector, type Projector } from '../tables/projector.ts';
import { type Opening, openCheckedLog } from '../tables/read-file-checks.ts';
import type { RowMarks } from '../tables/row-marks.ts';
import { removeOtherSearchFiles, searchFileOf } from '../tables/search-tables.ts';
import { projectionHash, tablesOf } from '../tables/tables.ts';
import { backUpBeforeUpgrade, type Upgrading } from './before-upgrade.ts';
import type { Helpers } from './helpers.ts';
import { buildReadFile, catchUp } from './rebuild.ts';
import { afterAll, isUpToDate, type Looking, lookAtChanges, requireFit, settledIn } from './schema-check.ts';
import { checkClaims, claimsIn } from './schema-fit.ts';

/** Thrown when the clock is so far behind the last event that one of the two is wrong. */
export class ClockError extends Error {
  override name = 'ClockError';
}

/** A data directory that takes writes: its log, and the projector of its read file, which has caught up. */
export type Booted = {
  /** That of the configuration, whose collections have their categories. */
  schema: Schema;
  log: SqliteLog;
  projector: Projector;
  readFile: string;
  /** Both files, as they are open for writing. */
  databases: readonly [log: Sqlite, read: Sqlite];
  rebuilt: boolean;
  /** Events in the log when it was opened. */
  found: number;
  /** When the last of them was recorded. */
  foundAt: string;
  /** The format that the log had when it was opened, where it was one before this. */
  upgradedFrom: number | null;
  /** Whether the log is still to get the schema and rules, as {@link BootOptions.isReplica} says. */
  isPending: boolean;
  /** The part of the log that was taken as it was, where this vault had not sealed it. */
  accepted: Acceptance | null;
  /** Closes both files. */
  close: () => void;
};

export type BootOptions = Opening &
  Looking & {
    rules: Rules;
    /** Names the log if it has to be made. */
    logId: string;
    /**
     * Why a log is taken that they have not sealed, where they accept it; `signedSize` says how many events this vault
     * had signed.
     */
    acceptance?: { reason: string; signedSize: () => number };
    /** Told the id of the log as soon as its head is sealed. */
    onSealed?: (log: string) => void;
    /**
     * Go on where the clock is behind the last event by more than a day: times stand still then until it has come
     * there.
     */
    acceptsClock?: boolean;
    /** Those of threads that keep rows of the read tables; absent where none does. */
    marks?: RowMarks;
    /** Other threads, for a read file that is built anew. */
    helpers?: Helpers | null;
    /** Build the read file anew even if there is one. */
    isRebuild?: boolean;
    /** How its log is brought to this format, if it has one before it; by default after a backup, silently. */
    upgrading?: Upgrading;
    /**
     * Whether the log is a replica: its commits are durable elsewhere, and a changed schema, or changed rules, are not
     * recorded here.
     */
    isReplica?: boolean;
  };

/**
 * Small, for a commit that has split pages of an index may look at every page in the cache: that took a tenth to a
 * fifth of the CPU of a batch. A page that is read again is in the cache of the system. Changes of a large transaction
 * are not written twice all the same.
 */
const writerCache = { cacheMiB: 8, changedMiB: 64 };

/**
 * Opens a data directory for writing: makes the log on first use, checks it against its head, whose seal is that of the
 * vault, and against what the read files have seen of it, records a changed schema, and brings the read file up to
 * date, building it anew if this schema has no read file yet. Nothing of the log changes before every check that may
 * refuse it: no format, no seal, no event.
 *
 * @throws BrokenLogError when the log lost events or is damaged; ClockError when the clock is far behind it;
 * SchemaError when documents stand against the new schema, or it changes what they answer and may not.
 */
export function boot(options: BootOptions): Booted {
  const { directory, seals, progress } = options;
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
    const upgradedFrom = upgradeLog(db, seals);
    if (!isLog(db)) createLog(db, options.logId, seals.key);
    const log = openCheckedLog(db, options);
    const { size: found, recordedAt: foundAt } = log.head();
    if (!options.acceptsClock) requireClock(foundAt, options.now());
    const epochs = epochsOf(log);
    const { schema } = settledIn(log, epochs, options.schema);
    const declared = { ...options, schema };
    const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), declared);
    // A node is asked when it is to record it.
    const acceptsLoss = options.acceptsLoss === true || options.isReplica === true;
    if (isChanged) lookAtChanges({ ...declared, acceptsLoss }, log, epochs);
    // A replica can be made anew.
    if (upgradedFrom !== null && !options.isReplica)
      backUpBeforeUpgrade(directory, upgradedFrom, options.upgrading ?? { noBackup: false, tell: () => {} });
    const accepted = acceptanceOf(options, log);
    const isPending = options.isReplica === true && (isChanged || hasOtherRules);
    const position = isPending ? afterAll : found + (accepted ? 1 : 0) + 1;
    if (isChanged) epochs.push({ position, schema, rules: options.rules });
    const upcaster = compileUpcaster(epochs);
    const projection: Projection = { tables: tablesOf(schema), upcaster, epochs };
    const readFile = readFileOf(directory, projectionHash(schema, upcaster));
    const rebuilt = options.isRebuild === true || !isUpToDate(readFile, projection, { log, progress });
    // Read tables that are made anew may show other unique values than are claimed: claims were lost, or renames are
    // read otherwise now.
    let hasOtherClaims = false;
    if (rebuilt) {
      const building = `${readFile}.building`;
      buildReadFile(building, projection, { log, progress, helped: { helpers: options.helpers, db } });
      hasOtherClaims =
        !isChanged &&
        !options.isReplica &&
        withDatabase(building, { readonly: true }, (made) => checkClaims(db, claimsIn(made, schema)) !== null);
      if (isChanged || hasOtherClaims) requireFit(log, schema, building);
      removeDatabase(readFile);
      moveIntoPlace(building, readFile);
    } else if (isChanged) requireFit(log, schema, readFile);

    db.exec('COMMIT');
    // The name of the write-ahead log, too: where the sync of its folder fails, SQLite goes on.
    syncPath(directory);
    // By itself: a disk that is full is no reason not to start.
    settleLog(db);
    if (accepted) record(log, commandOf(options, decideAcceptance(accepted), options.acceptance?.reason));
    options.onSealed?.(log.head().log);
    read = openDatabase(readFile, { durability: 'normal', ...writerCache });
    const projector = openProjector(read, projection.tables, upcaster, { marks: options.marks });
    // The claims are taken from it, which has every event.
    if ((isChanged && !isPending) || hasOtherClaims)
      log.changeSchema(commandOf(options, schemaChange(log, declared)), claimsIn(read, schema));
    // The schema is the same, so its claims and the read tables are too: nothing is looked at again.
    else if (hasOtherRules && !isPending) record(log, commandOf(options, schemaChange(log, declared)));
    catchUp(projector, { log, progress });
    // The former schema is that of the log still.
    if (!isPending) removeOtherReadFiles(directory, readFile);
    // One that was made from other read tables is made anew with them.
    if (!isPending) removeOtherSearchFiles(directory, rebuilt ? null : searchFileOf(readFile, schema));
    const databases = [db, read] as const;
    return {
      schema,
      log,
      projector,
      readFile,
      databases,
      rebuilt,
      found,
      foundAt,
      upgradedFrom,
      accepted,
      isPending,
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * The command that records a schema and rules, for a log whose read tables and claims stay as they are.
 *
 * @param log the log as it is.
 */
export function schemaCommand(log: LogReader, declared: Declared & Pick<BootOptions, 'ids'>): Command {
  return commandOf(declared, schemaChange(log, declared));
}

/** The part of the log that the operator takes as it is; null where the vault has sealed it. */
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

function schemaChange(log: LogReader, { schema, rules }: Declared): Change {
  return changeOf(schemaStream, [{ type: 'schema.changed', data: { schema, rules } }], log.versionOf(schemaStream));
}
