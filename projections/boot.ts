import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type Rules, type Schema } from '../config/schema.ts';
import { type Acceptance, decideAcceptance } from '../events/acceptances.ts';
import { documentStream, schemaStream } from '../events/catalogue.ts';
import { claimOf, uniqueFields } from '../events/claims.ts';
import { inWords } from '../events/durations.ts';
import type { Ids } from '../events/ids.ts';
import type { Change, Claim, Command } from '../events/log.ts';
import { BrokenLogError, createLog, isLog, settleLog, UnsealedError, upgradeLog } from '../events/log-file.ts';
import type { SignedHead } from '../events/log-keys.ts';
import { type LogReader, readLog } from '../events/log-reader.ts';
import type { TreeHead } from '../events/proofs.ts';
import { isSealed, type Seals } from '../events/seals.ts';
import { openLog, type SqliteLog } from '../events/sqlite-log.ts';
import { compileUpcaster, type Epoch } from '../events/upcasters.ts';
import { contradiction } from '../events/witnesses.ts';
import { messageOf } from '../storage/errors.ts';
import { isDamage, openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { lookInto, moveIntoPlace, readFileOf, removeDatabase, removeOtherReadFiles } from './files.ts';
import { locateIn, standsAgainst } from './fit.ts';
import { type Checkpoint, openProjector, type Projector } from './projector.ts';
import { buildReadFile, catchUp, type Progress, type Projection } from './rebuild.ts';
import { changesIn, questionsAbout } from './schema-changes.ts';
import { projectionHash, quote, type Tables, tablesOf } from './tables.ts';

/** Thrown when the configuration does not fit the documents that are there, or changes what may not change; one problem per line. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

/** Thrown when the clock is so far behind the last event that one of the two is wrong. */
export class ClockError extends Error {
  override name = 'ClockError';
}

/** A data directory that takes writes: its log, and the projector of its read file, which has caught up. */
export type Booted = {
  log: SqliteLog;
  projector: Projector;
  readFile: string;
  rebuilt: boolean;
  /** Events in the log when it was opened. */
  found: number;
  /** The format that the log had when it was opened, where it was one before this. */
  upgradedFrom: number | null;
  /** What was taken as it was, where the log was not sealed by this vault. */
  accepted: Acceptance | null;
  /** Closes both files. */
  close: () => void;
};

/** A read file's name and checkpoint. */
export type Witness = Checkpoint & { name: string };

export type BootOptions = {
  directory: string;
  schema: Schema;
  rules: Rules;
  ids: Ids;
  now: () => number;
  /** Names the log if it has to be made. */
  logId: string;
  /** What its head is sealed with. */
  seals: Seals;
  /** Why a log is taken that they have not sealed, where they accept it; `signedSize` says how many events this vault had signed. */
  acceptance?: { reason: string; signedSize: () => number };
  /** Told the id of the log as soon as its head is sealed. */
  onSealed?: (log: string) => void;
  /** What the keys of logs have signed. */
  signed?: readonly SignedHead[];
  /** Go on where the clock is behind the last event by more than a day: times stand still then until it has come there. */
  acceptsClock?: boolean;
  /** Build the read file anew even if there is one. */
  isRebuild?: boolean;
  /** Refuse a schema that changes what documents answer. */
  isStrict?: boolean;
  /** Told what a changed schema does to documents, a line each, before it is recorded. */
  onChanges?: (lines: readonly string[]) => void;
  progress?: Progress;
};

/**
 * Opens a data directory for writing: makes the log on first use, checks it against its head, whose seal is that of the vault, and
 * against what the read files have seen of it, records a changed schema, and brings the read file up to date, building it anew when there is
 * none for this schema. The log is not changed before all has been looked at that may refuse: no format, no seal, no event.
 *
 * @throws BrokenLogError when the log lost events or is damaged; ClockError when the clock is far behind it; SchemaError when
 *   documents stand against the new schema, or it changes what they answer and may not.
 */
export function boot(options: BootOptions): Booted {
  const { directory, schema, seals, progress } = options;
  const db = openDatabase(logFile(directory), { durability: 'full', cacheMiB: 64 });
  let read: Sqlite | null = null;
  const close = () => {
    read?.close();
    db.close();
  };
  try {
    // What is thrown until this is committed leaves the log as it was.
    db.exec('BEGIN IMMEDIATE');
    const upgradedFrom = upgradeLog(db, seals);
    if (!isLog(db)) createLog(db, options.logId, seals.key);
    const log = openHeard(db, options);
    const found = log.head().size;
    if (!options.acceptsClock) requireClock(log.head().recordedAt, options.now());
    const epochs = epochsOf(log);
    const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), options);
    if (isChanged) lookAtChanges(options, log, epochs);
    const accepted = acceptanceOf(options, log);
    const position = found + (accepted ? 1 : 0) + 1;
    if (isChanged) epochs.push({ position, schema, rules: options.rules });
    const upcaster = compileUpcaster(epochs);
    const projection: Projection = { tables: tablesOf(schema), upcaster };
    const readFile = readFileOf(directory, projectionHash(schema, upcaster));
    const rebuilt = options.isRebuild === true || !isUpToDate(readFile, log, projection, progress);
    if (rebuilt) {
      buildReadFile(`${readFile}.building`, log, found, projection, progress);
      if (isChanged) requireFit(log, schema, `${readFile}.building`);
      removeDatabase(readFile);
      moveIntoPlace(`${readFile}.building`, readFile);
    } else if (isChanged) requireFit(log, schema, readFile);

    db.exec('COMMIT');
    // By itself: a disk that is full is no reason not to start.
    settleLog(db);
    if (accepted) record(log, options, decideAcceptance(accepted), options.acceptance?.reason);
    options.onSealed?.(log.head().log);
    read = openDatabase(readFile, { durability: 'normal', cacheMiB: 64 });
    const projector = openProjector(read, projection.tables, upcaster);
    // The claims are taken from it, which has every event.
    if (isChanged) log.changeSchema(commandOf(options, schemaChange(log, options)), claimsIn(read, schema));
    // The schema is the same, so its claims and the read tables are too: nothing is looked at again.
    else if (hasOtherRules) record(log, options, schemaChange(log, options));
    catchUp(projector, log, log.head().size, progress);
    removeOtherReadFiles(directory, readFile);
    return { log, projector, readFile, rebuilt, found, upgradedFrom, accepted, close };
  } catch (error) {
    close();
    throw error;
  }
}

