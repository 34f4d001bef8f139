import { existsSync } from 'node:fs';
import type { Schema } from '../../config/schema.ts';
import { messageOf } from '../../storage/errors.ts';
import { isDamage, openDatabase, type Sqlite } from '../../storage/sqlite.ts';
import { removeDatabase } from '../tables/files.ts';
import { openSearchFold } from '../tables/search-fold.ts';
import {
  createSearchTables,
  searchFileOf,
  searchStateOf,
  searchTablesOf,
  type TextIndex,
} from '../tables/search-tables.ts';
import { quote } from '../tables/tables.ts';

/** A search file held at one moment, with the position it has reached. */
export type SearchSnapshot = { db: Sqlite; position: number };

/** Thrown for a search file that is damaged. */
export class SearchDamage extends Error {
  constructor(cause: unknown) {
    super(`search index: damaged: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Holds the search file of a read file; null without one, or while it is being built.
 *
 * @throws SearchDamage
 */
export function openSearchSnapshot(readFile: string, schema: Schema): SearchSnapshot | null {
  const path = searchFileOf(readFile, schema);
  if (path === null || !existsSync(path)) return null;
  let db: Sqlite | null = null;
  try {
    db = openDatabase(path, { readonly: true, cacheMiB: 64 });
    db.exec('BEGIN');
    const { root, position } = searchStateOf(db);
    if (root !== null) return { db, position };
    db.close();
    return null;
  } catch (error) {
    db?.close();
    throw isDamage(error) ? new SearchDamage(error) : error;
  }
}

/**
 * Compares a search file with one that is made from a replay, entry by entry: their FTS5 segments depend on the history
 * of their writes.
 *
 * @param replay a read file at the position of the snapshot.
 * @param path the path of the file that is made, and removed again.
 * @returns null if they are equal, else a sentence naming the first difference.
 * @throws SearchDamage
 */
export function compareSearchFile(
  { db: live }: SearchSnapshot,
  { replay, schema, path }: { replay: Sqlite; schema: Schema; path: string },
): string | null {
  const all = searchTablesOf(schema);
  removeDatabase(path);
  const made = openDatabase(path, { durability: 'off', cacheMiB: 64 });
  try {
    createSearchTables(made, all);
    for (const _ of openSearchFold(made, replay, all).build());
    for (const { ids, words, trigrams } of all) {
      const difference =
        compare(
          ids,
          rowsOf(live, `SELECT * FROM ${ids} ORDER BY id`),
          rowsOf(made, `SELECT * FROM ${ids} ORDER BY id`),
        ) ??
        compareIndex(words, live, made) ??
        compareIndex(trigrams, live, made);
      if (difference) return difference;
    }
    return null;
  } catch (error) {
    throw isDamage(error) ? new SearchDamage(error) : error;
  } finally {
    made.close();
    removeDatabase(path);
  }
}

function compareIndex(index: TextIndex | null, live: Sqlite, made: Sqlite): string | null {
  if (!index) return null;
  const { name } = index;
  for (const db of [live, made]) {
    db.exec(`CREATE VIRTUAL TABLE temp.vocab USING fts5vocab(main, ${name}, instance)`);
  }
  try {
    // SQLite gives the entries by term, document and offset.
    const entries = 'SELECT term, doc, col, offset FROM temp.vocab';
    const lengths = `SELECT id, sz FROM ${quote(`${name.slice(1, -1)}_docsize`)} ORDER BY id`;
    return (
      compare(name, rowsOf(live, entries), rowsOf(made, entries)) ??
      compare(name, rowsOf(live, lengths), rowsOf(made, lengths))
    );
  } finally {
    for (const db of [live, made]) db.exec('DROP TABLE temp.vocab');
  }
}

function rowsOf(db: Sqlite, sql: string): IterableIterator<unknown> {
  return db.prepare(sql).raw().iterate();
}

function compare(table: string, found: IterableIterator<unknown>, expected: IterableIterator<unknown>): string | null {
  try {
    for (const row of expected) {
      const { value = null } = found.next();
      if (JSON.stringify(row) !== JSON.stringify(value))
        return `search index: table ${table} is not what the documents make of it`;
    }
    return found.next().done ? null : `search index: table ${table} holds more than the documents make of it`;
  } finally {
    // A file with an open query cannot be closed.
    found.return?.();
    expected.return?.();
  }
}
