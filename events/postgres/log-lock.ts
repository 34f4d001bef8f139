import { messageOf } from '../../storage/errors.ts';
import type { Connection, PostgresStatement, StatementResult } from '../../storage/postgres/connection.ts';
import { isBusy, isDuplicate } from '../../storage/postgres/errors.ts';
import { commitWith, limited, UnknownCommitError } from '../../storage/postgres/session.ts';
import { DivergedError } from '../log/ingesting.ts';
import type { SharedHead, Shipment } from '../log/shipment.ts';
import {
  type ReplicaEnd,
  refuseLoss,
  SharedLogUnavailableError,
  type TakenLog,
  TooFarBehindError,
  UnknownShipmentError,
} from '../replica/shared-log.ts';
import { endHung, endingHung, holding } from './hung-sessions.ts';
import type { LogTables } from './parts.ts';
import { headOf, lockQuery, missingOf, missingQueries, shipStatements } from './rows.ts';

/**
 * An open log in PostgreSQL, as one node knows it.
 *
 * @param read runs on the connection for reading, again if that breaks; `write` the same on the one for writing.
 * @param furthest the furthest end of the log that this node has seen.
 */
export type LogContext = {
  tables: LogTables;
  measure: (what: 'lock' | 'ship', seconds: number) => void;
  warnOnce: (message: string) => void;
  read: <T>(run: (connection: Connection) => Promise<T>, within?: number) => Promise<T>;
  write: <T>(until: number, run: (connection: Connection) => Promise<T>) => Promise<T>;
  furthest: ReplicaEnd;
  isTaken: boolean;
};

/** The largest number of events that a node may lack when it takes the log: all others wait while it takes them in. */
const mostMissing = 1000;

const clockQuery: PostgresStatement = {
  name: 'clock',
  text: 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now',
};

/** An empty commit: when the standby has it, it has everything before. */
const touch = (log: number): PostgresStatement => ({
  text: 'UPDATE annals.heads SET size = size WHERE log = $1',
  values: [log],
});

/**
 * Compares a head with the end that was known before the head was asked for, since answers may come in another order
 * than their questions.
 *
 * @throws LogWentBackError.
 */
export function noteHead(context: LogContext, head: SharedHead, before: ReplicaEnd): SharedHead {
  refuseLoss(head, before);
  if (head.size > context.furthest.size) context.furthest = head;
  return head;
}

type TakeOptions = { from: ReplicaEnd; within: number; hold: number | undefined };

/** @throws as `SharedLog.take`. */
export async function take(context: LogContext, { from, within, hold }: TakeOptions): Promise<TakenLog> {
  if (context.isTaken) throw new Error('the log is taken already');
  context.isTaken = true;
  const begun = performance.now();
  const until = begun + within;
  const before = context.furthest;
  try {
    const locked = await endingHung(
      () => endHungSession(context),
      () => lock(context, { from, until, hold }),
    );
    context.measure('lock', (performance.now() - begun) / 1000);
    return await takenBy(context, locked, { from, before, until });
  } catch (error) {
    context.isTaken = false;
    throw error;
  }
}

/** A transaction that has the lock of the log, with the answers to its first statements. */
type LockedLog = { connection: Connection; lock: StatementResult | undefined; now: number; rows: StatementResult[] };

/** Waits for the lock; on another connection if one breaks, since nothing was done on it. */
function lock(
  { tables: { log }, write }: LogContext,
  { from, until, hold }: Pick<TakeOptions, 'from' | 'hold'> & { until: number },
): Promise<LockedLog> {
  return write(until, async (connection) => {
    const [, lock, clock, ...rows] = await connection.run(
      { text: 'BEGIN ISOLATION LEVEL READ COMMITTED' },
      lockQuery(log),
      // Not in the same statement as the lock: that has the time at which waiting began.
      clockQuery,
      ...missingQueries(log, from.size, mostMissing),
      ...(hold === undefined ? [] : [holding(hold)]),
    );
    return { connection, lock, now: Number(clock?.rows[0]?.now), rows };
  });
}

async function endHungSession({ tables, read, warnOnce }: LogContext): Promise<void> {
  const [ended] = await read((connection) => connection.run(endHung(tables.log)));
  if (ended?.rows.length) warnOnce('a session of a node was ended: it stood still while it held the log');
}

async function takenBy(
  context: LogContext,
  { connection, lock, now, rows }: LockedLog,
  { from, before, until }: { from: ReplicaEnd; before: ReplicaEnd; until: number },
): Promise<TakenLog> {
  const { log } = context.tables;
  const head = orDestroy(connection, () => {
    const found = headOf(lock);
    refuseLoss(found, from);
    return noteHead(context, found, before);
  });
  const all = missingOf(head, from.size, rows);
  if (all.head === null) {
    await rollback(connection, until);
    throw new TooFarBehindError(`the log ends at ${head.size}, the replica at ${from.size}`);
  }

  async function end(run: () => Promise<void>): Promise<void> {
    if (!context.isTaken) throw new Error('the log is not taken any more');
    try {
      await run();
    } finally {
      context.isTaken = false;
    }
  }

  return {
    head,
    now,
    missing: (after) => (after === from.size ? all : missingOf(head, after, rows)),
    ship: (shipment) => end(() => ship(context, shipment, { connection, head, until })),
    confirm: () => end(() => commit(connection, [touch(log)], until)),
    release: () => end(() => rollback(connection, until)),
  };
}

async function ship(
  context: LogContext,
  shipment: Shipment,
  { connection, head, until }: { connection: Connection; head: SharedHead; until: number },
): Promise<void> {
  if (shipment.from !== head.size)
    throw new Error(`a shipment from ${shipment.from} on a log that ends at ${head.size}`);
  const begun = performance.now();
  await commit(connection, shipStatements(context.tables, shipment), until);
  context.measure('ship', (performance.now() - begun) / 1000);
  if (shipment.head.size > context.furthest.size) context.furthest = shipment.head;
}

/** The end of its session ends a lock as well. */
function orDestroy<T>(connection: Connection, run: () => T): T {
  try {
    return run();
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

/**
 * Ends a transaction under the lock by a commit.
 *
 * @throws UnknownShipmentError unless it is certain that it was not carried out.
 */
async function commit(connection: Connection, statements: readonly PostgresStatement[], until: number): Promise<void> {
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
    // The end of its session ends a transaction as well.
    connection.destroy();
  }
}
