import type { Sqlite } from '../../storage/sqlite.ts';
import type { Tables } from './tables.ts';

/** Throws when the read that runs must end; null while none may be ended. A thread runs one at a time. */
let check: (() => void) | null = null;

/** From now on the reads of this thread ask this before they go on; null: nothing. */
export function askBeforeGoingOn(ask: (() => void) | null): void {
  check = ask;
}

/** Asks whether the read that runs may go on. @throws what was set to be thrown. */
export function goOn(): void {
  check?.();
}

/** Registers `may_go_on`, which queries over {@link interruptible} tables ask: it is true, or throws. */
export function registerGoingOn(db: Sqlite): void {
  db.function('may_go_on', () => {
    check?.();
    return 1;
  });
}

/**
 * The same tables, whose queries ask at every 16th row or so whether they may go on. That costs a fifth of a plain
 * scan.
 */
export function interruptible(tables: Tables): Tables {
  return { ...tables, isInterruptible: true };
}

/**
 * A condition whose value is read from the text of a document, which may be long and have many such conditions: asked
 * before each. That costs little beside reading JSON.
 */
export function onceMayGoOn(row: { tables: Tables } | null, condition: string): string {
  return row?.tables.isInterruptible ? `(may_go_on() AND ${condition})` : condition;
}

/** The beginning of a condition on the rows that stand under `alias`: empty where queries are not ended. */
export function whileMayGoOn({ isInterruptible = false }: Tables, alias: string): string {
  return isInterruptible ? `CASE WHEN ${alias}.key & 15 THEN 1 ELSE may_go_on() END AND ` : '';
}
