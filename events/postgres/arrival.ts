import { randomUUID } from 'node:crypto';
import {
  type Connection,
  connect,
  type PostgresAddress,
  type PostgresStatement,
} from '../../storage/postgres/connection.ts';
import { callMilliseconds, longHoldMilliseconds } from '../../storage/postgres/durations.ts';
import { isBusy } from '../../storage/postgres/errors.ts';
import { commitWith } from '../../storage/postgres/session.ts';
import { emptyRoot } from '../proof/merkle.ts';
import type { ReplicaEnd } from '../replica/shared-log.ts';
import { rowReaders, rowWriters } from './arrived-rows.ts';
import { MoveError, reported } from './move-error.ts';
import { type LogTables, tablesOf } from './parts.ts';
import type { LogLocation } from './rows.ts';
import { prepareTables, refuseTooManyRights } from './tables.ts';
import { establishVault } from './vault/vault.ts';

/** The head of a log that moves; `state` is where it is. */
export type ArrivingHead = ReplicaEnd & { log: number; name: string; state: LogLocation; token: string };

export type Arrival = Awaited<ReturnType<typeof openArrival>>;

/**
 * The transaction of a page is open while the next page is read, which may take longer than a node may hold the log if
 * the machine is busy; no node waits for it.
 */
const longHold: PostgresStatement = { text: `SET idle_in_transaction_session_timeout = ${longHoldMilliseconds}` };

/** The milliseconds to wait for the end of a transaction that waits for a standby. */
const resuming = 60_000;

type Options = { address: PostgresAddress; site: string; warn: (message: string) => void };

/** A log on its way, with what is known of it: `found` is its head when it was last looked at or changed. */
type ArrivalState = Options & {
  connection: Connection;
  found: ArrivingHead | null;
  vault: number;
  tables: LogTables | null;
};

/** The place in PostgreSQL that a log moves to. Until it is all there, no node starts on it. @throws MoveError. */
export async function openArrival(options: Options) {
  const connection = await connectTo(options);
  try {
    await reported(() => prepareTables(connection));
    await reported(() => refuseTooManyRights(connection));
    await reported(() => connection.run(longHold));
  } catch (error) {
    connection.destroy();
    throw error;
  }
  const arriving: ArrivalState = { ...options, connection, found: null, vault: 0, tables: null };
  const head = () => begun(arriving.found);
  const log = {
    head,
    tables: () => begun(arriving.tables),
    change: (...statements: (PostgresStatement | null)[]) => change(arriving, statements),
    rowsOf: <R>(statement: PostgresStatement): Promise<R[]> =>
      reported(async () => ((await arriving.connection.run(statement))[0]?.rows ?? []) as R[]),
    moveTo({ size, root }: ReplicaEnd): void {
      arriving.found = { ...head(), size, root };
    },
  };
  return {
    ...rowWriters(log),
    ...rowReaders(log),
    /** Where the log of the site is; null without a log. */
    look: () => look(arriving),
    /** Prepares the place for a log, or goes on with a log that is on its way. */
    begin: (name: string) => begin(arriving, name),
    head,
    /** From now on the log is in PostgreSQL. */
    async end(): Promise<void> {
      await log.change({ text: "UPDATE annals.heads SET state = 'here' WHERE log = $1", values: [head().log] });
      arriving.found = { ...head(), state: 'here' };
    },
    change: log.change,
    /** The number of its vault. */
    vault: () => arriving.vault,
    /** Ends the connection at once; {@link resume} makes another one. */
    destroy: () => arriving.connection.destroy(),
    /** Goes on with another connection, after the last one was ended. */
    resume: () => resume(arriving),
    /** Ends the connection, which may be broken. */
    close: () => arriving.connection.close().catch(() => {}),
  };
}

const connectTo = ({ address, warn }: Options) => reported(() => connect(address, callMilliseconds, warn));

function begun<T>(known: T | null): T {
  if (known === null) throw new Error('the move has not begun');
  return known;
}

async function look(arriving: ArrivalState): Promise<ArrivingHead | null> {
  arriving.found = await reported(() => headOf(arriving.connection, arriving.site));
  return arriving.found;
}

async function begin(arriving: ArrivalState, name: string): Promise<ArrivingHead> {
  const { connection, site } = arriving;
  await reported(async () => {
    const token = randomUUID();
    await connection.run({
      text: `INSERT INTO annals.heads (log, site, name, size, root, recorded_at, state, token)
             SELECT coalesce(max(log), 0) + 1, $1, $2, 0, $3, '', 'arriving', $4 FROM annals.heads ON CONFLICT DO NOTHING`,
      values: [site, name, emptyRoot, token],
    });
    await connection.run({
      text: "UPDATE annals.heads SET state = 'arriving', token = $3 WHERE site = $1 AND name = $2 AND state = 'left'",
      values: [site, name, token],
    });
    arriving.found = await headOf(connection, site);
    arriving.vault = await establishVault(connection, site);
    arriving.tables = arriving.found && (await tablesOf(connection, arriving.found.log));
  });
  if (arriving.found === null) throw new MoveError('the database has this log under the name of another site');
  return arriving.found;
}

/** Waits until the last transaction is decided, which may still be carried out, and looks at what is there then. */
async function resume(arriving: ArrivalState): Promise<void> {
  const { log } = begun(arriving.found);
  const until = performance.now() + resuming;
  arriving.connection = await connectTo(arriving);
  for (;;) {
    try {
      await reported(() =>
        arriving.connection.run(
          longHold,
          { text: 'BEGIN' },
          { text: 'SELECT log FROM annals.heads WHERE log = $1 FOR UPDATE', values: [log] },
          { text: 'ROLLBACK' },
        ),
      );
      await look(arriving);
      return;
    } catch (error) {
      const isHeld = error instanceof MoveError && isBusy(error.cause);
      if (!isHeld || performance.now() > until) throw error;
    }
  }
}

async function change(
  { connection, found }: ArrivalState,
  statements: readonly (PostgresStatement | null)[],
): Promise<void> {
  const { log, size, token } = begun(found);
  await reported(async () => {
    const [, lock] = await connection.run(
      { text: 'BEGIN' },
      { text: 'SELECT size, state, token FROM annals.heads WHERE log = $1 FOR UPDATE', values: [log] },
    );
    const row = lock?.rows[0];
    if (row?.size !== size || row.state !== 'arriving' || row.token !== token) {
      await connection.run({ text: 'ROLLBACK' });
      throw new MoveError('another process has changed the log in PostgreSQL: only one can move it there');
    }
    await commitWith(
      connection,
      statements.filter((one) => one !== null),
    );
  });
}

/** Where the log of a site is; null without a log. */
export async function headOf(connection: Connection, site: string): Promise<ArrivingHead | null> {
  const [found] = await connection.run({
    text: 'SELECT log, name, size, root, state, token FROM annals.heads WHERE site = $1',
    values: [site],
  });
  return found?.rows[0] ?? null;
}