/** What the operator takes as it is; null where the vault has sealed it. */
function acceptanceOf({ seals, acceptance }: BootOptions, log: LogReader): Acceptance | null {
  const head = log.head();
  if (!acceptance || isSealed(seals.key, head)) return null;
  return { from: acceptance.signedSize() || null, to: head.size };
}

/** The schema and the rules that a configuration declares. */
export type Declared = { schema: Schema; rules: Rules };

/** What a log says held from a position on; `rules` is null in a log from before they were recorded. */
export type RecordedEpoch = Epoch & { rules: Rules | null };

/**
 * How a configuration differs from what a log ends with: by its schema, or by its rules.
 *
 * @param last undefined where the log has no schema yet.
 */
export function differenceTo(last: RecordedEpoch | undefined, { schema, rules }: Declared) {
  const isChanged = JSON.stringify(last?.schema) !== JSON.stringify(schema);
  return { isChanged, hasOtherRules: JSON.stringify(last?.rules) !== JSON.stringify(rules) };
}

/** While the read tables are those of the schema before: what is gone from the new one is in no others. */
function lookAtChanges(options: BootOptions, log: LogReader, epochs: Epoch[]): void {
  const { directory, schema, isStrict, onChanges, progress } = options;
  const before = epochs.at(-1)?.schema;
  if (!before || questionsAbout(before, schema).length === 0) return;
  const look = (db: Sqlite) => {
    const changes = changesIn(db, before, schema);
    const isRefused = isStrict && changes.length > 0;
    return { changes, problems: isRefused ? standsAgainst(db, schema, log.holderOf, locateIn(before, schema)) : [] };
  };
  const made: Projection = { tables: tablesOf(before), upcaster: compileUpcaster(epochs) };
  const file = readFileOf(directory, projectionHash(before, made.upcaster));
  let found = isUpToDate(file, log, made, progress) ? lookInto(file, look) : null;
  if (!found) {
    buildReadFile(`${file}.building`, log, log.head().size, made, progress);
    removeDatabase(file);
    // A start that is refused is tried again, and finds it.
    moveIntoPlace(`${file}.building`, file);
    found = lookInto(file, look);
  }
  const { changes, problems } = found ?? { changes: [], problems: [] };
  if (changes.length === 0) return;
  if (isStrict) throw new SchemaError([refusal, ...problems, ...changes].join('\n'));
  onChanges?.(changes);
}

