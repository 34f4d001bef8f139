import type { Connection } from '../../storage/postgres/connection.ts';

/** A standby as the primary reports it. `lagBytes`: the part of the write-ahead log that it has not applied. */
type Standby = { name: string; sync: string; lagBytes: number };

/** The replication of a primary. `isSynchronous`: whether commits wait for a standby. */
export type Replication = { isSynchronous: boolean; standbys: Standby[] };

/**
 * Asks the primary about its standbys.
 *
 * @returns null if they cannot be known: the role does not have the rights of `pg_monitor`, or it is not PostgreSQL.
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
  // A role that may not see standbys gets empty rows.
  if (standbys.some(({ sync }) => sync === null)) return null;
  const setting: string = names.value.rows[0]?.setting ?? '';
  return { isSynchronous: setting !== '', standbys: standbys as Standby[] };
}

/**
 * A server, and its standbys. `id`: the same for all addresses that lead to it. `cluster`: the same for a primary and
 * its standbys. `name`: the name under which it gets the write-ahead log now; null for a server that gets none.
 * `standbys`: the names of the servers that get the log from it; a subscriber, an archive or a base backup is not a
 * standby.
 */
export type Instance = { id: string; cluster: string; name: string | null; standbys: string[] };

/**
 * The receivers that apply the log: an archive, as of `pg_receivewal`, tells what it has written and never that it has
 * applied it. A receiver that has told nothing yet may be a standby.
 */
const standbyRows = `FROM pg_stat_replication AS r
  WHERE state <> 'backup' AND (write_lsn IS NULL OR replay_lsn IS NOT NULL)
    AND NOT EXISTS (SELECT FROM pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical')`;

/** Asks a server for itself and its standbys. A role without the rights of `pg_monitor` gets no names. */
export async function readInstance(connection: Connection): Promise<Instance> {
  const [own, names] = await connection.run(
    {
      text: `SELECT extract(epoch FROM pg_postmaster_start_time())::text AS since,
               (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
               (SELECT conninfo FROM pg_stat_wal_receiver WHERE status = 'streaming') AS conninfo`,
    },
    { text: `SELECT application_name AS name ${standbyRows} ORDER BY application_name` },
  );
  const { since, cluster, conninfo } = own?.rows[0] ?? {};
  return {
    // To the microsecond: no two servers of a cluster have started at once.
    id: `${cluster} ${since}`,
    cluster,
    name: nameIn(conninfo),
    standbys: (names?.rows ?? []).map(({ name }) => name),
  };
}

/**
 * The name of a standby, in its connection string.
 *
 * @param conninfo as libpq lists it, with values that are not quoted.
 */
export function nameIn(conninfo: string | null): string | null {
  if (conninfo === null) return null;
  const given = (key: string) => new RegExp(`(?:^| )${key}=(.*?)(?= [a-z_]+=|$)`).exec(conninfo)?.[1];
  return given('application_name') ?? given('fallback_application_name') ?? '';
}

/**
 * The standbys that get the write-ahead log from a list of servers and are not on the list. They are told apart by
 * their names; standbys of one name are counted.
 */
export function unnamedStandbys(instances: readonly Instance[]): string[] {
  const all = [...new Map(instances.map((one) => [one.id, one])).values()];
  const named = all.flatMap(({ cluster, name }) => (name === null ? [] : [`${cluster} ${name}`]));
  return all.flatMap(({ cluster, standbys }) =>
    standbys.filter((name) => {
      const at = named.indexOf(`${cluster} ${name}`);
      if (at !== -1) named.splice(at, 1);
      return at === -1;
    }),
  );
}

/** The standbys of a primary that have not applied the write-ahead log up to a place. */
export async function lateStandbys(connection: Connection, lsn: string): Promise<string[]> {
  const [found] = await connection.run({
    text: `SELECT application_name AS name ${standbyRows} AND (replay_lsn IS NULL OR replay_lsn < $1::pg_lsn)`,
    values: [lsn],
  });
  return (found?.rows ?? []).map(({ name }) => name);
}
