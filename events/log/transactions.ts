import { errorOf } from '../../storage/errors.ts';
import { isFailure, type Sqlite } from '../../storage/sqlite.ts';
import type { Head } from '../proof/seals.ts';
import type { Batch, Tip } from './log-tip.ts';
import { markRows, type Rows } from './shipment.ts';

export type Transactions = ReturnType<typeof openTransactions>;

/** A transaction that is open: what it has recorded, and the head that it leads to. */
type Open<T> = { result: T; batch: Batch; after: Head };

/** Runs transactions that move the tip of a log, one at a time; when one fails, the tip is where the file says. */
export function openTransactions(db: Sqlite, tip: Tip) {
  const beginning = db.prepare('BEGIN IMMEDIATE');
  const end = db.prepare('COMMIT');
  const savepoint = db.prepare('SAVEPOINT command');
  const release = db.prepare('RELEASE command');
  const rollbackTo = db.prepare('ROLLBACK TO command');

  let open: Open<unknown> | null = null;
  let milliseconds = 0;

  /** Runs a transaction. @param run gives what this returns. */
  function commit<T>(run: (batch: Batch) => T): T {
    const { result, batch } = begin(run);
    settle(batch);
    return result;
  }

  /** Runs a transaction up to its commit, which is for {@link settle}. @param rows gathers what else it writes. */
  function begin<T>(run: (batch: Batch) => T, rows: Rows | null = null): Open<T> {
    requireSettled();
    const batch: Batch = { recorded: [], leaves: [], rows };
    try {
      beginning.run();
      const result = run(batch);
      const begun = { result, batch, after: tip.extend(batch) };
      open = begun;
      return begun;
    } catch (error) {
      undo();
      throw error;
    }
  }

  /** Commits the transaction of a batch. */
  function settle(batch: Batch): void {
    const { after } = take(batch);
    try {
      const ending = performance.now();
      end.run();
      milliseconds = performance.now() - ending;
      tip.moveTo(after);
    } catch (error) {
      undo();
      throw error;
    }
  }

  /** Leaves nothing of the transaction of a batch. */
  function rollBack(batch: Batch): void {
    take(batch);
    undo();
  }

  function take(batch: Batch): Open<unknown> {
    if (open?.batch !== batch) throw new Error('this batch of the log is settled');
    const found = open;
    open = null;
    return found;
  }

  function undo(): void {
    if (db.inTransaction) db.exec('ROLLBACK');
    tip.reload();
  }

  /** @throws Error while a transaction waits to be settled: another would become a part of it. */
  function requireSettled(): void {
    if (open) throw new Error('a batch of the log is not settled yet');
  }

  /** Gives the error of a part that SQLite refuses, after undoing that part alone. */
  function undoable<T>({ recorded, leaves, rows }: Batch, run: () => T): T | Error {
    const mark = recorded.length;
    const forget = rows && markRows(rows);
    savepoint.run();
    try {
      const outcome = run();
      release.run();
      return outcome;
    } catch (error) {
      if (isFailure(error) || !db.inTransaction) throw error;
      rollbackTo.run();
      release.run();
      recorded.length = mark;
      leaves.length = mark;
      forget?.();
      return errorOf(error);
    }
  }

  return { commit, begin, settle, rollBack, requireSettled, undoable, milliseconds: () => milliseconds };
}
