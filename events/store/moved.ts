import { codeOf, messageOf } from '../../storage/errors.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { BrokenLogError } from './log-file.ts';

/** Thrown for a log that has moved to PostgreSQL: nothing is written to it here any more. */
class MovedAwayError extends BrokenLogError {
  override name = 'MovedAwayError';
}

/** The refusal of a write to a log that has moved. */
export const movedAway = 'the log has moved to PostgreSQL: restart with ANNALS_POSTGRES_URL';

/** Each command writes to at least one of these tables. */
const tables = ['events', 'commands'];

/** The mark is in the file itself: it refuses a running service of any version, and costs earlier writes nothing. */
function triggerOf(table: string, token: string): { type: string; name: string; sql: string } {
  const name = `${table}_moved`;
  const sql = `CREATE TRIGGER ${name} BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, '${movedAway}') /* ${token} */; END`;
  return { type: 'trigger', name, sql };
}

/**
 * Ends a log in a file, inside a transaction of the caller's. @param token names the log in PostgreSQL to which it has
 * moved.
 */
export function markMoved(db: Sqlite, token: string): void {
  if (!/^[\da-f-]{36}$/.test(token)) throw new Error('the token of a move is not a UUID');
  for (const table of tables) db.exec(triggerOf(table, token).sql);
}

/** Makes a moved log a replica, which takes events of the log in PostgreSQL. */
export function clearMoved(db: Sqlite): void {
  const clear = db.transaction(() => {
    for (const table of tables) db.exec(`DROP TRIGGER IF EXISTS ${triggerOf(table, '').name}`);
  });
  clear.immediate();
}

/** The token of the log to which a log has moved; null for a log that has not moved. */
export function movedTo(db: Sqlite): string | null {
  const select = db.prepare<[], string>("SELECT sql FROM main.sqlite_schema WHERE name = 'events_moved'").pluck();
  return /\/\* ([\da-f-]{36}) \*\//.exec(select.get() ?? '')?.[1] ?? null;
}

/** The rows of a schema without the rows of {@link markMoved}. */
export function withoutMark(db: Sqlite, schema: readonly unknown[]): unknown[] {
  const token = movedTo(db);
  if (token === null) return [...schema];
  const marks = new Set(tables.map((table) => JSON.stringify(triggerOf(table, token))));
  return schema.filter((row) => !marks.has(JSON.stringify(row)));
}

/** @throws MovedAwayError for a log that has moved. */
export function requireHere(db: Sqlite): void {
  if (movedTo(db) === null) return;
  throw new MovedAwayError('the log of this data directory has moved to PostgreSQL: start with ANNALS_POSTGRES_URL');
}

/** Whether a write was refused since the log has moved. */
export function isMovedAway(error: unknown): boolean {
  return codeOf(error) === 'SQLITE_CONSTRAINT_TRIGGER' && messageOf(error) === movedAway;
}
