import { codeOf, messageOf } from '../../storage/errors.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { BrokenLogError } from './log-file.ts';

/** Thrown for a log that has moved to PostgreSQL: nothing is written to it here any more. */
export class MovedAwayError extends BrokenLogError {
  override name = 'MovedAwayError';
}

/** The refusal of a write to a log that has moved. */
export const movedAway = 'the log has moved to PostgreSQL: restart with ANNALS_POSTGRES_URL';

/** Each write of a command is to one of these tables, or to more. */
const tables = ['events', 'commands'];

/**
 * In the file itself, so that a service that runs is refused too, of whatever version, at no cost to its writes before.
 */
function triggerOf(table: string, token: string): { type: string; name: string; sql: string } {
  const name = `${table}_moved`;
  const sql = `CREATE TRIGGER ${name} BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, '${movedAway}') /* ${token} */; END`;
  return { type: 'trigger', name, sql };
}

/**
 * The end of a log in a file, inside a transaction of the caller's. @param token names the place to which it has moved.
 */
export function markMoved(db: Sqlite, token: string): void {
  if (!/^[\da-f-]{36}$/.test(token)) throw new Error('the token of a move is not a UUID');
  for (const table of tables) db.exec(triggerOf(table, token).sql);
}

/** Makes of a log that has moved a replica, which takes events again: those of the log in PostgreSQL. */
export function clearMoved(db: Sqlite): void {
  const clear = db.transaction(() => {
    for (const table of tables) db.exec(`DROP TRIGGER IF EXISTS ${triggerOf(table, '').name}`);
  });
  clear.immediate();
}

/** The token of the place to which a log has moved; null for a log that is here. */
export function movedTo(db: Sqlite): string | null {
  const select = db.prepare<[], string>("SELECT sql FROM main.sqlite_schema WHERE name = 'events_moved'").pluck();
  return /\/\* ([\da-f-]{36}) \*\//.exec(select.get() ?? '')?.[1] ?? null;
}

/** The rows of a schema without those of {@link markMoved}. */
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
