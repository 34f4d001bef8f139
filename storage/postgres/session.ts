import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import { type Connection, connect, type PostgresAddress, type Result, type Statement } from './connection.ts';
import { isBusy, isRefusal, UnfitServerError, UnreachableError } from './errors.ts';

/** A connection that is made anew when it is needed, to whichever server takes writes then. */
export type Session = {
  /**
   * Repeats what can be repeated until it is done, on new connections where one breaks.
   *
   * @param until when it is given up, by `performance.now()`.
   * @throws UnreachableError when it was not done in time; UnfitServerError; what a server refused.
   */
  retried: <T>(until: number, run: (connection: Connection) => Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

const pauseMilliseconds = 50;

/**
 * With less time left than this, in milliseconds, no further try is made: it would only hide why the last one failed.
 */
const leastConnecting = 250;

/** After a deadline what has come is read for so many milliseconds. */
const grace = 20;

/** A server that does not answer is given up after so many milliseconds: another one may take writes by then. */
const longestConnecting = 2000;

/**
 * Opens it; nothing is connected before it is needed.
 *
 * @param warn is told what the operator should know about a server.
 * @param isFinal tells errors that another try would only meet again.
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
    if (isClosed) throw new UnreachableError('it is closed');
    if (open?.isOpen()) return open;
    current ??= connect(address, Math.min(Math.max(until - performance.now(), 1), longestConnecting), warn).finally(
      () => {
        current = null;
      },
    );
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
        // Also one whose transaction is broken.
        connection?.destroy();
        if (error instanceof UnfitServerError || error instanceof UnknownCommitError || isFinal(error)) throw error;
        if (isClosed) throw new UnreachableError('it is closed', { cause: error });
        if (isRefusal(error) && !isBusy(error)) throw error;
        if (performance.now() + leastConnecting >= until || isBusy(error))
          throw new UnreachableError(messageOf(error), { cause: error });
        await pause(pauseMilliseconds);
      }
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    await current?.catch(() => {});
    // A server that stands still does not say goodbye.
    if (open?.isOpen()) await limited(open, performance.now() + leastConnecting, open.close).catch(() => {});
  }

  return { retried, close };
}

/** Runs something until a deadline; then the connection is ended, and what is under way fails. */
export async function limited<T>(connection: Connection, until: number, run: () => Promise<T>): Promise<T> {
  let timer = setTimeout(
    () => {
      // Where this thread was busy, the answer may have come and is not read yet.
      timer = setTimeout(connection.destroy, grace);
    },
    Math.max(until - performance.now(), 0),
  );
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}

/** Thrown when it is not known whether a commit was carried out. */
export class UnknownCommitError extends Error {
  override name = 'UnknownCommitError';
}

/**
 * Sends the last statements of a transaction and its COMMIT in one go.
 *
 * @throws what the first refused statement was refused with: then nothing is done; UnknownCommitError, and the
 * connection is ended, where that is not certain.
 */
export async function commitWith(connection: Connection, statements: readonly Statement[]): Promise<Result[]> {
  connection.warnings();
  const results = await connection.send(...statements, { text: 'COMMIT' });
  const last = results.at(-1);
  const refused = results.slice(0, -1).find((result) => result.status === 'rejected')?.reason;
  // The first refusal has ended the transaction, and COMMIT has undone it, if it came so far.
  if (refused !== undefined && isRefusal(refused)) {
    if (last?.status !== 'fulfilled') connection.destroy();
    throw refused;
  }
  const warnings = connection.warnings();
  const isDone = refused === undefined && last?.status === 'fulfilled' && last.value.command === 'COMMIT';
  // A commit whose wait for the standby was cancelled says COMMIT like any other; a warning is the only sign.
  if (isDone && warnings.length === 0)
    return results.slice(0, -1).flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  connection.destroy();
  const reason = refused ?? (last?.status === 'rejected' ? last.reason : undefined);
  throw new UnknownCommitError(warnings[0] ?? (reason === undefined ? 'it rolled back' : messageOf(reason)), {
    cause: reason,
  });
}
