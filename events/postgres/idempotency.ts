import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { callMilliseconds } from '../../storage/postgres/durations.ts';
import { openSession, type Session } from '../../storage/postgres/session.ts';

/**
 * Makes the function that deletes old idempotency records of a log, the oldest first. It has its own session, whose
 * commits do not wait for a standby: nothing depends on them, and a failover only brings some records back.
 */
export function openForgetting(address: PostgresAddress, log: number, warn: (message: string) => void) {
  let session: Session | null = null;

  async function forget(age: number): Promise<void> {
    if (session) return;
    const own = openSession(address, warn);
    session = own;
    try {
      while ((await forgetSome(own, age)) > 0);
    } finally {
      session = null;
      await own.close();
    }
  }

  async function forgetSome(own: Session, age: number): Promise<number> {
    const [, deleted] = await own.retried(performance.now() + callMilliseconds, (connection) =>
      connection.run(
        { text: 'SET synchronous_commit = local' },
        {
          text: `DELETE FROM annals.attempts WHERE log = $1
                   AND recorded_at <= floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - $2::bigint
                   AND since IN (SELECT since FROM annals.attempts WHERE log = $1 ORDER BY since LIMIT 500)`,
          values: [log, Math.ceil(age)],
        },
      ),
    );
    return deleted?.rowCount ?? 0;
  }

  return {
    forget,
    close: async (): Promise<void> => {
      await session?.close();
    },
  };
}
