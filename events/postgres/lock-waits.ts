import type { Connection } from '../../storage/postgres/connection.ts';

/**
 * A session that has locked the head of the log. `state`, and `seconds` since its transaction began, are null if the
 * role may not see them. `waitsForStandby`: the session commits, and a standby has not answered yet.
 */
export type LockHolder = {
  pid: number;
  application: string;
  address: string | null;
  state: string | null;
  seconds: number | null;
  waitsForStandby: boolean;
};

/** The waits for the lock of the log: the seconds of each session that waits, and the sessions that hold the lock. */
export type LockWaits = { waiting: number[]; holders: LockHolder[] };

/**
 * The first session that waits for a row waits for the transaction that holds it; the others wait for the lock of the
 * first session on the tuple. No view lists locked rows: the session that holds one also holds a lock on the table that
 * is stronger than a reader's.
 */
const text = `
  WITH on_heads AS (
    SELECT pid, locktype, mode, granted, waitstart FROM pg_locks
    WHERE relation = 'annals.heads'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  ), waiting AS (
    SELECT pid, waitstart FROM on_heads WHERE NOT granted
    UNION ALL
    SELECT pid, waitstart FROM pg_locks
    WHERE NOT granted AND locktype = 'transactionid'
      AND pid IN (SELECT pid FROM on_heads WHERE granted AND locktype = 'tuple')
  ), holding AS (
    SELECT pid FROM on_heads WHERE granted AND locktype = 'relation' AND mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')
    UNION
    SELECT unnest(pg_blocking_pids(pid)) FROM waiting
    EXCEPT
    SELECT pid FROM waiting
  )
  SELECT
    (SELECT coalesce(json_agg(coalesce(extract(epoch FROM clock_timestamp() - waitstart), 0)), '[]') FROM waiting) AS waiting,
    (SELECT coalesce(json_agg(json_build_object(
       'pid', pid,
       'application', coalesce(application_name, ''),
       'address', host(client_addr),
       'state', state,
       'seconds', extract(epoch FROM clock_timestamp() - xact_start),
       'waitsForStandby', coalesce(wait_event = 'SyncRep', false)
     ) ORDER BY xact_start), '[]') FROM holding JOIN pg_stat_activity USING (pid) WHERE pid <> pg_backend_pid()) AS holders`;

/**
 * Asks the primary which sessions wait for the lock that each write takes, at this moment.
 *
 * @returns null if that cannot be known, in a database that is not PostgreSQL.
 */
export async function readLockWaits(connection: Connection): Promise<LockWaits | null> {
  const [found] = await connection.send({ text });
  return found?.status === 'fulfilled' ? (found.value.rows[0] as LockWaits) : null;
}
