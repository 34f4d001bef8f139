import { otherReplays } from '../../vault/replays.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import type { VaultRows } from './rows.ts';

/** How many are deleted in one go, so that no call waits long. */
const purged = 1000;

const select = `SELECT attempt, fingerprint, answer, expires_at AS "expiresAt" FROM annals_vault.replays
                WHERE log = $1 AND key = $2 AND expires_at > $3`;

const countOf = (which: string) =>
  `(SELECT count(*) FROM annals_vault.replays WHERE log = $1 AND expires_at > $12::bigint ${which})`;

/**
 * A quota may be passed by as many requests as there are nodes: the counts are not locked. If the statement runs twice,
 * the second run finds the row of the first.
 */
const insert = `INSERT INTO annals_vault.replays (log, key, attempt, fingerprint, caller, about, answer, expires_at)
  SELECT $1::int, $2::text, $3::text, $4::text, $5::text, $6::text, NULL, $7::bigint
  WHERE ${countOf('AND caller = $5')} < $8::int AND ${countOf('')} < $9::int
    AND ($10::int IS NULL OR ${countOf('AND starts_with(caller, $11)')} < $10)
  ON CONFLICT (log, key) DO UPDATE SET attempt = excluded.attempt, fingerprint = excluded.fingerprint,
    caller = excluded.caller, about = excluded.about, answer = NULL, expires_at = excluded.expires_at
  WHERE replays.expires_at <= $12`;

/** Answers that may be given again, as {@link VaultPort} has them. */
export function openReplays({ log, write }: VaultRows): VaultPort['replays'] {
  return {
    async reserve({ key, attempt, fingerprint, caller, about, expiresAt }, { own, all, others }, now) {
      const values = [log, key, attempt, fingerprint, caller, about, expiresAt, own, all, others, otherReplays, now];
      const [, found] = await write({ text: insert, values }, { text: select, values: [log, key, now] });
      return found?.rows[0] ?? null;
    },
    async keep(key, attempt, answer) {
      const text = 'UPDATE annals_vault.replays SET answer = $4 WHERE log = $1 AND key = $2 AND attempt = $3';
      await write({ text, values: [log, key, attempt, answer] });
    },
    async drop(key, attempt) {
      const text = 'DELETE FROM annals_vault.replays WHERE log = $1 AND key = $2 AND attempt = $3';
      await write({ text, values: [log, key, attempt] });
    },
    async forget(callers, stream) {
      const text = 'DELETE FROM annals_vault.replays WHERE log = $1 AND (about = $2 OR caller = ANY($3))';
      await write({ text, values: [log, stream, callers] });
    },
    async purge(now, lifetime) {
      const [, deleted] = await write(
        {
          text: 'UPDATE annals_vault.replays SET expires_at = $2 WHERE log = $1 AND expires_at > $2',
          values: [log, now + lifetime],
        },
        {
          text: `DELETE FROM annals_vault.replays WHERE log = $1 AND key IN (
                   SELECT key FROM annals_vault.replays WHERE log = $1 AND expires_at <= $2
                   ORDER BY expires_at LIMIT ${purged}) RETURNING key`,
          values: [log, now],
        },
      );
      return deleted?.rows.length === purged;
    },
    leaveNoTrace: async () => {},
  };
}
