import { existsSync } from 'node:fs';
import type { Schema } from '../../config/schema.ts';
import { type Epoch, followNames } from '../../events/facts/lineage.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { type Settled, settle } from '../../events/service-events/categories.ts';
import { isDamage, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { lookInto, moveIntoPlace, readFileOf, removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { openProjector } from '../tables/projector.ts';
import { checkpointOf } from '../tables/read-file-checks.ts';
import { projectionHash, type Tables, tablesOf } from '../tables/tables.ts';
import { buildReadFile, catchUp, type Progress, type Source } from './rebuild.ts';
import { changesIn, questionsAbout, type SchemaChange, type Succession } from './schema-changes.ts';
import { locateIn, standsAgainst } from './schema-fit.ts';

/**
 * Thrown when the configuration does not fit the documents that are there, or changes what may not change; one problem
 * per line.
 */
export class SchemaError extends Error {
  override name = 'SchemaError';
  /** Whether it would start where losses are accepted. */
  readonly isLoss: boolean;

  constructor(message: string, isLoss = false) {
    super(message);
    this.isLoss = isLoss;
  }
}

type Read = Pick<LogReader, 'hasUnder'>;

/** The position of a schema that is not recorded yet: all that there is was written before it. */
export const afterAll = Number.MAX_SAFE_INTEGER;

export type Looking = {
  directory: string;
  schema: Schema;
  /** Refuse a schema that changes what documents answer. */
  isStrict?: boolean;
  /** Take one by which documents show less, or that takes values which are not there. */
  acceptsLoss?: boolean;
  /** Told what a changed schema does to documents, a line each, before it is recorded. */
  onChanges?: (lines: readonly string[]) => void;
  progress?: Progress;
};

/**
 * A schema that follows others; `problems` are those of its `renamedFrom`, `back` says what it brings back of earlier
 * ones.
 */
export type Following = Succession & { problems: readonly string[]; back: readonly string[] };

/**
 * The schema of a configuration as it follows those of a log, which says how its collections are recorded.
 *
 * @throws SchemaError where the history of another collection is recorded under a slug.
 */
export function settledIn(log: Read, epochs: readonly Epoch[], declared: Schema): Settled {
  const settled = settle(epochs, declared, log);
  if (settled.refusals.length > 0) throw new SchemaError(settled.refusals.join('\n'));
  return settled;
}

/**
 * How a schema follows those of a log; null for the first.
 *
 * @throws SchemaError as {@link settledIn}.
 */
export function followingOf(log: Read, epochs: readonly Epoch[], declared: Schema): Following | null {
  const before = epochs.at(-1)?.schema;
  if (!before) return null;
  const { schema: after, problems: missing } = settledIn(log, epochs, declared);
  const { problems, returning } = followNames([...epochs, { position: afterAll, schema: after }]).names;
  const names = { problems: [...missing, ...problems], back: [...returning.values()] };
  return { before, after, returning: new Set(returning.keys()), ...names };
}

/** The changes by a schema, with the values that it would take and that are not there. */
export function allChangesIn(db: Sqlite, following: Following): SchemaChange[] {
  const missing = following.problems.map((line) => ({ line, isLoss: true }));
  return [...missing, ...changesIn(db, following)];
}

/**
 * The changes that are refused, with the reason: in strict mode all, else losses that are not accepted. Null where none
 * is.
 */
export function refusalOf(changes: readonly SchemaChange[], { isStrict, acceptsLoss }: Accepting): Refusal | null {
  const refused = isStrict ? changes : acceptsLoss ? [] : changes.filter(({ isLoss }) => isLoss);
  if (refused.length === 0) return null;
  return { reason: isStrict ? strict : loss, isLoss: !isStrict, lines: refused.map(({ line }) => line) };
}

export type Accepting = Pick<Looking, 'isStrict' | 'acceptsLoss'>;
export type Refusal = { reason: string; isLoss: boolean; lines: string[] };

/** While the read tables are those of the schema before: what is gone from the new one is in no others. */
export function lookAtChanges(options: Looking, log: LogReader, epochs: Epoch[]): void {
  const { directory, onChanges, progress } = options;
  const following = followingOf(log, epochs, options.schema);
  if (!following) return;
  const { before, after: schema, problems: missing } = following;
  if (missing.length === 0 && questionsAbout(following).length === 0) return;
  const look = (db: Sqlite) => {
    const changes = allChangesIn(db, following);
    const refusal = refusalOf(changes, options);
    const fit = { schema, holderOf: log.holderOf, locate: locateIn(before, schema) };
    return { changes, refusal, problems: refusal ? standsAgainst(db, fit) : [] };
  };
  const made: Projection = { tables: tablesOf(before), upcaster: compileUpcaster(epochs), epochs };
  const file = readFileOf(directory, projectionHash(before, made.upcaster));
  let found = isUpToDate(file, made, { log, progress }) ? lookInto(file, look) : null;
  if (!found) {
    buildReadFile(`${file}.building`, made, { log, progress });
    removeDatabase(file);
    // A start that is refused is tried again, and finds it.
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

/** @throws SchemaError where documents stand against a schema. */
export function requireFit(log: LogReader, schema: Schema, readFile: string): void {
  const db = openDatabase(readFile, { readonly: true });
  try {
    const problems = standsAgainst(db, { schema, holderOf: log.holderOf });
    if (problems.length > 0) throw new SchemaError(problems.join('\n'));
  } finally {
    db.close();
  }
}

/**
 * Brings a read file up to date. False when it is missing or damaged: it is disposable, so it is built anew rather than
 * stopping the start.
 */
export function isUpToDate(path: string, made: Projection, source: Source): boolean {
  if (!existsSync(path) || !checkpointOf(path)) return false;
  const db = openDatabase(path, { durability: 'normal', cacheMiB: 64 });
  try {
    if (!hasCounts(db, made.tables)) return false;
    catchUp(openProjector(db, made.tables, made.upcaster), source);
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
