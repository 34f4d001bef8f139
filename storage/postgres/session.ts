import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import {
  type Connection,
  connect,
  type PostgresAddress,
  type PostgresStatement,
  type StatementResult,
} from './connection.ts';
import { connectMilliseconds } from './durations.ts';
import { isBusy, isRefusal, UnfitServerError, UnreachableError } from './errors.ts';

/** A connection to the server that takes writes. It is made when it is needed, and again after it broke. */
export type Session = {
  /**
   * Runs statements until they succeed, on a new connection if one breaks.
   *
   * @param until the deadline, by `performance.now()`.
   * @param run may be called several times.
   * @throws UnreachableError if it did not succeed in time; UnfitServerError; the refusal of a server.
   */
  retried: <T>(until: number, run: (connection: Connection) => Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

/**
 * Opens a session, which connects when it is needed.
 *
 * @param warn is told what the operator should know about a server.
 * @param isFinal whether another try would only fail with the same error.
 */
export function openSession(
  address: PostgresAddress,
  warn: (message: string) => void,
  isFinal: (error: unknown) => boolean = () => false,
): Session {
  let current: Promise<Connection> | null = null;
  let open: Connection | null = null;
  let isClosed = false;

  async function connected(until: number): Promise<Connection> {
    if (isClosed) throw new UnreachableError('the session is closed');
    if (open?.isOpen()) return open;
    current ??= connect(
      address,
      Math.min(Math.max(until - performance.now(), 1), connectMilliseconds.longest),
      warn,
    ).finally(() => {
      current = null;
    });
    open = await current;
    return open;
  }

  async function retried<T>(until: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    for (;;) {
      let connection: Connection | null = null;
      try {
        connection = await connected(until);
        return await limited(connection, until, () => run(connection as Connection));
      } catch (error) {
        // This also closes a connection whose transaction is broken.
        connection?.destroy();
        if (error instanceof UnfitServerError || error instanceof UnknownCommitError || isFinal(error)) throw error;
        if (isClosed) throw new UnreachableError('the session is closed', { cause: error });
        if (isRefusal(error) && !isBusy(error)) throw error;
        if (performance.now() + connectMilliseconds.least >= until || isBusy(error))
          throw new UnreachableError(messageOf(error), { cause: error });
        await pause(connectMilliseconds.pause);
      }
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    // The caller that waits for the connection gets the error.
    await current?.catch(() => {});
    // A server that has stopped responding does not end a session.
    if (open?.isOpen()) await limited(open, performance.now() + connectMilliseconds.least, open.close).catch(() => {});
  }

  return { retried, close };
}

/** Runs a function with a deadline. At the deadline the connection is ended, so that the running statements fail. */
export async function limited<T>(connection: Connection, until: number, run: () => Promise<T>): Promise<T> {
  let timer = setTimeout(
    () => {
      // If this thread was busy, the answer may have arrived without being read yet.
      timer = setTimeout(connection.destroy, connectMilliseconds.grace);
    },
    Math.max(until - performance.now(), 0),
  );
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}

/** Thrown if it is not known whether a commit was executed. */
export class UnknownCommitError extends Error {
  override name = 'UnknownCommitError';
}

/**
 * Sends the last statements of a transaction together with its COMMIT.
 *
 * @throws the error of the first refused statement, if nothing was done; UnknownCommitError if the outcome is not
 * certain, after ending the connection.
 */
export async function commitWith(
  connection: Connection,
  statements: readonly PostgresStatement[],
): Promise<StatementResult[]> {
  connection.warnings();
  const results = await connection.send(...statements, { text: 'COMMIT' });
  const last = results.at(-1);
  const refused = results.slice(0, -1).find((result) => result.status === 'rejected')?.reason;
  // The first refusal has aborted the transaction, and COMMIT, if it was reached, has rolled it back.
  if (refused !== undefined && isRefusal(refused)) {
    if (last?.status !== 'fulfilled') connection.destroy();
    throw refused;
  }
  const warnings = connection.warnings();
  const isDone = refused === undefined && last?.status === 'fulfilled' && last.value.command === 'COMMIT';
  // If the wait for the standby was cancelled, the server still answers COMMIT; a warning is the only sign.
  if (isDone && warnings.length === 0)
    return results.slice(0, -1).flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  connection.destroy();
  const reason = refused ?? (last?.status === 'rejected' ? last.reason : undefined);
  throw new UnknownCommitError(warnings[0] ?? (reason === undefined ? 'it rolled back' : messageOf(reason)), {
    cause: reason,
  });
}
