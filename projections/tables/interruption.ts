import type { Sqlite } from '../../storage/sqlite.ts';
import type { Tables } from './tables.ts';

/** Throws if the running read must end; null if no read may be ended. A thread runs one read at a time. */
let check: (() => void) | null = null;

/** Sets the check that the reads of this thread call as they proceed; null for none. */
export function setInterruption(ask: (() => void) | null): void {
  check = ask;
}

/** Checks that the running read may proceed. @throws the error of the check. */
export function requireUninterrupted(): void {
  check?.();
}

/** Registers `may_go_on`, which queries over {@link interruptible} tables call: it is true, or throws. */
export function registerInterruption(db: Sqlite): void {
  db.function('may_go_on', () => {
    check?.();
    return 1;
  });
}

/** The same tables, but their queries call the check at about every 16th row. That costs a fifth of a plain scan. */
export function interruptible(tables: Tables): Tables {
  return { ...tables, isInterruptible: true };
}

/**
 * A condition on a value in the text of a document, with the check before it: the text may be long, and a query may
 * have many such conditions. The check costs little beside reading JSON.
 */
export function interruptibleOnce(row: { tables: Tables } | null, condition: string): string {
  return row?.tables.isInterruptible ? `(may_go_on() AND ${condition})` : condition;
}

/** The beginning of a condition on the rows under `alias`, which calls the check; empty if queries are not ended. */
export function interruptibleScan({ isInterruptible = false }: Tables, alias: string): string {
  return isInterruptible ? `CASE WHEN ${alias}.key & 15 THEN 1 ELSE may_go_on() END AND ` : '';
}
