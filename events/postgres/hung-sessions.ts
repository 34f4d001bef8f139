import { applicationName, type PostgresStatement } from '../../storage/postgres/connection.ts';
import { holdMilliseconds, hungLookMilliseconds, longHoldMilliseconds } from '../../storage/postgres/durations.ts';

/**
 * The statement that ends the session which has locked the head of a log, if the session hangs: its client is gone or
 * has stopped in the middle of a statement. The server waits for the rest without a limit, since it takes such a
 * session for a working one; TCP notices that a machine or a network is gone, and not that a process stands still. A
 * role may end its own sessions.
 */
export function endHung(log: number): PostgresStatement {
  return {
    text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE backend_xid = (SELECT xmax FROM annals.heads WHERE log = $1) AND usename = current_user AND pid <> pg_backend_pid()
             AND state = 'active' AND wait_event = 'ClientRead'
             AND state_change < clock_timestamp() - CASE application_name WHEN $2 THEN $3::int ELSE $4::int END * interval '1 ms'`,
    values: [log, applicationName, holdMilliseconds, longHoldMilliseconds],
  };
}

/** The statement that lets the client of the open transaction be silent for a number of milliseconds. */
export function holding(milliseconds: number): PostgresStatement {
  return {
    text: `SELECT set_config('idle_in_transaction_session_timeout', $1, true), set_config('application_name', $2, true)`,
    values: [`${Math.ceil(milliseconds)}ms`, `${applicationName}: holds the log`],
  };
}

/** Waits for the lock of a log, and meanwhile ends sessions that hang with it. @param end ends them; it may fail. */
export async function endingHung<T>(end: () => Promise<unknown>, wait: () => Promise<T>): Promise<T> {
  let isOver = false;
  let timer = setTimeout(look, hungLookMilliseconds.first);

  async function look(): Promise<void> {
    await end().catch(() => {});
    if (!isOver) timer = setTimeout(look, hungLookMilliseconds.next);
  }

  try {
    return await wait();
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
