import { randomUUID } from 'node:crypto';
import type { Connection, PostgresAddress } from '../../storage/postgres/connection.ts';
import { callMilliseconds } from '../../storage/postgres/durations.ts';
import { UnreachableError } from '../../storage/postgres/errors.ts';
import { openSession } from '../../storage/postgres/session.ts';
import type { MissingRows, SharedHead } from '../log/shipment.ts';
import { emptyRoot } from '../proof/merkle.ts';
import {
  type KnownEnd,
  LogMovedError,
  refuseLoss,
  type SharedLog,
  SharedLogUnavailableError,
} from '../replica/shared-log.ts';
import { openForgetting } from './idempotency.ts';
import { type LogContext, noteHead, take } from './log-lock.ts';
import { areDivided, type LogTables, usualPartSize } from './parts.ts';
import { headOf, headQuery, type LogLocation, missingOf, missingQueries, requireHere } from './rows.ts';
import { prepareTables, refuseTooManyRights } from './tables.ts';

/**
 * @param site names the log within its database; the empty text for the only one.
 * @param makeName gives the name of a log that is not there yet: the name in its headers.
 * @param warn is told what the operator should know.
 * @param patience the milliseconds after which a call is given up that does not say it itself; `opening`: the same for
 * the opening.
 * @param measure is told how many seconds it took to get the lock, and to append and commit under it.
 * @param partSize the positions of one part of the tables; the same for all nodes.
 */
type PostgresLogOptions = {
  address: PostgresAddress;
  site: string;
  makeName: () => string;
  warn: (message: string) => void;
  patience?: number;
  opening?: number;
  partSize?: number;
  measure?: LogContext['measure'];
};

/**
 * A log in PostgreSQL. `name`: the one in the headers of its events. `token`: changes when the log is moved into this
 * database, so that replicas of the time before are known. `tables`: the log as its tables know it.
 */
export type PostgresLog = SharedLog & {
  name: string;
  token: string;
  tables: LogTables;
  /** Deletes the idempotency records that are older than `age` milliseconds by the clock of PostgreSQL. */
  forgetIdempotencyRecords: (age: number) => Promise<void>;
};

/**
 * Opens the log of a site in PostgreSQL; the first node that does so makes it. Broken connections are replaced, by
 * connections to whichever server takes writes then.
 *
 * @throws SharedLogUnavailableError; UnfitServerError, with the change that the operator has to make.
 */
export async function openPostgresLog(options: PostgresLogOptions): Promise<PostgresLog> {
  const { address, site, makeName, warn, patience = callMilliseconds, opening = patience } = options;
  const { partSize = usualPartSize, measure = () => {} } = options;
  const told = new Set<string>();
  const warnOnce = (message: string) => {
    if (!told.has(message)) warn(message);
    told.add(message);
  };
  const hasMoved = (error: unknown) => error instanceof LogMovedError;
  const writing = openSession(address, warnOnce, hasMoved);
  const reading = openSession(address, warnOnce, hasMoved);
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

  async function read<T>(run: (connection: Connection) => Promise<T>, within = patience): Promise<T> {
    return await available(reading.retried(performance.now() + within, run));
  }

  const context: LogContext = {
    tables,
    measure,
    warnOnce,
    read,
    write: (until, run) => available(writing.retried(until, run)),
    furthest: { size: 0, root: emptyRoot },
    isTaken: false,
  };
  return {
    name,
    token,
    tables,
    take: (from, within = patience, hold) => take(context, { from, within, hold }),
    head: () => head(context),
    tail: (after, limit, within) => tail(context, { after, limit, within }),
    forgetIdempotencyRecords: forgetting.forget,
    async close() {
      await Promise.all([writing.close(), reading.close(), forgetting.close()]);
    },
  };
}

async function head(context: LogContext): Promise<SharedHead> {
  const before = context.furthest;
  const [found] = await context.read((connection) => connection.run(headQuery(context.tables.log)));
  return noteHead(context, headOf(found), before);
}

async function tail(
  context: LogContext,
  { after, limit, within }: { after: KnownEnd; limit: number; within: number | undefined },
): Promise<MissingRows> {
  const { log } = context.tables;
  const before = context.furthest;
  const [found, ...rows] = await context.read(
    (connection) => connection.run(headQuery(log), ...missingQueries(log, after.size, limit)),
    within,
  );
  const end = noteHead(context, headOf(found), before);
  refuseLoss(end, after);
  return missingOf(end, after.size, rows);
}

/** @throws SharedLogUnavailableError if no server was reached in time. */
async function available<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UnreachableError)) throw error;
    throw new SharedLogUnavailableError(`the log in PostgreSQL is not available: ${error.message}`, { cause: error });
  }
}

/** A log as its row has it. `isDivided`: whether the tables of this database have parts. */
type FoundLog = { log: number; name: string; token: string; state: LogLocation; isDivided: boolean };

/** Finds the log of a site, or makes it. */
async function establish(connection: Connection, site: string, makeName: () => string): Promise<FoundLog> {
  await prepareTables(connection);
  await refuseTooManyRights(connection);
  const isDivided = await areDivided(connection);
  const select = { text: 'SELECT log, name, state, token FROM annals.heads WHERE site = $1', values: [site] };
  for (;;) {
    const [found] = await connection.run(select);
    const row: Omit<FoundLog, 'isDivided'> | undefined = found?.rows[0];
    if (row) return { ...row, isDivided };
    // Two logs that are made at the same time get the same number, and one of the nodes tries again.
    await connection.run({
      text: `INSERT INTO annals.heads (log, site, name, size, root, recorded_at, state, token)
             SELECT coalesce(max(log), 0) + 1, $1, $2, 0, $3, '', 'here', $4 FROM annals.heads ON CONFLICT DO NOTHING`,
      values: [site, makeName(), emptyRoot, randomUUID()],
    });
  }
}
