import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../storage/errors.ts';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { connect } from '../../storage/postgres/connection.ts';
import { isBusy } from '../../storage/postgres/errors.ts';
import { commitWith, limited } from '../../storage/postgres/session.ts';
import type { Reached } from '../replica/shared-log.ts';
import { type ArrivingHead, headOf, MoveError, reported } from './arrival.ts';
import { absentMilliseconds } from './standing.ts';
import { prepareTables } from './tables.ts';
import { type ReadVault, readVault } from './vault/moving.ts';
import { establishVault } from './vault/vault.ts';

/** The place in PostgreSQL that a log leaves. */
export type Departure = {
  /** Where the log of the site is. @throws MoveError without one. */
  look: () => Promise<ArrivingHead>;
  /** The names of the nodes that run. It takes some seconds where one has ended without a word. */
  liveNodes: () => Promise<string[]>;
  /**
   * From now on the log is where the token was made, and not in PostgreSQL: no node goes on.
   *
   * @param at the end of the replica that has the log then.
   * @returns false where the log has gone on since: nothing is changed.
   */
  leave: (at: Reached, token: string) => Promise<boolean>;
  /** Makes sure that a standby has it too that the log has left. @throws MoveError where that is not known. */
  confirm: (token: string) => Promise<void>;
  vault: () => Promise<ReadVault>;
  close: () => Promise<void>;
};

const connecting = 5000;
const pauseMilliseconds = 250;

/**
 * A commit that waits for a standby for longer, or for the lock of the log, is given up: then its outcome is not known.
 */
const leaving = 10_000;
const closing = 1000;

/** Opens the place that a log leaves. @throws MoveError. */
export async function openDeparture(
  address: PostgresAddress,
  site: string,
  warn: (message: string) => void,
): Promise<Departure> {
  const connection = await reported(() => connect(address, connecting, warn));

  async function look(): Promise<ArrivingHead> {
    const head = await reported(async () => {
      await prepareTables(connection);
      return await headOf(connection, site);
    });
    if (!head) throw new MoveError('there is no log in this database');
    return head;
  }

  async function liveNodes(): Promise<string[]> {
    const { log } = await look();
    const before = new Map((await reportsOf(log)).map(({ node, seen }) => [node, seen]));
    for (;;) {
      const now = await reportsOf(log);
      const live = now.filter(({ node, seen }) => before.get(node) !== seen).map(({ node }) => node);
      if (live.length > 0 || now.every(({ age }) => age > absentMilliseconds)) return live;
      await pause(pauseMilliseconds);
    }
  }

  async function reportsOf(log: number): Promise<{ node: string; seen: number; age: number }[]> {
    const [found] = await reported(() =>
      connection.run({
        text: `SELECT node, seen, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - seen AS age
               FROM annals.nodes WHERE log = $1`,
        values: [log],
      }),
    );
    return found?.rows ?? [];
  }

  async function leave({ size, root }: Reached, token: string): Promise<boolean> {
    const { log } = await look();
    return await decided(async () => {
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
    });
  }

  async function confirm(token: string): Promise<void> {
    const { log } = await look();
    await decided(async () => {
      // A standby that has this commit has those before it.
      await commitWith(connection, [
        { text: 'BEGIN' },
        { text: 'UPDATE annals.heads SET token = token WHERE log = $1 AND token = $2', values: [log, token] },
      ]);
    });
  }

  /** Runs a transaction on the head of the log within its time. */
  async function decided<T>(run: () => Promise<T>): Promise<T> {
    const again = 'run the command again when it answers: it goes on from there';
    try {
      return await reported(() => limited(connection, performance.now() + leaving, run));
    } catch (error) {
      if (!(error instanceof MoveError)) throw error;
      const { cause } = error;
      if (isBusy(cause))
        throw new MoveError(`the log in PostgreSQL is in use (${messageOf(cause)}): ${again}`, { cause });
      throw new MoveError(`${error.message}; ${again}`, { cause });
    }
  }

  return {
    look,
    liveNodes,
    leave,
    confirm,
    vault: () => reported(async () => readVault(connection, await establishVault(connection, site))),
    async close() {
      if (connection.isOpen()) await limited(connection, performance.now() + closing, connection.close).catch(() => {});
    },
  };
}
