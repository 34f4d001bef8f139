import type { Connection } from '../../storage/postgres/connection.ts';

/**
 * A session that has a lock on the head of the log, as it is by now. `state` and `seconds`, those of its transaction,
 * are null where the role may not see them. `waitsForStandby`: it commits, and a standby has not answered yet.
 */
export type LockHolder = {
  pid: number;
  application: string;
  address: string | null;
  state: string | null;
  seconds: number | null;
  waitsForStandby: boolean;
};

/** The sessions that wait for the lock of the log, for how many seconds each, and those that have it. */
export type LockWaits = { waiting: number[]; holders: LockHolder[] };

/**
 * The first session that waits for a row waits for the transaction that has it; the others wait for a lock of the first
 * one on the place of the row. A row that is locked is in no view: the session that has it also has a lock of the
 * table, stronger than that of a reader.
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
 * @returns null where that cannot be known: it is not PostgreSQL.
 */
export async function readLockWaits(connection: Connection): Promise<LockWaits | null> {
  const [found] = await connection.send({ text });
  return found?.status === 'fulfilled' ? (found.value.rows[0] as LockWaits) : null;
}
