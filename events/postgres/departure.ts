import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../storage/errors.ts';
import { type Connection, connect, type PostgresAddress } from '../../storage/postgres/connection.ts';
import { callMilliseconds, reportMilliseconds } from '../../storage/postgres/durations.ts';
import { isBusy } from '../../storage/postgres/errors.ts';
import { commitWith, limited } from '../../storage/postgres/session.ts';
import type { ReplicaEnd } from '../replica/shared-log.ts';
import { type ArrivingHead, headOf } from './arrival.ts';
import { MoveError, reported } from './move-error.ts';
import { prepareTables } from './tables.ts';
import { type ReadVault, readVault } from './vault/moving.ts';
import { establishVault } from './vault/vault.ts';

/** The place in PostgreSQL that a log leaves. */
export type Departure = {
  /** The head of the log of the site. @throws MoveError without a log. */
  look: () => Promise<ArrivingHead>;
  /** The names of the nodes that run. It takes some seconds if a node has ended without a word. */
  liveNodes: () => Promise<string[]>;
  /**
   * From now on the log is where the token was made, and not in PostgreSQL: no node goes on.
   *
   * @param at the end of the replica that has the log then.
   * @returns false if the log has gone on since: nothing is changed.
   */
  leave: (at: ReplicaEnd, token: string) => Promise<boolean>;
  /** Makes sure that a standby also knows that the log has left. @throws MoveError if that is not known. */
  confirm: (token: string) => Promise<void>;
  vault: () => Promise<ReadVault>;
  close: () => Promise<void>;
};

const pauseMilliseconds = 250;

/**
 * A commit that waits longer for a standby, or for the lock of the log, is given up: then its outcome is not known.
 */
const leaveMilliseconds = 10_000;
const closeMilliseconds = 1000;

/** Opens the place that a log leaves. @throws MoveError. */
export async function openDeparture(
  address: PostgresAddress,
  site: string,
  warn: (message: string) => void,
): Promise<Departure> {
  const connection = await reported(() => connect(address, callMilliseconds, warn));
  const look = () => lookAt(connection, site);
  return {
    look,
    liveNodes: async () => await liveNodes(connection, (await look()).log),
    leave: async (at, token) => {
      const { log } = await look();
      return await decided(connection, () => leave(connection, log, { ...at, token }));
    },
    confirm: async (token) => {
      const { log } = await look();
      // A standby that has this commit has all before it.
      await decided(connection, () =>
        commitWith(connection, [
          { text: 'BEGIN' },
          { text: 'UPDATE annals.heads SET token = token WHERE log = $1 AND token = $2', values: [log, token] },
        ]),
      );
    },
    vault: () => reported(async () => readVault(connection, await establishVault(connection, site))),
    async close() {
      if (!connection.isOpen()) return;
      // A server that does not say goodbye is left alone.
      await limited(connection, performance.now() + closeMilliseconds, connection.close).catch(() => {});
    },
  };
}

async function lookAt(connection: Connection, site: string): Promise<ArrivingHead> {
  const head = await reported(async () => {
    await prepareTables(connection);
    return await headOf(connection, site);
  });
  if (!head) throw new MoveError('there is no log in this database');
  return head;
}

async function liveNodes(connection: Connection, log: number): Promise<string[]> {
  const before = new Map((await reportsOf(connection, log)).map(({ node, seen }) => [node, seen]));
  for (;;) {
    const now = await reportsOf(connection, log);
    const live = now.filter(({ node, seen }) => before.get(node) !== seen).map(({ node }) => node);
    if (live.length > 0 || now.every(({ age }) => age > reportMilliseconds.absent)) return live;
    await pause(pauseMilliseconds);
  }
}

async function reportsOf(connection: Connection, log: number): Promise<{ node: string; seen: number; age: number }[]> {
  const [found] = await reported(() =>
    connection.run({
      text: `SELECT node, seen, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - seen AS age
             FROM annals.nodes WHERE log = $1`,
      values: [log],
    }),
  );
  return found?.rows ?? [];
}

async function leave(
  connection: Connection,
  log: number,
  { size, root, token }: ReplicaEnd & { token: string },
): Promise<boolean> {
  const [, lock] = await connection.run(
    { text: 'BEGIN' },
    { text: 'SELECT size, root, state FROM annals.heads WHERE log = $1 FOR UPDATE', values: [log] },
  );
  const row = lock?.rows[0];
  if (row?.state !== 'here' || row.size !== size || !row.root.equals(root)) {
    await connection.run({ text: 'ROLLBACK' });
    return false;
  }
  await commitWith(connection, [
    { text: "UPDATE annals.heads SET state = 'left', token = $2 WHERE log = $1", values: [log, token] },
    { text: 'DELETE FROM annals.nodes WHERE log = $1', values: [log] },
  ]);
  return true;
}

/** Runs a transaction on the head of the log within its time. */
async function decided<T>(connection: Connection, run: () => Promise<T>): Promise<T> {
  const again = 'run the command again when it answers: it goes on from there';
  try {
    return await reported(() => limited(connection, performance.now() + leaveMilliseconds, run));
  } catch (error) {
    if (!(error instanceof MoveError)) throw error;
    const { cause } = error;
    if (isBusy(cause))
      throw new MoveError(`the log in PostgreSQL is in use (${messageOf(cause)}): ${again}`, { cause });
    throw new MoveError(`${error.message}; ${again}`, { cause });
  }
}
