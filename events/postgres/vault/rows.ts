import { DomainError } from '../../../config/errors.ts';
import { messageOf } from '../../../storage/errors.ts';
import type {
  Connection,
  PostgresAddress,
  PostgresStatement,
  StatementResult,
} from '../../../storage/postgres/connection.ts';
import { UnreachableError } from '../../../storage/postgres/errors.ts';
import { commitWith, openSession, UnknownCommitError } from '../../../storage/postgres/session.ts';
import { openWaitingCommits } from './waiting-commits.ts';

/** The decision of a transaction: what it writes, and what its caller gets. */
type Decision<T> =
  | { statements: PostgresStatement[]; value: T }
  /** Others were faster: the transaction begins anew. */
  | 'again';

/** The rows of the vault of one log in PostgreSQL. `log` is the number of the vault, which is part of every key. */
export type VaultRows = {
  log: number;
  /** @throws DomainError `unavailable`, as the others do. */
  read: (statement: PostgresStatement) => Promise<StatementResult['rows']>;
  /** Writes in one transaction. The statements must do no harm if they are carried out twice. */
  write: (...statements: PostgresStatement[]) => Promise<StatementResult[]>;
  /**
   * Reads, decides by that, and writes, in one transaction. The reads have to lock what is decided on.
   *
   * @param decide is pure, for it may be called again. When it throws, nothing is written.
   */
  change: <T>(
    reads: readonly PostgresStatement[],
    decide: (rows: StatementResult['rows'][]) => Decision<T>,
  ) => Promise<T>;
};

/** The clock of the server, in milliseconds since the epoch. */
export const serverTime = 'floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/** The least time of a transaction, in milliseconds: a call that still waits with less than this left is refused. */
const leastMilliseconds = 500;
const lookMilliseconds = 100;

type Options = {
  address: PostgresAddress;
  patience: number;
  /** The same for the first connection. */
  opening: number;
  warn: (message: string) => void;
  /** Finds the number of the vault, on a first connection. */
  establish: (connection: Connection) => Promise<number>;
};

/**
 * Opens the connections of a vault: one for reading, so that reads do not wait for a commit, and one for transactions.
 *
 * @throws UnreachableError, UnfitServerError.
 */
export async function openRows({ address, patience, opening, warn, establish }: Options): Promise<{
  rows: VaultRows;
  close: () => Promise<void>;
}> {
  const told = new Set<string>();
  const warnOnce = (message: string) => {
    if (!told.has(message)) warn(message);
    told.add(message);
  };
  const reading = openSession(address, warnOnce);
  const writing = openSession(address, warnOnce);
  const commits = openWaitingCommits(reading);
  const log = await writing.retried(performance.now() + opening, establish);
  let isInTrouble = false;
  let last: Promise<unknown> = Promise.resolve();

  async function available<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await work;
      isInTrouble = false;
      return result;
    } catch (error) {
      if (!(error instanceof UnreachableError || error instanceof UnknownCommitError)) throw error;
      if (!isInTrouble) warn(`the vault in PostgreSQL is not available: ${messageOf(error)}`);
      isInTrouble = true;
      throw unavailable();
    }
  }

  /** Runs transactions one after the other, on one connection. The time in the queue counts to the patience. */
  function queued<T>(run: (connection: Connection) => Promise<T>): Promise<T> {
    const until = performance.now() + patience;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    let isRefusal = false;
    const stopWaiting = whenWaited(patience - leastMilliseconds, () => {
      isRefusal = true;
      warnOnce('the vault in PostgreSQL is slow: calls that wait behind others are refused');
      reject(unavailable());
    });
    last = last.then(async () => {
      stopWaiting();
      if (isRefusal) return;
      await available(committed(Math.max(until, performance.now() + leastMilliseconds), run)).then(resolve, reject);
    });
    return promise;
  }

  async function committed<T>(until: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    await commits.settled(until);
    const result = await writing.retried(until, async (connection) => {
      await commits.begin(connection, until);
      return await run(connection);
    });
    commits.end();
    return result;
  }

  async function decideOnce<T>(
    connection: Connection,
    reads: readonly PostgresStatement[],
    decide: (rows: StatementResult['rows'][]) => Decision<T>,
  ): Promise<Decision<T> | Refusal> {
    const [, ...read] = await connection.run({ text: 'BEGIN ISOLATION LEVEL READ COMMITTED' }, ...reads);
    const decided = decidedOf(() => decide(read.map(({ rows }) => rows)));
    if (decided !== 'again' && 'statements' in decided && decided.statements.length > 0)
      await commitWith(connection, decided.statements);
    else await connection.run({ text: 'ROLLBACK' });
    return decided;
  }

  const rows: VaultRows = {
    log,
    async read(statement) {
      const work = reading.retried(performance.now() + patience, (connection) => connection.run(statement));
      const [result] = await available(work);
      return result?.rows ?? [];
    },
    write: (...statements) =>
      queued(async (connection) => {
        try {
          return (await commitWith(connection, [{ text: 'BEGIN' }, ...statements])).slice(1);
        } catch (error) {
          // It does no harm to do it twice: if the outcome is not known, it is tried again.
          throw error instanceof UnknownCommitError ? new Error(error.message, { cause: error }) : error;
        }
      }),
    async change(reads, decide) {
      const decided = await queued(async (connection) => {
        for (;;) {
          const last = await decideOnce(connection, reads, decide);
          if (last !== 'again') return last;
        }
      });
      if ('refusal' in decided) throw decided.refusal;
      return decided.value;
    },
  };
  return {
    rows,
    async close() {
      await last;
      await Promise.all([reading.close(), writing.close()]);
    },
  };
}

/** The error that a decision threw: nothing is wrong with the connection. */
type Refusal = { refusal: unknown };

function decidedOf<T>(decide: () => Decision<T>): Decision<T> | Refusal {
  try {
    return decide();
  } catch (refusal) {
    return { refusal };
  }
}

/**
 * Calls a function after a time. Milliseconds in which this thread was busy do not count: answers may have come that it
 * could not read.
 *
 * @returns ends the wait.
 */
function whenWaited(milliseconds: number, run: () => void): () => void {
  let left = milliseconds;
  let since = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    left -= Math.min(now - since, 2 * lookMilliseconds);
    since = now;
    if (left > 0) return;
    clearInterval(timer);
    run();
  }, lookMilliseconds);
  return () => clearInterval(timer);
}

function unavailable(): DomainError {
  return new DomainError('unavailable', 'the vault of the service does not answer: try again later', [], 5);
}

/** The subjects whose rows change together. */
export type VaultSubject = 'keys' | 'drafts' | 'own-drafts' | 'preview-tokens' | 'pins' | 'webhooks';

/** Locks the rows of a subject until the end of the transaction, and selects the last number that a row has got. */
export function lockOf(log: number, subject: VaultSubject): PostgresStatement {
  return {
    text: 'SELECT last_number AS last FROM annals_vault.locks WHERE log = $1 AND subject = $2 FOR UPDATE',
    values: [log, subject],
  };
}

/** Stores the last number that a row of a subject has got. */
export function numberedUpTo(log: number, subject: VaultSubject, last: number): PostgresStatement {
  return {
    text: 'UPDATE annals_vault.locks SET last_number = $3 WHERE log = $1 AND subject = $2',
    values: [log, subject, last],
  };
}