const refusal =
  'strictSchema (--strict-schema, ANNALS_STRICT_SCHEMA) refuses what the configuration changes for documents; nothing was recorded:';

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

type Heard = Pick<BootOptions, 'directory' | 'ids' | 'now' | 'seals' | 'signed'>;

/**
 * Opens the log of a directory for appending, and holds it against all that has seen it. Where it is not sealed as well, what they say
 * comes first: they know where it was altered.
 *
 * @throws BrokenLogError when it is damaged, or not the log that it was.
 */
export function openHeard(db: Sqlite, { directory, ids, now, seals, signed }: Heard): SqliteLog {
  try {
    const log = openLog(db, { ids, now, seals });
    hearAll(directory, log, signed);
    return log;
  } catch (error) {
    if (error instanceof UnsealedError) hearAll(directory, readLog(db), signed);
    throw error;
  }
}

/**
 * Holds the log of a directory against what its read files have seen of it, and against what the keys of logs have signed.
 *
 * @throws BrokenLogError when it is not that log any more.
 */
export function hearAll(directory: string, log: LogReader, signed: readonly SignedHead[] = []): void {
  const own = signed.filter((head) => head.log === log.head().log);
  hearWitnesses([...checkpointsIn(directory), ...own.map(witnessOf)], log, () =>
    log.signedHeads(own.map(({ key }) => key)),
  );
}

function witnessOf({ size, root }: SignedHead): Witness {
  return { name: 'the signing key', position: size, root: Buffer.from(root) };
}

/** The log's path in a data directory. */
export function logFile(directory: string): string {
  return join(directory, 'log.db');
}

/**
 * Every schema the log has had, oldest first, with the position from which it held.
 *
 * @throws BrokenLogError when an event does not hold one.
 */
export function epochsOf(log: LogReader): RecordedEpoch[] {
  return log.stream(schemaStream).map(({ header: { position }, data }) => {
    const schema = data?.schema as Schema | undefined;
    if (!Array.isArray(schema?.collections) || !Array.isArray(schema.globals)) {
      throw new BrokenLogError(`event ${position} does not hold the schema that it recorded`);
    }
    const rules = data?.rules;
    return { position, schema, rules: isObject(rules) ? (rules as Rules) : null };
  });
}

/** What the read files of a directory have seen of the log, whatever schema they were made for. */
export function checkpointsIn(directory: string): Witness[] {
  return readdirSync(directory)
    .filter((name) => /^read-[0-9a-f]+\.db$/.test(name))
    .flatMap((name) => {
      const checkpoint = checkpointOf(join(directory, name));
      return checkpoint ? [{ name, ...checkpoint }] : [];
    });
}

/**
 * Holds the log against the read files: each remembers a position and the root of the tree there. A log that is shorter,
 * or has another root, lost acknowledged writes, which SQLite itself cannot notice.
 *
 * @param signed gives heads that were signed: where the log was altered they tell between which of them.
 * @throws BrokenLogError when it did.
 */
