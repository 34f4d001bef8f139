import type { Connection } from '../../storage/postgres/connection.ts';

/** A standby as the primary reports it. `lagBytes`: what it has not applied yet of the write-ahead log. */
export type Standby = { name: string; sync: string; lagBytes: number };

/** The replication of a primary. `isSynchronous`: whether commits wait for a standby at all. */
export type Replication = { isSynchronous: boolean; standbys: Standby[] };

/**
 * Asks the primary about its standbys.
 *
 * @returns null where that cannot be known: the role has not the rights of `pg_monitor`, or it is not PostgreSQL.
 */
export async function readReplication(connection: Connection): Promise<Replication | null> {
  const [names, found] = await connection.send(
    { text: "SELECT setting FROM pg_settings WHERE name = 'synchronous_standby_names'" },
    {
      text: `SELECT application_name AS name, sync_state AS sync,
               coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn), 0)::bigint AS "lagBytes"
             FROM pg_stat_replication ORDER BY application_name`,
    },
  );
  if (names?.status !== 'fulfilled' || found?.status !== 'fulfilled') return null;
  const standbys: (Omit<Standby, 'sync'> & { sync: string | null })[] = found.value.rows;
  // A role that may not see them gets rows without anything in them.
  if (standbys.some(({ sync }) => sync === null)) return null;
  const setting: string = names.value.rows[0]?.setting ?? '';
  return { isSynchronous: setting !== '', standbys: standbys as Standby[] };
}
