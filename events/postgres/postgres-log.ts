import { randomUUID } from 'node:crypto';
import { messageOf } from '../../storage/errors.ts';
import type { Connection, PostgresAddress, Statement } from '../../storage/postgres/connection.ts';
import { isBusy, isDuplicate, UnreachableError } from '../../storage/postgres/errors.ts';
import { commitWith, limited, openSession, UnknownCommitError } from '../../storage/postgres/session.ts';
import { DivergedError } from '../log/ingesting.ts';
import type { SharedHead } from '../log/shipped.ts';
import { emptyRoot } from '../proof/merkle.ts';
import {
  LogMovedError,
  type Reached,
  refuseLoss,
  type SharedLog,
  SharedLogUnavailableError,
  type Taken,
  TooFarBehindError,
  UnknownShipmentError,
} from '../replica/shared-log.ts';
import { endHung, endingHung, holding } from './hung-sessions.ts';
import { openForgetting } from './idempotency.ts';
import { areDivided, type LogTables, usualPartSize } from './parts.ts';
import {
  headOf,
  headQuery,
  lockQuery,
  missedOf,
  missedQueries,
  type Place,
  requireHere,
  shipStatements,
} from './rows.ts';
import { prepareTables, refuseTooManyRights } from './tables.ts';

/**
 * @param site names the log within its database; the empty text where there is one alone.
 * @param makeName gives the name of a log that is not there yet: that in its headers.
 * @param warn is told what the operator should know.
 * @param patience the milliseconds after which a call is given up that does not say it itself; `opening`: the same for
 * the opening.
 * @param measure is told how many seconds it took to get the lock, and to append and commit under it.
 * @param partSize the positions of one part of the tables; the same for all nodes.
 */
export type PostgresLogOptions = {
  address: PostgresAddress;
  site: string;
  makeName: () => string;
  warn: (message: string) => void;
  patience?: number;
  opening?: number;
  partSize?: number;
  measure?: (what: 'lock' | 'ship', seconds: number) => void;
};

/**
 * `name`: the one that is in the headers of its events. `token`: new when the log is moved here, so replicas of before
 * know it. `tables`: as its tables know it.
 */
export type PostgresLog = SharedLog & {
  name: string;
  token: string;
  tables: LogTables;
  /** Forgets the attempts that were kept longer ago than so many milliseconds, by the clock of PostgreSQL. */
  forgetAttempts: (age: number) => Promise<void>;
};

/** No client waits longer for a write: then it is told that the service is not available. */
export const usualPatience = 5000;

/** So many events a node may lack when it takes the log: it catches up while all others wait. */
const mostMissed = 1000;

const clockQuery: Statement = {
  name: 'clock',
  text: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
};

/**
 * Opens the log of a site in PostgreSQL; the first node that does makes it. Connections are made anew when they break,
 * to whichever server takes writes then.
 *
 * @throws SharedLogUnavailableError; UnfitServerError, with what the operator has to change.
 */
