import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Schema } from '../../config/schema.ts';
import { categoryOf } from '../../config/schema.ts';
import { uniqueFields } from '../../events/facts/claims.ts';
import type { Epoch } from '../../events/facts/lineage.ts';
import { compileUpcaster } from '../../events/facts/upcasters.ts';
import { readLog } from '../../events/log/log-reader.ts';
import { settle } from '../../events/service-events/categories.ts';
import { BrokenLogError, openLogToRead } from '../../events/store/log-file.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { type Declared, differenceTo, epochsOf } from '../tables/epochs.ts';
import { logFile, lookInto, readFileOf } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { searchFileOf } from '../tables/search-tables.ts';
import { projectionHash, tablesOf } from '../tables/tables.ts';
import { buildReadFile, type Progress, type Source } from './rebuild.ts';
import type { SchemaChange } from './schema-changes.ts';
import { type Accepting, afterAll, allChangesIn, followingOf, refusalOf } from './schema-check.ts';
import { locateIn, standsAgainst } from './schema-fit.ts';

/** The findings of a start about a schema, a line each. */
export type Outlook = {
  /** Whether it is another schema than the one that the log ends with. */
  isChanged: boolean;
  /** Whether its rules are others, or none are recorded. */
  hasOtherRules: boolean;
  /** The reasons for which the start would be refused. */
  problems: string[];
  /** The changes for documents. */
  changes: SchemaChange[];
  /** The values of an earlier schema that come back, a line each. */
  returning: readonly string[];
};

/**
 * Gives the findings of a start on a data directory with a schema. Nothing is changed there, and a service may be
 * running on it. Where the directory has no read tables, and where values of an earlier schema come back, read tables
 * are built in a temporary folder.
 *
 * @throws BrokenLogError when the log does not hold its schemas.
 */
export function lookAhead(directory: string, declared: Declared, progress?: Progress): Outlook {
  const db = openLogToRead(logFile(directory), 64);
  try {
    const log = readLog(db);
    const epochs = epochsOf(log);
    const { schema, refusals } = settle(epochs, declared.schema, log);
    const difference = differenceTo(epochs.at(-1), { ...declared, schema });
    if (refusals.length > 0) return { ...difference, problems: refusals, changes: [], returning: [] };
    const following = followingOf(log, epochs, schema);
    if (!following || !difference.isChanged) return { ...difference, problems: [], changes: [], returning: [] };
    const { before, back } = following;
    const { holderOf } = log;
    const made: Projection = { tables: tablesOf(before), upcaster: compileUpcaster(epochs), epochs };
    const look = (read: Sqlite) => ({
      problems: standsAgainst(read, { schema, holderOf, locate: locateIn(before, schema) }),
      changes: allChangesIn(read, following),
    });
    const file = readFileOf(directory, projectionHash(before, made.upcaster));
    const found = (existsSync(file) ? lookInto(file, look) : null) ?? lookIntoReplay(made, { log, progress }, look);
    if (back.length > 0) {
      const after = [...epochs, { position: afterAll, schema }];
      const next: Projection = { tables: tablesOf(schema), upcaster: compileUpcaster(after), epochs: after };
      found.problems = lookIntoReplay(next, { log, progress }, (read) => standsAgainst(read, { schema, holderOf }));
    }
    return { ...difference, ...found, returning: back };
  } finally {
    db.close();
  }
}

/** The lines with which a start would be refused; empty where it would not be. */
export function refusedOf({ problems, changes }: Pick<Outlook, 'problems' | 'changes'>, how: Accepting): string[] {
  const refusal = refusalOf(changes, how);
  return refusal ? [`${refusal.reason}:`, ...problems, ...refusal.lines] : problems;
}

/** The findings of a service that runs on a data directory about another schema, without a start. */
export type ReloadOutlook = {
  /**
   * Whether it has other read tables, search tables or claims than the one that the log ends with, which only a start
   * makes.
   */
  hasOtherTables: boolean;
  /** Whether it, or its rules, must be recorded. */
  isRecorded: boolean;
  /** The changes for documents. */
  changes: SchemaChange[];
};

/**
 * Looks whether a schema can follow the one of a running service, whose read tables are up to date.
 *
 * @throws BrokenLogError when the log does not hold its schemas; an Error when the schema cannot follow it.
 */
export function lookAtReload(directory: string, declared: Declared): ReloadOutlook {
  const db = openLogToRead(logFile(directory), 16);
  try {
    const log = readLog(db);
    const epochs = epochsOf(log);
    const following = followingOf(log, epochs, declared.schema);
    if (!following) throw new BrokenLogError('the log has no schema');
    const { before, after: schema } = following;
    const { isChanged, hasOtherRules } = differenceTo(epochs.at(-1), { ...declared, schema });
    const isRecorded = isChanged || hasOtherRules;
    if (!isChanged) return { hasOtherTables: false, isRecorded, changes: [] };
    const file = readFileOf(directory, projectionHash(before, compileUpcaster(epochs)));
    const next: Epoch = { position: afterAll, schema };
    const nextFile = readFileOf(directory, projectionHash(schema, compileUpcaster([...epochs, next])));
    const hasOtherTables =
      file !== nextFile ||
      searchFileOf(file, before) !== searchFileOf(nextFile, schema) ||
      scopesOf(before) !== scopesOf(schema);
    const changes = lookInto(file, (read) => allChangesIn(read, following)) ?? [];
    return { hasOtherTables, isRecorded, changes };
  } finally {
    db.close();
  }
}

/** The claims that documents make, the streams that are accounts, and the names of both. */
function scopesOf({ collections }: Schema): string {
  return JSON.stringify(
    collections.map((one) => {
      const category = categoryOf(one);
      const scopes = uniqueFields(category, one.fields).map(({ scope }) => scope);
      return [category, one.slug, one.auth, scopes];
    }),
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
