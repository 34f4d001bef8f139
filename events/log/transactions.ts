import { errorOf } from '../../storage/errors.ts';
import { isFailure, type Sqlite } from '../../storage/sqlite.ts';
import type { Head } from '../proof/seals.ts';
import type { Batch, Tip } from './log-tip.ts';
import { markRows, type Rows } from './shipment.ts';

export type Transactions = ReturnType<typeof openTransactions>;

/** A transaction that has begun: what it has recorded, and the head that it leads to. */
type Begun<T> = { result: T; batch: Batch; after: Head };

/** The transaction that is open, if any, and the statements for all. */
type TransactionState = {
  db: Sqlite;
  tip: Tip;
  statements: ReturnType<typeof prepareStatements>;
  /** The transaction that waits to be settled. */
  open: Begun<unknown> | null;
  /** How long the last commit took. */
  milliseconds: number;
};

/** Runs transactions that move the tip of a log, one at a time; when one fails, the tip is where the file says. */
export function openTransactions(db: Sqlite, tip: Tip) {
  const state: TransactionState = { db, tip, statements: prepareStatements(db), open: null, milliseconds: 0 };
  return {
    /** Runs a transaction and commits it. @returns what `run` returns. */
    commit<T>(run: (batch: Batch) => T): T {
      const { result, batch } = begin(state, run, null);
      settle(state, batch);
      return result;
    },
    /**
     * Runs a transaction up to its commit, which `settle` makes. @param rows gathers what it writes beside its events.
     */
    begin: <T>(run: (batch: Batch) => T, rows: Rows | null = null): Begun<T> => begin(state, run, rows),
    /** Commits the transaction of a batch. */
    settle: (batch: Batch): void => settle(state, batch),
    /** Leaves nothing of the transaction of a batch. */
    rollBack(batch: Batch): void {
      take(state, batch);
      undo(state);
    },
    /** @throws Error while a transaction waits to be settled: another would become a part of it. */
    requireSettled: (): void => requireSettled(state),
    /** Runs a part of a transaction. @returns the error if SQLite refuses the part, which is then undone alone. */
    undoable: <T>(batch: Batch, run: () => T): T | Error => undoable(state, batch, run),
    milliseconds: (): number => state.milliseconds,
  };
}

function prepareStatements(db: Sqlite) {
  return {
    begin: db.prepare('BEGIN IMMEDIATE'),
    commit: db.prepare('COMMIT'),
    savepoint: db.prepare('SAVEPOINT command'),
    release: db.prepare('RELEASE command'),
    rollbackTo: db.prepare('ROLLBACK TO command'),
  };
}

function begin<T>(state: TransactionState, run: (batch: Batch) => T, rows: Rows | null): Begun<T> {
  requireSettled(state);
  const batch: Batch = { recorded: [], leaves: [], rows };
  try {
    state.statements.begin.run();
    const result = run(batch);
    const begun = { result, batch, after: state.tip.extend(batch) };
    state.open = begun;
    return begun;
  } catch (error) {
    undo(state);
    throw error;
  }
}

function settle(state: TransactionState, batch: Batch): void {
  const { after } = take(state, batch);
  try {
    const start = performance.now();
    state.statements.commit.run();
    state.milliseconds = performance.now() - start;
    state.tip.moveTo(after);
  } catch (error) {
    undo(state);
    throw error;
  }
}

function take(state: TransactionState, batch: Batch): Begun<unknown> {
  const { open } = state;
  if (open?.batch !== batch) throw new Error('this batch of the log is settled');
  state.open = null;
  return open;
}

function undo({ db, tip }: TransactionState): void {
  if (db.inTransaction) db.exec('ROLLBACK');
  tip.reload();
}

function requireSettled({ open }: TransactionState): void {
  if (open) throw new Error('a batch of the log is not settled yet');
}

function undoable<T>({ db, statements }: TransactionState, { recorded, leaves, rows }: Batch, run: () => T): T | Error {
  const mark = recorded.length;
  const forget = rows && markRows(rows);
  statements.savepoint.run();
  try {
    const outcome = run();
    statements.release.run();
    return outcome;
  } catch (error) {
    if (isFailure(error) || !db.inTransaction) throw error;
    statements.rollbackTo.run();
    statements.release.run();
    recorded.length = mark;
    leaves.length = mark;
    forget?.();
    return errorOf(error);
  }
}