export async function openPostgresLog(options: PostgresLogOptions): Promise<PostgresLog> {
  const { address, site, makeName, warn, patience = usualPatience, opening = patience } = options;
  const { partSize = usualPartSize, measure = () => {} } = options;
  const told = new Set<string>();
  const warnOnce = (message: string) => {
    if (!told.has(message)) warn(message);
    told.add(message);
  };
  const writing = openSession(address, warnOnce, (error) => error instanceof LogMovedError);
  const reading = openSession(address, warnOnce, (error) => error instanceof LogMovedError);
  const { log, name, token, state, isDivided } = await available(
    writing.retried(performance.now() + opening, (first) => establish(first, site, makeName)),
  );
  const tables = { log, partSize: isDivided ? partSize : null };
  const forgetting = openForgetting(address, log, warnOnce);

  try {
    requireHere(state);
  } catch (error) {
    await Promise.all([writing.close(), reading.close()]);
    throw error;
  }

  /** The furthest that this node has seen the log. */
  let seen: Reached = { size: 0, root: emptyRoot };
  let isTaken = false;

  /**
   * Answers may come in another order than their questions, so a head is compared with what was seen before it was
   * asked for.
   */
  function note(head: SharedHead, before: Reached): SharedHead {
    refuseLoss(head, before);
    if (head.size > seen.size) seen = head;
    return head;
  }

  async function take(from: Reached, within = patience, hold?: number): Promise<Taken> {
    if (isTaken) throw new Error('the log is taken already');
    isTaken = true;
    const begun = performance.now();
    const until = begun + within;
    const before = seen;
    try {
      const held = await endingHung(endHungSession, () => locked(from, until, hold));
      measure('lock', (performance.now() - begun) / 1000);
      return await takenBy(held, { from, before, until });
    } catch (error) {
      isTaken = false;
      throw error;
    }
  }

  /** Waits for the lock: on another connection where one breaks, for nothing was done on it. */
  async function locked(from: Reached, until: number, hold?: number) {
    const taking = writing.retried(until, async (connection) => {
      const [, lock, clock, ...rows] = await connection.run(
        { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' },
        lockQuery(log),
        // Not with the lock: it would be the time at which waiting began.
        clockQuery,
        ...missedQueries(log, from.size, mostMissed),
        ...(hold === undefined ? [] : [holding(hold)]),
      );
      return { connection, lock, now: Number(clock?.rows[0]?.now), rows };
    });
    return await available(taking);
  }

  async function endHungSession(): Promise<void> {
    const [ended] = await read((connection) => connection.run(endHung(log)));
    if (ended?.rows.length) warnOnce('a session of a node was ended: it stood still while it held the log');
  }

  async function takenBy(
    held: Awaited<ReturnType<typeof locked>>,
    { from, before, until }: { from: Reached; before: Reached; until: number },
  ): Promise<Taken> {
    const { connection, now, rows } = held;
    const head = orDestroy(connection, () => {
      const found = headOf(held.lock);
      refuseLoss(found, from);
      return note(found, before);
    });
    const all = missedOf(head, from.size, rows);
    if (all.head === null) {
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
      missed: (after) => (after === from.size ? all : missedOf(head, after, rows)),
      ship: (shipped) =>
        end(async () => {
          if (shipped.from !== head.size)
            throw new Error(`a shipment from ${shipped.from} on a log that ends at ${head.size}`);
          const begun = performance.now();
          await commit(connection, shipStatements(tables, shipped), until);
          measure('ship', (performance.now() - begun) / 1000);
          if (shipped.head.size > seen.size) seen = shipped.head;
        }),
      confirm: () => end(() => commit(connection, [touch(log)], until)),
      release: () => end(() => rollback(connection, until)),
    };
  }

  async function read<T>(run: (connection: Connection) => Promise<T>, within = patience): Promise<T> {
    return await available(reading.retried(performance.now() + within, run));
  }

  async function head(): Promise<SharedHead> {
    const before = seen;
    const [found] = await read((connection) => connection.run(headQuery(log)));
    return note(headOf(found), before);
  }

  return {
    name,
    token,
    tables,
    take,
    head,
    async tail(after, limit, within) {
      const before = seen;
      const [found, ...rows] = await read(
        (connection) => connection.run(headQuery(log), ...missedQueries(log, after.size, limit)),
        within,
      );
      const end = note(headOf(found), before);
      refuseLoss(end, after);
      return missedOf(end, after.size, rows);
    },
    forgetAttempts: forgetting.forget,
    async close() {
      await Promise.all([writing.close(), reading.close(), forgetting.close()]);
    },
  };
}

/** @throws SharedLogUnavailableError where the server was not reached in time. */
async function available<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    throw new SharedLogUnavailableError(`the log in PostgreSQL is not available: ${error.message}`, { cause: error });
  }
}

/** Without its session its lock ends as well. */
function orDestroy<T>(connection: Connection, run: () => T): T {
  try {
    return run();
  } catch (error) {
    connection.destroy();
    throw error;
  }
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
): Promise<{ log: number; name: string; token: string; state: Place; isDivided: boolean }> {
  await prepareTables(connection);
  await refuseTooManyRights(connection);
  const isDivided = await areDivided(connection);
  const select = { text: 'SELECT log, name, state, token FROM annals.heads WHERE site = $1', values: [site] };
  for (;;) {
    const [found] = await connection.run(select);
    const row: { log: number; name: string; state: Place; token: string } | undefined = found?.rows[0];
    if (row) return { ...row, isDivided };
    // Two that come first at the same time get the same number, and one of them tries again.
    await connection.run({
      text: `INSERT INTO annals.heads (log, site, name, size, root, recorded_at, state, token)
             SELECT coalesce(max(log), 0) + 1, $1, $2, 0, $3, '', 'here', $4 FROM annals.heads ON CONFLICT DO NOTHING`,
      values: [site, makeName(), emptyRoot, randomUUID()],
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
  try {
    await limited(connection, until, () => commitWith(connection, statements));
  } catch (error) {
    if (!(error instanceof UnknownCommitError)) throw refusalOf(error);
    throw new UnknownShipmentError(`it is not known whether PostgreSQL has committed: ${error.message}`, {
      cause: error.cause,
    });
  }
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
