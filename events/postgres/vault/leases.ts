import { serverTime, type VaultRows } from './rows.ts';

/** The leases by which one node alone does something, and the jobs that are done once. The server's clock counts. */
export type LeaseRows = {
  /**
   * Takes a lease for a number of milliseconds, or renews it.
   *
   * @returns how often it has had another holder; null if another node holds it.
   */
  take: (name: string, holder: string, milliseconds: number) => Promise<number | null>;
  /** Ends a lease, so that others can take it. */
  release: (name: string, holder: string) => Promise<void>;
  isDone: (job: string) => Promise<boolean>;
  noteDone: (job: string) => Promise<void>;
};

/** Opens the leases and jobs of a log. */
export function openLeaseRows({ log, read, write }: VaultRows): LeaseRows {
  return {
    async take(name, holder, milliseconds) {
      const [taken] = await write({
        text: `INSERT INTO annals_vault.leases VALUES ($1, $2, $3, ${serverTime} + $4::bigint, 1)
               ON CONFLICT (log, name) DO UPDATE SET holder = excluded.holder, until = excluded.until,
                 epoch = leases.epoch + CASE WHEN leases.holder = excluded.holder THEN 0 ELSE 1 END
               WHERE leases.holder = excluded.holder OR leases.until <= ${serverTime}
               RETURNING epoch`,
        values: [log, name, holder, milliseconds],
      });
      return taken?.rows[0]?.epoch ?? null;
    },
    async release(name, holder) {
      await write({
        text: 'UPDATE annals_vault.leases SET until = 0 WHERE log = $1 AND name = $2 AND holder = $3',
        values: [log, name, holder],
      });
    },
    async isDone(job) {
      const text = 'SELECT done_at FROM annals_vault.jobs WHERE log = $1 AND name = $2';
      return (await read({ text, values: [log, job] })).length > 0;
    },
    async noteDone(job) {
      await write({
        text: `INSERT INTO annals_vault.jobs VALUES ($1, $2, ${serverTime}) ON CONFLICT DO NOTHING`,
        values: [log, job],
      });
    },
  };
}
