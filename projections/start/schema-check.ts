import { existsSync } from 'node:fs';
import type { Schema } from '../../config/schema.ts';
import { type Epoch, followNames } from '../../events/facts/lineage.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { type SettledSchema, type StreamLookup, settle } from '../../events/service-events/categories.ts';
import { isDamage, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { lookInto, moveIntoPlace, readFileOf, removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector } from '../tables/projector.ts';
import { checkpointOf } from '../tables/read-file-checks.ts';
import { projectionHash, type Tables, tablesOf } from '../tables/tables.ts';
import { buildReadFile, catchUp, type EventSource, type Progress } from './rebuild.ts';
import { changesIn, questionsAbout, type SchemaChange, type Succession } from './schema-changes.ts';
import { locateIn, obstaclesTo } from './schema-fit.ts';

/**
 * Thrown if the configuration does not fit the existing documents, or changes what must not change; one problem per
 * line.
 */
export class SchemaError extends Error {
  override name = 'SchemaError';
  /** Whether the start would succeed if losses were accepted. */
  readonly isLoss: boolean;

  constructor(message: string, isLoss = false) {
    super(message);
    this.isLoss = isLoss;
  }
}

/** The position of a schema that is not recorded yet: all events were written before it. */
export const afterAll = Number.MAX_SAFE_INTEGER;

export type SchemaCheck = {
  directory: string;
  schema: Schema;
  /** Refuse a schema that changes what documents answer. */
  isStrict?: boolean;
  /** Accept a schema with which documents show less, or that takes values which do not exist. */
  acceptsLoss?: boolean;
  /** Called before a changed schema is recorded, with its effects on documents, one line each. */
  onChanges?: (lines: readonly string[]) => void;
  progress?: Progress;
};

/**
 * A schema that follows others. `problems` are about its `renamedFrom`, `back` says which values of earlier schemas it
 * brings back.
 */
type SchemaSuccession = Succession & { problems: readonly string[]; back: readonly string[] };

/**
 * The schema of a configuration as it follows the schemas of a log, which decide how its collections are recorded.
 *
 * @throws SchemaError if the history of another collection is recorded under one of its slugs.
 */
export function settledIn(log: StreamLookup, epochs: readonly Epoch[], declared: Schema): SettledSchema {
  const settled = settle(epochs, declared, log);
  if (settled.refusals.length > 0) throw new SchemaError(settled.refusals.join('\n'));
  return settled;
}

/**
 * How a schema follows the schemas of a log; null for the first schema.
 *
 * @throws SchemaError as {@link settledIn}.
 */
export function followingOf(log: StreamLookup, epochs: readonly Epoch[], declared: Schema): SchemaSuccession | null {
  const before = epochs.at(-1)?.schema;
  if (!before) return null;
  const { schema: after, problems: missing } = settledIn(log, epochs, declared);
  const { problems, returning } = followNames([...epochs, { position: afterAll, schema: after }]).names;
  const names = { problems: [...missing, ...problems], back: [...returning.values()] };
  return { before, after, returning: new Set(returning.keys()), ...names };
}

/** The effects of a schema, and the values that it would take but that do not exist. */
export function allChangesIn(db: Sqlite, following: SchemaSuccession): SchemaChange[] {
  const missing = following.problems.map((line) => ({ line, isLoss: true }));
  return [...missing, ...changesIn(db, following)];
}

/**
 * The refused effects, with the reason: in strict mode all, else losses that are not accepted. Null if none is refused.
 */
export function refusalOf(changes: readonly SchemaChange[], { isStrict, acceptsLoss }: LossPolicy): Refusal | null {
  const refused = isStrict ? changes : acceptsLoss ? [] : changes.filter(({ isLoss }) => isLoss);
  if (refused.length === 0) return null;
  return { reason: isStrict ? strict : loss, isLoss: !isStrict, lines: refused.map(({ line }) => line) };
}

export type LossPolicy = Pick<SchemaCheck, 'isStrict' | 'acceptsLoss'>;
type Refusal = { reason: string; isLoss: boolean; lines: string[] };

/** Checks a changed schema on the read tables of the former schema: only they have what the new schema removes. */
export function checkChanges(options: SchemaCheck, log: LogReader, epochs: Epoch[]): void {
  const { directory, onChanges, progress } = options;
  const following = followingOf(log, epochs, options.schema);
  if (!following) return;
  const { before, after: schema, problems: missing } = following;
  if (missing.length === 0 && questionsAbout(following).length === 0) return;
  const look = (db: Sqlite) => {
    const changes = allChangesIn(db, following);
    const refusal = refusalOf(changes, options);
    const fit = { schema, holderOf: log.holderOf, locate: locateIn(before, schema) };
    return { changes, refusal, problems: refusal ? obstaclesTo(db, fit) : [] };
  };
  const made: Projection = { tables: tablesOf(before), upcaster: compileUpcaster(epochs), epochs };
  const file = readFileOf(directory, projectionHash(before, made.upcaster));
  let found = isUpToDate(file, made, { log, progress }) ? lookInto(file, look) : null;
  if (!found) {
    buildReadFile(`${file}.building`, made, { log, progress });
    removeDatabase(file);
    // A refused start is tried again, and then finds the file.
    moveIntoPlace(`${file}.building`, file);
    found = lookInto(file, look);
  }
  const { changes, refusal, problems } = found ?? { changes: [], refusal: null, problems: [] };
  if (refusal) {
    const isLoss = refusal.isLoss && problems.length === 0;
    throw new SchemaError([`${refusal.reason}:`, ...problems, ...refusal.lines].join('\n'), isLoss);
  }
  if (changes.length > 0) onChanges?.(changes.map(({ line }) => line));
}

const strict =
  'strictSchema (--strict-schema, ANNALS_STRICT_SCHEMA) refuses what the configuration changes for documents; nothing was recorded';
const loss =
  'documents would show less with this configuration, or it takes values that are not there; nothing was recorded ' +
  '(--accept-loss, or ANNALS_ACCEPT_LOSS=true for one start, accepts it)';

/** Checks that documents fit a schema. @throws SchemaError if they do not. */
export function requireFit(log: LogReader, schema: Schema, readFile: string): void {
  const db = openDatabase(readFile, { readonly: true });
  try {
    const problems = obstaclesTo(db, { schema, holderOf: log.holderOf });
    if (problems.length > 0) throw new SchemaError(problems.join('\n'));
  } finally {
    db.close();
  }
}

/**
 * Brings a read file up to date. False if it is missing or damaged: it is disposable, so it is built anew and does not
 * stop the start.
 */
export function isUpToDate(path: string, made: Projection, source: EventSource): boolean {
  if (!existsSync(path) || !checkpointOf(path)) return false;
  const db = openDatabase(path, { durability: 'normal', cacheMiB: 64 });
  try {
    if (!hasCounts(db, made.tables)) return false;
    catchUp(openProjector(db, made), source);
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
