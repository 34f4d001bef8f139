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
import { type Declaration, differenceTo, epochsOf } from '../tables/epochs.ts';
import { logFile, lookInto, readFileOf } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { searchFileOf } from '../tables/search-tables.ts';
import { projectionHash, tablesOf } from '../tables/tables.ts';
import { buildReadFile, type EventSource, type Progress } from './rebuild.ts';
import type { SchemaChange } from './schema-changes.ts';
import { afterAll, allChangesIn, followingOf, type LossPolicy, refusalOf } from './schema-check.ts';
import { locateIn, obstaclesTo } from './schema-fit.ts';

/** The findings of a start about a schema, one line each. */
export type DryStart = {
  /** Whether the schema differs from the last schema of the log. */
  isChanged: boolean;
  /** Whether the rules differ from the recorded ones, or none are recorded. */
  hasOtherRules: boolean;
  /** The reasons to refuse the start. */
  problems: string[];
  /** The changes for documents. */
  changes: SchemaChange[];
  /** The values of an earlier schema that come back, one line each. */
  returning: readonly string[];
};

/**
 * Gives the findings of a start on a data directory with a schema. It changes nothing there, and a service may be
 * running on the directory. If the directory has no read tables, or values of an earlier schema come back, it builds
 * read tables in a temporary folder.
 *
 * @throws BrokenLogError if the log does not hold its schemas.
 */
export function dryStart(directory: string, declared: Declaration, progress?: Progress): DryStart {
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
      problems: obstaclesTo(read, { schema, holderOf, locate: locateIn(before, schema) }),
      changes: allChangesIn(read, following),
    });
    const file = readFileOf(directory, projectionHash(before, made.upcaster));
    const found = (existsSync(file) ? lookInto(file, look) : null) ?? lookIntoReplay(made, { log, progress }, look);
    if (back.length > 0) {
      const after = [...epochs, { position: afterAll, schema }];
      const next: Projection = { tables: tablesOf(schema), upcaster: compileUpcaster(after), epochs: after };
      found.problems = lookIntoReplay(next, { log, progress }, (read) => obstaclesTo(read, { schema, holderOf }));
    }
    return { ...difference, ...found, returning: back };
  } finally {
    db.close();
  }
}

/** The lines of the refusal of a start; empty if it would not be refused. */
export function refusedOf({ problems, changes }: Pick<DryStart, 'problems' | 'changes'>, how: LossPolicy): string[] {
  const refusal = refusalOf(changes, how);
  return refusal ? [`${refusal.reason}:`, ...problems, ...refusal.lines] : problems;
}

/** The findings about another schema for a running service, which does not start anew. */
export type ReloadFindings = {
  /**
   * Whether the schema has other read tables, search tables or claims than the last schema of the log. Only a start
   * makes these.
   */
  hasOtherTables: boolean;
  /** Whether the schema or the rules must be recorded. */
  isRecorded: boolean;
  /** The changes for documents. */
  changes: SchemaChange[];
};

/**
 * Checks whether a schema can follow the schema of a running service, whose read tables are up to date.
 *
 * @throws BrokenLogError if the log does not hold its schemas; Error if the schema cannot follow the last one.
 */
export function checkReload(directory: string, declared: Declaration): ReloadFindings {
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
      claimsAndAccountsOf(before) !== claimsAndAccountsOf(schema);
    const changes = lookInto(file, (read) => allChangesIn(read, following)) ?? [];
    return { hasOtherTables, isRecorded, changes };
  } finally {
    db.close();
  }
}

/** A text that is equal for schemas with the same claims, accounts and slugs. */
function claimsAndAccountsOf({ collections }: Schema): string {
  return JSON.stringify(
    collections.map((one) => {
      const category = categoryOf(one);
      const scopes = uniqueFields(category, one.fields).map(({ scope }) => scope);
      return [category, one.slug, one.auth, scopes];
    }),
  );
}

function lookIntoReplay<T>(made: Projection, source: EventSource, look: (read: Sqlite) => T): T {
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
