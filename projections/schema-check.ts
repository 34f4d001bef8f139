import { existsSync } from 'node:fs';
import type { Schema } from '../config/schema.ts';
import type { LogReader } from '../events/log-reader.ts';
import { compileUpcaster, type Epoch } from '../events/upcasters.ts';
import { isDamage, openDatabase, type Sqlite } from '../storage/sqlite.ts';
import { lookInto, moveIntoPlace, readFileOf, removeDatabase } from './files.ts';
import { locateIn, standsAgainst } from './fit.ts';
import type { Projection } from './projection.ts';
import { openProjector } from './projector.ts';
import { buildReadFile, catchUp, type Progress, type Source } from './rebuild.ts';
import { changesIn, questionsAbout } from './schema-changes.ts';
import { checkpointOf } from './seen.ts';
import { projectionHash, type Tables, tablesOf } from './tables.ts';

/** Thrown when the configuration does not fit the documents that are there, or changes what may not change; one problem per line. */
export class SchemaError extends Error {
  override name = 'SchemaError';
}

export type Looking = {
  directory: string;
  schema: Schema;
  /** Refuse a schema that changes what documents answer. */
  isStrict?: boolean;
  /** Told what a changed schema does to documents, a line each, before it is recorded. */
  onChanges?: (lines: readonly string[]) => void;
  progress?: Progress;
};

/** While the read tables are those of the schema before: what is gone from the new one is in no others. */
export function lookAtChanges(options: Looking, log: LogReader, epochs: Epoch[]): void {
  const { directory, schema, isStrict, onChanges, progress } = options;
  const before = epochs.at(-1)?.schema;
  if (!before || questionsAbout(before, schema).length === 0) return;
  const look = (db: Sqlite) => {
    const changes = changesIn(db, before, schema);
    const isRefused = isStrict && changes.length > 0;
    return {
      changes,
      problems: isRefused
        ? standsAgainst(db, { schema, holderOf: log.holderOf, locate: locateIn(before, schema) })
        : [],
    };
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
  const { changes, problems } = found ?? { changes: [], problems: [] };
  if (changes.length === 0) return;
  if (isStrict) throw new SchemaError([refusal, ...problems, ...changes].join('\n'));
  onChanges?.(changes);
}

const refusal =
  'strictSchema (--strict-schema, ANNALS_STRICT_SCHEMA) refuses what the configuration changes for documents; nothing was recorded:';

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
