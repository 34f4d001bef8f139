import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import { type Connection, connect, type PostgresAddress, type Result, type Statement } from './connection.ts';
import { connectMilliseconds } from './durations.ts';
import { isBusy, isRefusal, UnfitServerError, UnreachableError } from './errors.ts';

/** A connection that is made when it is needed, and again after it broke, to the server that takes writes then. */
export type Session = {
  /**
   * Runs statements until they succeed, on new connections if one breaks.
   *
   * @param until the time by `performance.now()` at which it is given up.
   * @param run may run several times.
   * @throws UnreachableError when it did not succeed in time; UnfitServerError; the refusal of a server.
   */
  retried: <T>(until: number, run: (connection: Connection) => Promise<T>) => Promise<T>;
  close: () => Promise<void>;
};

/**
 * Opens a session, which connects when it is needed.
 *
 * @param warn is told what the operator should know about a server.
 * @param isFinal whether an error would only come again with another try.
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
        // Also a connection whose transaction is broken.
        connection?.destroy();
        if (error instanceof UnfitServerError || error instanceof UnknownCommitError || isFinal(error)) throw error;
        if (isClosed) throw new UnreachableError('it is closed', { cause: error });
        if (isRefusal(error) && !isBusy(error)) throw error;
        if (performance.now() + connectMilliseconds.least >= until || isBusy(error))
          throw new UnreachableError(messageOf(error), { cause: error });
        await pause(connectMilliseconds.pause);
      }
    }
  }

  async function close(): Promise<void> {
    isClosed = true;
    // The caller that connects gets the error.
    await current?.catch(() => {});
    // A server that stands still does not end a session.
    if (open?.isOpen()) await limited(open, performance.now() + connectMilliseconds.least, open.close).catch(() => {});
  }

  return { retried, close };
}

/** Runs something until a deadline; then the connection is ended, so that statements under way fail. */
export async function limited<T>(connection: Connection, until: number, run: () => Promise<T>): Promise<T> {
  let timer = setTimeout(
    () => {
      // If this thread was busy, the answer may have come and not be read yet.
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

/** Thrown when it is not known whether a commit was carried out. */
export class UnknownCommitError extends Error {
  override name = 'UnknownCommitError';
}

/**
 * Sends the last statements of a transaction and its COMMIT in one go.
 *
 * @throws the refusal of the first refused statement: then nothing was done; UnknownCommitError if that is not certain:
 * then the connection is ended.
 */
export async function commitWith(connection: Connection, statements: readonly Statement[]): Promise<Result[]> {
  connection.warnings();
  const results = await connection.send(...statements, { text: 'COMMIT' });
  const last = results.at(-1);
  const refused = results.slice(0, -1).find((result) => result.status === 'rejected')?.reason;
  // The first refusal has ended the transaction, and COMMIT has undone it, if COMMIT was reached.
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
