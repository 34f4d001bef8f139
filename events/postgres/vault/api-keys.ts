import { createHmac, timingSafeEqual } from 'node:crypto';
import type { keySecretNames } from '../../vault/key-secrets.ts';
import { noHash, spareMilliseconds } from '../../vault/key-secrets.ts';
import { credentialOf } from '../../vault/passwords.ts';
import type { VaultPort } from '../../vault/vault-port.ts';
import type { VaultRows } from './running.ts';

/**
 * Keyed hashes of the secrets of API keys, as {@link VaultPort} has them.
 *
 * @param keys the secrets by which hashes and credentials are made.
 */
export function openKeySecrets(
  { log, read, write }: VaultRows,
  keys: { [name in keyof typeof keySecretNames]: string },
): VaultPort['apiKeys'] {
  function hashOf(secret: string): string {
    return createHmac('sha256', Buffer.from(keys.hashes, 'base64url')).update(secret).digest('hex');
  }

  return {
    async put(secret, now) {
      const hash = hashOf(secret);
      const credential = credentialOf(keys.commitments, hash);
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
      const hash = hashOf(secret);
      let found: string | null = null;
      for (const credential of credentials) {
        const its = kept.get(credential) ?? noHash;
        // The hash has to be the one that the event was about, too.
        const isSame = timingSafeEqual(Buffer.from(its), Buffer.from(hash));
        if (isSame && credentialOf(keys.commitments, its) === credential) found = credential;
      }
      return found;
    },
    async retain(named, now) {
      const old = await read({
        text: 'SELECT credential FROM annals_vault.key_hashes WHERE log = $1 AND made_at < $2',
        values: [log, now - spareMilliseconds],
      });
      const others = old.map(({ credential }) => credential).filter((credential) => !named.has(credential));
      if (others.length > 0) await write(deletion(others));
    },
    async delete(id, credentials) {
      const text = 'DELETE FROM annals_vault.key_uses WHERE log = $1 AND id = $2';
      await write({ text, values: [log, id] }, deletion(credentials));
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

  function deletion(credentials: readonly string[]) {
    const text = 'DELETE FROM annals_vault.key_hashes WHERE log = $1 AND credential = ANY($2::text[])';
    return { text, values: [log, credentials] };
  }
}
