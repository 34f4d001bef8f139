import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dataFields, type Schema } from '../config/schema.ts';
import { uniqueFields } from '../events/claims.ts';
import { BrokenLogError, openLogToRead } from '../events/log-file.ts';
import { readLog } from '../events/log-reader.ts';
import { compileUpcaster, type Epoch, fieldsByKey, previousOf } from '../events/upcasters.ts';
import type { Sqlite } from '../storage/sqlite.ts';
import { type Declared, differenceTo, epochsOf } from './epochs.ts';
import { logFile, lookInto, readFileOf } from './files.ts';
import { locateIn, standsAgainst } from './fit.ts';
import type { Projection } from './projection.ts';
import { buildReadFile, type Progress, type Source } from './rebuild.ts';
import { changesIn } from './schema-changes.ts';
import { searchFileOf } from './search-tables.ts';
import { projectionHash, tablesOf } from './tables.ts';

/** The findings of a start about a schema, a line each. */
export type Outlook = {
  /** Whether it is another schema than the one that the log ends with. */
  isChanged: boolean;
  /** Whether its rules are others, or none are recorded. */
  hasOtherRules: boolean;
  /** The reasons for which the start would be refused. */
  problems: string[];
  /** The changes for documents. */
  changes: string[];
  /** The values of an earlier schema that come back. Only the start looks whether that fits. */
  returning: string[];
};

/**
 * Gives the findings of a start on a data directory with a schema. Nothing is changed there, and a service may be running on it. Where
 * the directory has no read tables they are built in a temporary folder.
 *
 * @throws BrokenLogError when the log does not hold its schemas.
 */
export function lookAhead(directory: string, declared: Declared, progress?: Progress): Outlook {
  const { schema } = declared;
  const db = openLogToRead(logFile(directory), 64);
  try {
    const log = readLog(db);
    const epochs = epochsOf(log);
    const before = epochs.at(-1)?.schema;
    const difference = differenceTo(epochs.at(-1), declared);
    if (!before || !difference.isChanged) return { ...difference, problems: [], changes: [], returning: [] };
    const made: Projection = { tables: tablesOf(before), upcaster: compileUpcaster(epochs), epochs };
    const look = (read: Sqlite) => ({
      problems: standsAgainst(read, { schema, holderOf: log.holderOf, locate: locateIn(before, schema) }),
      changes: changesIn(read, before, schema),
    });
    const file = readFileOf(directory, projectionHash(before, made.upcaster));
    const found = (existsSync(file) ? lookInto(file, look) : null) ?? lookIntoReplay(made, { log, progress }, look);
    return { ...difference, ...found, returning: returningIn(epochs, schema) };
  } finally {
    db.close();
  }
}

/** The findings of a service that runs on a data directory about another schema, without a start. */
export type ReloadOutlook = {
  /** Whether it has other read tables, search tables or claims than the one that the log ends with, which only a start makes. */
  hasOtherTables: boolean;
  /** Whether it, or its rules, must be recorded. */
  isRecorded: boolean;
  /** The changes for documents; empty where the tables differ. */
  changes: string[];
};

/**
 * Looks whether a schema can follow the one of a running service, whose read tables are up to date.
 *
 * @throws BrokenLogError when the log does not hold its schemas; an Error when the schema cannot follow it.
 */
export function lookAtReload(directory: string, declared: Declared): ReloadOutlook {
  const { schema } = declared;
  const db = openLogToRead(logFile(directory), 16);
  try {
    const epochs = epochsOf(readLog(db));
    const before = epochs.at(-1)?.schema;
    if (!before) throw new BrokenLogError('the log has no schema');
    const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), declared);
    const isRecorded = isChanged || hasOtherRules;
    if (!isChanged) return { hasOtherTables: false, isRecorded, changes: [] };
    const file = readFileOf(directory, projectionHash(before, compileUpcaster(epochs)));
    const next: Epoch = { position: Number.MAX_SAFE_INTEGER, schema };
    const following = readFileOf(directory, projectionHash(schema, compileUpcaster([...epochs, next])));
    const hasOtherTables =
      file !== following ||
      searchFileOf(file, before) !== searchFileOf(following, schema) ||
      scopesOf(before) !== scopesOf(schema);
    const changes = hasOtherTables ? [] : (lookInto(file, (read) => changesIn(read, before, schema)) ?? []);
    return { hasOtherTables, isRecorded, changes };
  } finally {
    db.close();
  }
}

/** The claims that documents make, and the streams that are accounts. */
function scopesOf({ collections }: Schema): string {
  return JSON.stringify(
    collections.map(({ slug, auth, fields }) => [slug, auth, uniqueFields(slug, fields).map(({ scope }) => scope)]),
  );
}

function lookIntoReplay<T>(made: Projection, source: Source, look: (read: Sqlite) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'annals-'));
  try {
    const file = join(folder, 'read.db');
    buildReadFile(file, made, source);
    const found = lookInto(file, look);
    if (found === null) throw new BrokenLogError('the read tables that the log gives cannot be read');
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Collections, globals and fields of the top level that were declared once, then not, and are again. */
function returningIn(epochs: readonly Epoch[], schema: Schema): string[] {
  const earlier = new Map<string, Set<string>>();
  for (const epoch of epochs) {
    for (const [key, fields] of fieldsByKey(epoch.schema)) {
      const names = earlier.get(key) ?? new Set();
      for (const { name } of dataFields(fields)) names.add(name);
      earlier.set(key, names);
    }
  }
  const before = new Map(epochs.slice(-1).flatMap(({ schema }) => fieldsByKey(schema)));
  return fieldsByKey(schema).flatMap(([key, fields]) => {
    const names = earlier.get(key);
    const last = before.get(key);
    if (!names) return [];
    if (!last) return [`${key} was there before: its documents are back`];
    const old = new Map(dataFields(last).map((field) => [field.name, field]));
    return dataFields(fields)
      .filter((field) => names.has(field.name) && !previousOf(field, old))
      .map(({ name }) => `${key}.${name} was there before: the values that documents had under that name are back`);
  });
}
