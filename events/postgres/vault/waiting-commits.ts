import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from '../../../storage/postgres/connection.ts';
import { UnreachableError } from '../../../storage/postgres/errors.ts';
import type { Session } from '../../../storage/postgres/session.ts';

/** The process of the server behind a connection. */
type Backend = { pid: number; begun: string };

const pauseMilliseconds = 100;

/**
 * Keeps a session from leaving more than one commit behind that waits for a standby: the backend of a commit waits
 * until the standby answers, and does not notice that its connection has ended.
 *
 * @param asking another session on the same servers.
 */
export function openWaitingCommits(asking: Session) {
  const backends = new WeakMap<Connection, Backend | null>();
  let left: Backend | null = null;

  /** Notes the backend of a connection that is used from now on. @throws as {@link settled}. */
  async function begin(connection: Connection, until: number): Promise<void> {
    await settled(until);
    if (!backends.has(connection)) backends.set(connection, await backendOf(connection));
    left = backends.get(connection) ?? null;
  }

  /** Notes that the last transaction has ended, with an answer. */
  function end(): void {
    left = null;
  }

  /**
   * Waits until no commit is left behind.
   *
   * @throws UnreachableError when the time is up.
   */
  async function settled(until: number): Promise<void> {
    while (left !== null) {
      const backend = left;
      if (!(await asking.retried(until, (connection) => waitsForStandby(connection, backend)))) left = null;
      else if (performance.now() + pauseMilliseconds >= until)
        throw new UnreachableError('a commit before this one still waits for a standby');
      else await pause(pauseMilliseconds);
    }
  }

  return { begin, end, settled };
}

/** The process behind a connection; null if the database does not tell. */
async function backendOf(connection: Connection): Promise<Backend | null> {
  const [found] = await connection.run({
    text: 'SELECT pid, backend_start::text AS begun FROM pg_stat_activity WHERE pid = pg_backend_pid()',
  });
  return found?.rows[0] ?? null;
}

async function waitsForStandby(connection: Connection, { pid, begun }: Backend): Promise<boolean> {
  const [found] = await connection.run({
    text: `SELECT pid FROM pg_stat_activity
           WHERE pid = $1 AND backend_start = $2::timestamptz AND wait_event = 'SyncRep'`,
    values: [pid, begun],
  });
  return (found?.rows.length ?? 0) > 0;
}
