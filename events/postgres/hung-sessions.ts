import { applicationName, type Statement } from '../../storage/postgres/connection.ts';

/** A session that was not heard of for so many seconds is ended: as long as one may leave the lock alone. */
const hungSeconds = 2;
/** The same for one that was given longer, for it may send a lot: all claims of a changed schema. */
const hungForLongSeconds = 60;

/**
 * The statement that ends the session which has the head of a log locked, if it hangs: its client is gone, or stopped,
 * in the middle of a statement. The server waits for the rest without a limit, since it counts such a session as one
 * that works; TCP notices that a machine or a network is gone, and not that a process stands still. A role may end
 * sessions of its own.
 */
export function endHung(log: number): Statement {
  return {
    text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE backend_xid = (SELECT xmax FROM annals.heads WHERE log = $1) AND usename = current_user AND pid <> pg_backend_pid()
             AND state = 'active' AND wait_event = 'ClientRead'
             AND state_change < clock_timestamp() - CASE application_name WHEN $2 THEN $3::int ELSE $4::int END * interval '1 s'`,
    values: [log, applicationName, hungSeconds, hungForLongSeconds],
  };
}

/** The statement that lets the transaction that is open be left alone for so many milliseconds. */
export function holding(milliseconds: number): Statement {
  return {
    text: `SELECT set_config('idle_in_transaction_session_timeout', $1, true), set_config('application_name', $2, true)`,
    values: [`${Math.ceil(milliseconds)}ms`, `${applicationName}: holds the log`],
  };
}

const lookMilliseconds = { first: hungSeconds * 1000, next: 500 };

/** Waits for the lock of a log, and ends sessions meanwhile that hang with it. @param end does so; it may fail. */
export async function endingHung<T>(end: () => Promise<unknown>, wait: () => Promise<T>): Promise<T> {
  let isOver = false;
  let timer = setTimeout(look, lookMilliseconds.first);

  async function look(): Promise<void> {
    await end().catch(() => {});
    if (!isOver) timer = setTimeout(look, lookMilliseconds.next);
  }

  try {
    return await wait();
  } finally {
    isOver = true;
    clearTimeout(timer);
  }
}
