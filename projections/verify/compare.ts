import type { Sqlite } from '../../storage/sqlite.ts';
import { openDatabase } from '../../storage/sqlite.ts';
import { accountTables } from '../tables/account-fold.ts';
import { apiKeyTable } from '../tables/api-keys.ts';
import { auditTables } from '../tables/audit.ts';
import { releaseTables } from '../tables/releases.ts';
import { createIndexes, createTables, quote, type Tables, unquoted } from '../tables/tables.ts';

/**
 * Compares two read files row by row and byte by byte. Call it with `live` in a read transaction if a server may be
 * writing.
 *
 * @returns null if they are equal, else a sentence naming the first difference.
 */
export function compareReadFiles(live: Sqlite, replay: Sqlite, tables: readonly Tables[]): string | null {
  // One connection reads both files.
  live.prepare('ATTACH ? AS replay').run(replay.name);
  for (const { documents, texts, versions, pastTexts, linkTable, pastLinks } of tables) {
    const difference =
      compareTable(live, documents, { key: 'key' }) ??
      compareTable(live, texts, { key: 'key' }) ??
      compareTable(live, versions, { key: 'valid_to', madeBy: 'valid_from' }) ??
      compareTable(live, pastTexts, { key: 'valid_from' }) ??
      (linkTable ? (compareWhole(live, replay, linkTable) ?? compareWhole(live, replay, pastLinks)) : null);
    if (difference) return difference;
  }
  const difference = compareTable(live, auditTables.events, { key: 'position' });
  if (difference) return difference;
  const others = ['counts', 'erasures', 'checkpoint'];
  const small = [...accountTables, apiKeyTable, ...Object.values(releaseTables)];
  for (const table of [...small, auditTables.words, auditTables.batches, ...others]) {
    const difference = compareWhole(live, replay, table);
    if (difference) return difference;
  }
  return compareSchemas(live, tables);
}

/** The column that identifies a row, and the column with the event that made the row. */
type Columns = { key: string; madeBy?: string };

/** Compares a table inside SQLite, which compares bytes: no row has to become a JavaScript object. */
function compareTable(db: Sqlite, table: string, { key, madeBy = key }: Columns): string | null {
  // Computed columns cannot differ if the document does not.
  const columns = db
    .prepare<[table: string], string>("SELECT name FROM pragma_table_info(?, 'replay')")
    .pluck()
    .all(unquoted(table));
  const differs = columns.map((name) => `found.${quote(name)} IS NOT expected.${quote(name)}`).join(' OR ');
  const first = (sql: string) => db.prepare<[], number>(sql).pluck().get();
  const wrong = first(
    `SELECT expected.${madeBy} FROM replay.${table} AS expected LEFT JOIN main.${table} AS found USING (${key})
     WHERE found.${key} IS NULL OR ${differs} ORDER BY expected.${key} LIMIT 1`,
  );
  if (wrong !== undefined) return `${name(table)}: the row made by event ${wrong} is not what the log makes of it`;
  const extra = first(
    `SELECT ${madeBy} FROM main.${table} WHERE ${key} NOT IN (SELECT ${key} FROM replay.${table}) ORDER BY ${key} LIMIT 1`,
  );
  return extra === undefined ? null : `${name(table)}: the row made by event ${extra} is not in the log`;
}

/** Compares small tables, and tables with a key of several columns. */
function compareWhole(live: Sqlite, replay: Sqlite, table: string): string | null {
  const sql = `SELECT * FROM ${table}`;
  const found = live.prepare(sql).raw().iterate();
  try {
    for (const row of replay.prepare(sql).raw().iterate()) {
      const { value } = found.next();
      if (JSON.stringify(row) !== JSON.stringify(value ?? null))
        return `${name(table)} is not what the log makes of it`;
    }
    return found.next().done ? null : `${name(table)} holds more than the log makes of it`;
  } finally {
    // A file with a query still open cannot be closed.
    found.return?.();
  }
}

/**
 * Against an empty file: the replay has no indexes, for SQLite has checked the indexes of the live file against its
 * tables.
 */
function compareSchemas(live: Sqlite, tables: readonly Tables[]): string | null {
  const sql = 'SELECT name, sql FROM sqlite_schema ORDER BY type, name';
  const empty = openDatabase(':memory:');
  createTables(empty, tables);
  createIndexes(empty, tables);
  const isSame = JSON.stringify(live.prepare(sql).all()) === JSON.stringify(empty.prepare(sql).all());
  empty.close();
  return isSame ? null : 'the tables or indexes are not those of this schema';
}

function name(table: string): string {
  return `table ${table.startsWith('"') ? table : quote(table)}`;
}
