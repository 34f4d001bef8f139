import { lockOf, serverTime, type VaultRows } from './rows.ts';

/** The files that no node may remove now, and those that are being removed. The server's clock counts. */
export type PinRows = {
  /** Pins a file for a number of milliseconds, unless it is being removed or may have been removed. */
  pin: (sha256: string, holder: string, milliseconds: number) => Promise<'pinned' | 'removing' | 'doubtful'>;
  /** Makes pins last for a number of milliseconds from now. */
  renew: (holders: readonly string[], milliseconds: number) => Promise<void>;
  unpin: (holders: readonly string[]) => Promise<void>;
  /**
   * Begins a removal: no node can pin the file for a number of milliseconds. False if it is pinned or being removed.
   */
  withhold: (sha256: string, holder: string, milliseconds: number) => Promise<boolean>;
  /** Ends a removal; with `doubtMilliseconds` only after that time, since the store may still carry it out. */
  settle: (sha256: string, holder: string, doubtMilliseconds: number | null) => Promise<void>;
};

/** Opens the pins of a log. */
export function openPinRows({ log, write }: VaultRows): PinRows {
  const lock = lockOf(log, 'pins');
  const removal = `SELECT is_doubtful FROM annals_vault.removals WHERE log = $1 AND sha256 = $2 AND until > ${serverTime}`;

  return {
    async pin(sha256, holder, milliseconds) {
      const [, removing] = await write(
        lock,
        { text: removal, values: [log, sha256] },
        {
          text: `INSERT INTO annals_vault.pins SELECT $1, $2, $3, ${serverTime} + $4::bigint WHERE NOT EXISTS (${removal})
                 ON CONFLICT (log, sha256, holder) DO UPDATE SET until = excluded.until`,
          values: [log, sha256, holder, milliseconds],
        },
      );
      const row = removing?.rows[0];
      if (!row) return 'pinned';
      return row.is_doubtful ? 'doubtful' : 'removing';
    },
    async renew(holders, milliseconds) {
      await write({
        text: `UPDATE annals_vault.pins SET until = ${serverTime} + $3::bigint WHERE log = $1 AND holder = ANY($2::text[])`,
        values: [log, holders, milliseconds],
      });
    },
    async unpin(holders) {
      await write({
        text: 'DELETE FROM annals_vault.pins WHERE log = $1 AND holder = ANY($2::text[])',
        values: [log, holders],
      });
    },
    async withhold(sha256, holder, milliseconds) {
      const results = await write(
        lock,
        { text: `DELETE FROM annals_vault.pins WHERE log = $1 AND until <= ${serverTime}`, values: [log] },
        { text: `DELETE FROM annals_vault.removals WHERE log = $1 AND until <= ${serverTime}`, values: [log] },
        {
          text: `INSERT INTO annals_vault.removals SELECT $1, $2, $3, false, ${serverTime} + $4::bigint WHERE NOT EXISTS (
                   SELECT 1 FROM annals_vault.pins WHERE log = $1 AND sha256 = $2
                 ) ON CONFLICT DO NOTHING`,
          values: [log, sha256, holder, milliseconds],
        },
        {
          text: 'SELECT 1 FROM annals_vault.removals WHERE log = $1 AND sha256 = $2 AND holder = $3',
          values: [log, sha256, holder],
        },
      );
      return results.at(-1)?.rowCount === 1;
    },
    async settle(sha256, holder, doubtMilliseconds) {
      const where = 'WHERE log = $1 AND sha256 = $2 AND holder = $3';
      if (doubtMilliseconds === null) {
        await write({ text: `DELETE FROM annals_vault.removals ${where}`, values: [log, sha256, holder] });
        return;
      }
      await write({
        text: `UPDATE annals_vault.removals SET is_doubtful = true, until = ${serverTime} + $4::bigint ${where}`,
        values: [log, sha256, holder, doubtMilliseconds],
      });
    },
  };
}
