import type { Sqlite } from '../storage/sqlite.ts';
import { quote, type Tables } from './tables.ts';

const chunk = 2000;

/**
 * Compares two read files row by row and byte by byte. Call it with `live` in a read transaction where a server may be
 * writing.
 *
 * @returns null when they are equal, else a sentence naming the first difference.
 */
export function compareReadFiles(live: Sqlite, replay: Sqlite, tables: readonly Tables[]): string | null {
  for (const { documents, versions, linkTable } of tables) {
    const difference =
      compareTable(live, replay, documents, 'key') ??
      compareTable(live, replay, versions, 'valid_from') ??
      (linkTable ? compareWhole(live, replay, linkTable) : null);
    if (difference) return difference;
  }
  return compareWhole(live, replay, 'checkpoint') ?? compareSchemas(live, replay);
}

/** Each row as one value made by SQLite: many times faster than comparing columns here. */
function compareTable(live: Sqlite, replay: Sqlite, table: string, key: string): string | null {
  const columns = replay.prepare(`SELECT * FROM ${table}`).columns();
  const content = columns.map(({ name }) => `quote(${quote(name)})`).join(` || ',' || `);
  // As bytes: text that is not valid UTF-8 could be read as the text it was before.
  const sql = `SELECT ${key} AS key, CAST(${content} AS BLOB) AS content FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${chunk}`;
  const statements = [live.prepare(sql), replay.prepare(sql)] as const;
  let after = Number.NEGATIVE_INFINITY;
  for (;;) {
    const [found, expected] = statements.map((statement) => statement.all(after) as Row[]) as [Row[], Row[]];
    for (const [index, row] of expected.entries()) {
      const other = found[index];
      if (other?.key === row.key && other.content.equals(row.content)) continue;
      const position = Math.min(row.key, other?.key ?? row.key);
      return `${name(table)}: the row made by event ${position} is not what the log makes of it`;
    }
    const extra = found[expected.length];
    if (extra) return `${name(table)}: the row made by event ${extra.key} is not in the log`;
    if (expected.length < chunk) return null;
    after = (expected.at(-1) as Row).key;
  }
}

type Row = { key: number; content: Buffer };

/** For small tables and those with a key of several columns. */
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

function compareSchemas(live: Sqlite, replay: Sqlite): string | null {
  const sql = 'SELECT name, sql FROM sqlite_schema ORDER BY type, name';
  const isSame = JSON.stringify(live.prepare(sql).all()) === JSON.stringify(replay.prepare(sql).all());
  return isSame ? null : 'the tables or indexes are not those of this schema';
}

function name(table: string): string {
  return `table ${table.startsWith('"') ? table : quote(table)}`;
}
