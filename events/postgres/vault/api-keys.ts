import type { PostgresStatement } from '../../../storage/postgres/connection.ts';
import { hashOfSecret, type KeyHashing, matchingCredential, spareMilliseconds } from '../../vault/api-keys.ts';
import { credentialOf } from '../../vault/passwords.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import type { VaultRows } from './rows.ts';

/** The keyed hashes of the secrets of API keys, as {@link VaultPort} has them. */
export function openKeySecrets({ log, read, write }: VaultRows, hashing: KeyHashing): VaultPort['apiKeys'] {
  return {
    async put(secret, now) {
      const hash = hashOfSecret(hashing, secret);
      const credential = credentialOf(hashing.commitments, hash);
      await write({
        text: 'INSERT INTO annals_vault.key_hashes VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING',
        values: [log, credential, hash, now],
      });
      return credential;
    },
    async match(credentials, secret) {
      const rows = await read({
        text: 'SELECT credential, hash FROM annals_vault.key_hashes WHERE log = $1 AND credential = ANY($2::text[])',
        values: [log, credentials.map((credential) => credential ?? '')],
      });
      const kept = new Map<string | null, string>(rows.map(({ credential, hash }) => [credential, hash]));
      return matchingCredential(hashing, secret, { credentials, stored: (credential) => kept.get(credential) });
    },
    async retain(named, now) {
      const old = await read({
        text: 'SELECT credential FROM annals_vault.key_hashes WHERE log = $1 AND made_at < $2',
        values: [log, now - spareMilliseconds],
      });
      const others = old.map(({ credential }) => credential).filter((credential) => !named.has(credential));
      if (others.length > 0) await write(deletion(log, others));
    },
    async delete(id, credentials) {
      const text = 'DELETE FROM annals_vault.key_uses WHERE log = $1 AND id = $2';
      await write({ text, values: [log, id] }, deletion(log, credentials));
    },
    async used(id, at) {
      await write({
        text: `INSERT INTO annals_vault.key_uses VALUES ($1, $2, $3) ON CONFLICT (log, id)
               DO UPDATE SET used_at = greatest(key_uses.used_at, excluded.used_at)`,
        values: [log, id, at],
      });
    },
    async uses() {
      const rows = await read({ text: 'SELECT id, used_at FROM annals_vault.key_uses WHERE log = $1', values: [log] });
      return new Map(rows.map(({ id, used_at: at }) => [id, at]));
    },
  };
}

function deletion(log: number, credentials: readonly string[]): PostgresStatement {
  const text = 'DELETE FROM annals_vault.key_hashes WHERE log = $1 AND credential = ANY($2::text[])';
  return { text, values: [log, credentials] };
}
