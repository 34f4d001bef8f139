import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../storage/errors.ts';
import { type Connection, connect, type PostgresAddress, type Statement } from '../../storage/postgres/connection.ts';
import { isBusy, isDuplicate, isRefusal, UnfitServerError } from '../../storage/postgres/errors.ts';
import { DivergedError } from '../ingesting.ts';
import { emptyRoot } from '../merkle.ts';
import {
  LogWentBackError,
  type Reached,
  refuseLoss,
  type SharedLog,
  SharedLogUnavailableError,
  type Taken,
  TooFarBehindError,
  UnknownShipmentError,
} from '../shared-log.ts';
import type { SharedHead } from '../shipped.ts';
import { headOf, headQuery, lockQuery, missedOf, missedQueries, shipStatements } from './rows.ts';
import { prepareTables, refuseTooManyRights } from './tables.ts';

/**
 * @param site names the log within its database; the empty text where there is one alone.
 * @param makeName gives the name of a log that is not there yet: that in its headers.
 * @param warn is told what the operator should know.
 * @param patience the milliseconds after which a call is given up that does not say it itself; `opening`: the same for the opening.
 */
export type PostgresLogOptions = {
  address: PostgresAddress;
  site: string;
  makeName: () => string;
  warn: (message: string) => void;
  patience?: number;
  opening?: number;
};

/** `name`: the one that is in the headers of its events. */
export type PostgresLog = SharedLog & {
  name: string;
  /** Forgets some of the attempts that were kept before a moment, in milliseconds since the epoch. */
  forgetAttempts: (before: number) => Promise<void>;
};

/** No client waits longer for a write: then it is told that the service is not available. */
export const usualPatience = 5000;

/** So many events a node may lack when it takes the log: it catches up while all others wait. */
const mostMissed = 1000;

const pauseMilliseconds = 50;

/** With less time left than this, in milliseconds, no further try is made: it would only hide why the last one failed. */
const leastConnecting = 250;

/** A server that does not answer is given up after so many milliseconds: another one may take writes by then. */
const longestConnecting = 2000;

const clockQuery: Statement = {
  name: 'clock',
  text: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
};

/**
 * Opens the log of a site in PostgreSQL; the first node that does makes it. Connections are made anew when they break, to whichever
 * server takes writes then.
 *
 * @throws SharedLogUnavailableError; UnfitServerError, with what the operator has to change.
 */
