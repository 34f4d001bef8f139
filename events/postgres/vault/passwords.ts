import { credentialOf, mayBeHashOf } from '../../vault/passwords.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import { serverTime, type VaultRows } from './rows.ts';

/**
 * Hashes of passwords, as {@link VaultPort} has them.
 *
 * @param secret the secret under which hashes are committed to.
 * @param spareMilliseconds for so long a hash is kept that no event names: another node may have just stored it.
 */
export function openPasswords(
  { log, read, write, change }: VaultRows,
  secret: string,
  spareMilliseconds: number,
): VaultPort['passwords'] {
  return {
    async put(hash) {
      const credential = credentialOf(secret, hash);
      await write({
        text: `INSERT INTO annals_vault.passwords VALUES ($1, $2, $3, ${serverTime}) ON CONFLICT DO NOTHING`,
        values: [log, credential, hash],
      });
      return credential;
    },
    async get(credential) {
      const [row] = await read({
        text: 'SELECT hash FROM annals_vault.passwords WHERE log = $1 AND credential = $2',
        values: [log, credential],
      });
      return row?.hash ?? null;
    },
    isSame: async (credential, hash) => mayBeHashOf(credential, hash, secret),
    async delete(credential) {
      await write({
        text: 'DELETE FROM annals_vault.passwords WHERE log = $1 AND credential = $2',
        values: [log, credential],
      });
    },
    retain: (named) =>
      change(
        [
          {
            text: `SELECT credential FROM annals_vault.passwords WHERE log = $1 AND made_at <= ${serverTime} - $2::bigint FOR UPDATE`,
            values: [log, spareMilliseconds],
          },
        ],
        ([found = []]) => {
          const others = found.map(({ credential }) => credential).filter((credential) => !named.has(credential));
          const text = 'DELETE FROM annals_vault.passwords WHERE log = $1 AND credential = ANY($2::text[])';
          return { statements: others.length > 0 ? [{ text, values: [log, others] }] : [], value: others.length };
        },
      ),
    async beginnings() {
      const rows = await read({
        text: 'SELECT DISTINCT substr(hash, 1, 7) AS beginning FROM annals_vault.passwords WHERE log = $1',
        values: [log],
      });
      return rows.map(({ beginning }) => beginning);
    },
  };
}