export function hearWitnesses(
  witnesses: readonly Witness[],
  log: LogReader,
  signed: () => readonly TreeHead[] = () => [],
): void {
  const { size } = log.head();
  const heads = witnesses.map(({ position, ...witness }) => ({ ...witness, size: position }));
  for (const head of heads) {
    const finding = contradiction(log, size, head, () => [...heads, ...signed()]);
    if (finding !== null) throw new BrokenLogError(finding);
  }
}

/** Null when the file is damaged: then it can bear witness to nothing. */
function checkpointOf(path: string): Checkpoint | null {
  return lookInto(path, (db) => {
    const rows = db.prepare<[], Checkpoint>('SELECT position, root FROM checkpoint').all();
    return rows.length === 1 ? (rows[0] ?? null) : null;
  });
}

/**
 * Brings a read file up to date. False when it is missing or damaged: it is disposable, so it is built anew rather than
 * stopping the start.
 */
function isUpToDate(path: string, log: LogReader, made: Projection, progress?: Progress): boolean {
  if (!existsSync(path) || !checkpointOf(path)) return false;
  const db = openDatabase(path, { durability: 'normal', cacheMiB: 64 });
  try {
    if (!hasCounts(db, made.tables)) return false;
    catchUp(openProjector(db, made.tables, made.upcaster), log, log.head().size, progress);
    return true;
  } catch (error) {
    if (isDamage(error)) return false;
    throw error;
  } finally {
    db.close();
  }
}

function hasCounts(db: Sqlite, tables: readonly Tables[]): boolean {
  const keys = new Set(db.prepare('SELECT key FROM counts').pluck().all());
  return tables.every(({ key }) => keys.has(key));
}

function requireFit(log: LogReader, schema: Schema, readFile: string): void {
  const db = openDatabase(readFile, { readonly: true });
  try {
    const problems = standsAgainst(db, schema, log.holderOf);
    if (problems.length > 0) throw new SchemaError(problems.join('\n'));
  } finally {
    db.close();
  }
}

function record(log: SqliteLog, options: BootOptions, change: Change, reason?: string): void {
  const [outcome] = log.append([commandOf(options, change, reason)]).outcomes;
  if (outcome instanceof Error) throw outcome;
}

function commandOf({ ids }: BootOptions, change: Change, reason?: string): Command {
  const context = reason === undefined ? {} : { reason };
  return { ...change, actor: { type: 'system' }, correlationId: ids.next().id, context };
}

function schemaChange(log: LogReader, { schema, rules }: BootOptions): Change {
  return {
    stream: schemaStream,
    expectedVersion: log.versionOf(schemaStream),
    events: [{ type: 'schema.changed', data: { schema, rules } }],
    claims: [],
    releases: [],
  };
}

/** Every claim that the live documents of a read file hold under a schema, read from the fields' own columns. */
export function* claimsIn(db: Sqlite, schema: Schema): Generator<{ claim: Claim; stream: string }> {
  for (const { slug, fields } of schema.collections) {
    for (const field of uniqueFields(slug, fields)) {
      const column = quote(`f.${field.path.join('.')}`);
      const rows = db
        .prepare<[], { id: string; value: string | number }>(
          `SELECT id, ${column} AS value FROM ${quote(`documents ${slug}`)} WHERE ${column} IS NOT NULL`,
        )
        .iterate();
      for (const { id, value } of rows) {
        yield { claim: claimOf(field, value), stream: documentStream(slug, id) };
      }
    }
  }
}

/** What `annals verify` and `annals rebuild --check` replay with: the schema the log itself ends with. */
export function projectionOf(log: LogReader): { projection: Projection; schema: Schema } | null {
  const epochs = epochsOf(log);
  const schema = epochs.at(-1)?.schema;
  if (!schema) return null;
  try {
    const upcaster = compileUpcaster(epochs);
    return { projection: { tables: tablesOf(schema), upcaster }, schema };
  } catch (error) {
    throw new BrokenLogError(`the log does not hold the schemas it was written with: ${messageOf(error)}`);
  }
}
