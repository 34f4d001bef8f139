import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { connect } from '../../storage/postgres/connection.ts';
import { commitWith } from '../../storage/postgres/session.ts';
import type { Reached } from '../shared-log.ts';
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
  vault: () => Promise<ReadVault>;
  close: () => Promise<void>;
};

const connecting = 5000;
const pauseMilliseconds = 250;

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
    return await reported(async () => {
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

  return {
    look,
    liveNodes,
    leave,
    vault: () => reported(async () => readVault(connection, await establishVault(connection, site))),
    close: () => connection.close().catch(() => {}),
  };
}