export async function openPostgresLog(options: PostgresLogOptions): Promise<PostgresLog> {
  const { address, site, makeName, warn, patience = usualPatience, opening = patience } = options;
  const told = new Set<string>();
  const warnOnce = (message: string) => {
    if (!told.has(message)) warn(message);
    told.add(message);
  };
  const writing = openSession(address, warnOnce);
  const reading = openSession(address, warnOnce);
  const { log, name } = await writing.retried(performance.now() + opening, (first) => establish(first, site, makeName));

  /** The furthest that this node has seen the log. */
  let seen: Reached = { size: 0, root: emptyRoot };
  let isTaken = false;

  /** Answers may come in another order than their questions, so a head is compared with what was seen before it was asked for. */
  function note(head: SharedHead, before: Reached): SharedHead {
    refuseLoss(head, before);
    if (head.size > seen.size) seen = head;
    return head;
  }

  async function take(from: Reached, within = patience, hold?: number): Promise<Taken> {
    if (isTaken) throw new Error('the log is taken already');
    isTaken = true;
    const until = performance.now() + within;
    try {
      const held = await locked(from, until);
      if (hold !== undefined) await held.connection.run(holding(hold));
      return await takenBy(held, from, until);
    } catch (error) {
      isTaken = false;
      throw error;
    }
  }

  /** Waits for the lock: on another connection where one breaks, for nothing was done on it. */
  async function locked(from: Reached, until: number) {
    return await writing.retried(until, async (connection) => {
      const [, lock, clock, ...rows] = await connection.run(
        { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' },
        lockQuery(log),
        // Not with the lock: it would be the time at which waiting began.
        clockQuery,
        ...missedQueries(log, from.size, mostMissed),
      );
      return { connection, head: headOf(lock), now: Number(clock?.rows[0]?.now), rows };
    });
  }

  async function takenBy(held: Awaited<ReturnType<typeof locked>>, from: Reached, until: number): Promise<Taken> {
    const { connection, head, now, rows } = held;
    try {
      refuseLoss(head, from);
      note(head, seen);
    } catch (error) {
      connection.destroy();
      throw error;
    }
    const missed = missedOf(head, from.size, rows);
    if (missed.head === null) {
      await rollback(connection, until);
      throw new TooFarBehindError(`the log ends at ${head.size}, the replica at ${from.size}`);
    }

    async function end<T>(run: () => Promise<T>): Promise<T> {
      if (!isTaken) throw new Error('the log is not taken any more');
      try {
        return await run();
      } finally {
        isTaken = false;
      }
    }

    return {
      head,
      now,
      missed,
      ship: (shipped) =>
        end(async () => {
          if (shipped.from !== head.size)
            throw new Error(`a shipment from ${shipped.from} on a log that ends at ${head.size}`);
          await commit(connection, shipStatements(log, shipped), until);
          seen = shipped.head;
        }),
      confirm: () => end(() => commit(connection, [touch(log)], until)),
      release: () => end(() => rollback(connection, until)),
    };
  }

  async function read<T>(run: (connection: Connection) => Promise<T>, within = patience): Promise<T> {
    return await reading.retried(performance.now() + within, run);
  }

  async function head(): Promise<SharedHead> {
    const before = seen;
    const [found] = await read((connection) => connection.run(headQuery(log)));
    return note(headOf(found), before);
  }

  return {
    name,
    take,
    head,
    async tail(after, limit, within) {
      const before = seen;
      const [found, ...rows] = await read(
        (connection) => connection.run(headQuery(log), ...missedQueries(log, after, limit)),
        within,
      );
      const end = note(headOf(found), before);
      if (end.size < after)
        throw new LogWentBackError(`the log went back: it ends at ${end.size}, a replica at ${after}`);
      return missedOf(end, after, rows);
    },
    async forgetAttempts(before) {
      await read((connection) =>
        connection.run({
          text: `DELETE FROM annals.attempts WHERE log = $1 AND recorded_at <= $2 AND since IN (
                   SELECT since FROM annals.attempts WHERE log = $1 ORDER BY since LIMIT 500
                 )`,
          values: [log, before],
        }),
      );
    },
    async close() {
      await Promise.all([writing.close(), reading.close()]);
    },
  };
}

/** Lets the transaction that is open be left alone for so many milliseconds. */
function holding(milliseconds: number): Statement {
  return { text: `SET LOCAL idle_in_transaction_session_timeout = '${Math.ceil(milliseconds)}ms'` };
}

/** Changes nothing, and yet is a commit: once it is on the standby, so is all that was committed before. */
function touch(log: number): Statement {
  return { text: 'UPDATE annals.heads SET size = size WHERE log = $1', values: [log] };
}

/** Finds the log of a site, or makes it. */
async function establish(
  connection: Connection,
  site: string,
  makeName: () => string,
): Promise<{ log: number; name: string }> {
  await prepareTables(connection);
  await refuseTooManyRights(connection);
  const select = { text: 'SELECT log, name FROM annals.heads WHERE site = $1', values: [site] };
  for (;;) {
    const [found] = await connection.run(select);
    const row: { log: number; name: string } | undefined = found?.rows[0];
    if (row) return row;
    // Two that come first at the same time get the same number, and one of them tries again.
    await connection.run({
      text: `INSERT INTO annals.heads SELECT coalesce(max(log), 0) + 1, $1, $2, 0, $3, '' FROM annals.heads ON CONFLICT DO NOTHING`,
      values: [site, makeName(), emptyRoot],
    });
  }
}

/**
 * Ends a transaction under the lock by a commit.
 *
 * @throws UnknownShipmentError unless it is certain that it was not carried out.
 */
async function commit(connection: Connection, statements: readonly Statement[], until: number): Promise<void> {
  if (!connection.isOpen() || performance.now() >= until) {
    connection.destroy();
    throw new SharedLogUnavailableError('the log in PostgreSQL is not taken any more: it took too long');
  }
  connection.warnings();
  const results = await limited(connection, until, () => connection.send(...statements, { text: 'COMMIT' }));
  const last = results.at(-1);
  const refused = results.slice(0, -1).find((result) => result.status === 'rejected')?.reason;
  // The first refusal has ended the transaction, and COMMIT has undone it, if it came so far.
  if (refused !== undefined && isRefusal(refused)) {
    if (last?.status !== 'fulfilled') connection.destroy();
    throw refusalOf(refused);
  }
  const warnings = connection.warnings();
  const isDone = refused === undefined && last?.status === 'fulfilled' && last.value.command === 'COMMIT';
  // A commit whose wait for the standby was cancelled says COMMIT like any other; a warning is the only sign.
  if (isDone && warnings.length === 0) return;
  connection.destroy();
  const reason = refused ?? (last?.status === 'rejected' ? last.reason : undefined);
  throw new UnknownShipmentError(
    `it is not known whether PostgreSQL has committed: ${warnings[0] ?? (reason === undefined ? 'it rolled back' : messageOf(reason))}`,
    { cause: reason },
  );
}

function refusalOf(error: unknown): Error {
  if (isDuplicate(error)) {
    return new DivergedError(`the log in PostgreSQL holds other things than this node's replica: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (isBusy(error)) return new SharedLogUnavailableError(`PostgreSQL refused: ${messageOf(error)}`, { cause: error });
  return error as Error;
}

async function rollback(connection: Connection, until: number): Promise<void> {
  try {
    await limited(connection, until, () => connection.run({ text: 'ROLLBACK' }));
  } catch {
    // Without its session the transaction ends as well.
    connection.destroy();
  }
}

/** Runs something until a deadline; then the connection is ended, and what is under way fails. */
async function limited<T>(connection: Connection, until: number, run: () => Promise<T>): Promise<T> {
  const timer = setTimeout(connection.destroy, Math.max(until - performance.now(), 0));
  try {
    return await run();
  } finally {
    clearTimeout(timer);
  }
}

/** A connection that is made again when it is needed. */
function openSession(address: PostgresAddress, warn: (message: string) => void) {
  let current: Promise<Connection> | null = null;
  let open: Connection | null = null;
  let isClosed = false;

  async function connected(until: number): Promise<Connection> {
    if (isClosed) throw new SharedLogUnavailableError('the log is closed');
    if (open?.isOpen()) return open;
    current ??= connect(address, Math.min(Math.max(until - performance.now(), 1), longestConnecting), warn).finally(
      () => {
        current = null;
      },
    );
    open = await current;
    return open;
  }

  /** Repeats what can be repeated until it is done, on new connections where one breaks. */
  async function retried<T>(until: number, run: (connection: Connection) => Promise<T>): Promise<T> {
    for (;;) {
      let connection: Connection | null = null;
      try {
        connection = await connected(until);
        return await limited(connection, until, () => run(connection as Connection));
      } catch (error) {
        // Also one whose transaction is broken.
        connection?.destroy();
        if (error instanceof UnfitServerError || error instanceof SharedLogUnavailableError) throw error;
        if (isRefusal(error) && !isBusy(error)) throw error;
        if (performance.now() + leastConnecting >= until || isBusy(error))
          throw new SharedLogUnavailableError(`the log in PostgreSQL is not available: ${messageOf(error)}`, {
            cause: error,
          });
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
