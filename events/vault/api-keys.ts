import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Sqlite } from '../../storage/sqlite.ts';
import { credentialOf } from './passwords.ts';
import { removeTraces } from './traces.ts';

/** The names of the secrets in the vault: of the hashes themselves, and of what events say of them. */
export const keySecretNames = { hashes: 'api-key-hashes', commitments: 'api-key-commitments' } as const;

const tables = `
  CREATE TABLE IF NOT EXISTS key_hashes (credential TEXT PRIMARY KEY, hash TEXT NOT NULL, made_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS key_uses (id TEXT PRIMARY KEY, used_at INTEGER NOT NULL) STRICT;
`;

/** Stands in for a hash that the vault does not have, so that the comparison takes the same time. */
const noHash = '0'.repeat(64);

/** For so long a hash is kept that no event names: its key may be about to be made. */
export const spareMilliseconds = 60 * 60 * 1000;

/** The secrets of the vault by which hashes and credentials are made, in base64url. */
export type KeyHashing = { [name in keyof typeof keySecretNames]: string };

/** The keyed hash of the secret of an API key. A secret has 256 random bits, so a fast hash is enough. */
export function hashOfSecret({ hashes }: KeyHashing, secret: string): string {
  return createHmac('sha256', Buffer.from(hashes, 'base64url')).update(secret).digest('hex');
}

/**
 * The credential among these whose secret this is, in the same time for all; null without one.
 *
 * @param stored the hash that the vault has under a credential.
 */
export function matchingCredential(
  hashing: KeyHashing,
  secret: string,
  given: { credentials: readonly (string | null)[]; stored: (credential: string | null) => string | undefined },
): string | null {
  const hash = Buffer.from(hashOfSecret(hashing, secret));
  let found: string | null = null;
  for (const credential of given.credentials) {
    const stored = given.stored(credential) ?? noHash;
    const isSame = timingSafeEqual(Buffer.from(stored), hash);
    // The credential, which is in an event, says which hash it was: the vault may have been changed.
    if (isSame && credentialOf(hashing.commitments, stored) === credential) found = credential;
  }
  return found;
}

/**
 * The keyed hashes of the secrets of API keys, each under the credential that events name it by, and the time at which
 * each key was used last.
 */
export function openKeySecrets(db: Sqlite, hashing: KeyHashing) {
  db.exec(tables);
  const select = db.prepare<[credential: string], string>('SELECT hash FROM key_hashes WHERE credential = ?').pluck();
  const selectOld = db.prepare<[before: number], string>('SELECT credential FROM key_hashes WHERE made_at < ?').pluck();
  const insert = db.prepare('INSERT INTO key_hashes VALUES (?, ?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare('DELETE FROM key_hashes WHERE credential = ?');
  const setUse = db.prepare(
    'INSERT INTO key_uses VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET used_at = max(used_at, excluded.used_at)',
  );
  const removeUse = db.prepare('DELETE FROM key_uses WHERE id = ?');
  const selectUses = db.prepare<[], { id: string; used_at: number }>('SELECT id, used_at FROM key_uses');

  const removeAll = db.transaction((credentials: readonly string[]): number => {
    return credentials.filter((credential) => remove.run(credential).changes > 0).length;
  });

  return {
    /** Keeps the hash of a secret; gives its credential. `now`: milliseconds since the epoch. */
    put(secret: string, now: number): string {
      const hash = hashOfSecret(hashing, secret);
      const credential = credentialOf(hashing.commitments, hash);
      insert.run(credential, hash, now);
      return credential;
    },
    /** The credential among these whose secret this is; null without one. Null stands for a credential not found. */
    match: (credentials: readonly (string | null)[], secret: string): string | null =>
      matchingCredential(hashing, secret, { credentials, stored: (credential) => select.get(credential ?? '') }),
    /** Deletes the hashes that are not named, except those that were made just now. */
    retain(named: ReadonlySet<string>, now: number): void {
      const others = selectOld.all(now - spareMilliseconds).filter((credential) => !named.has(credential));
      if (removeAll.immediate(others) > 0) removeTraces(db);
    },
    /** Deletes the hashes of a revoked key, and the time of its last use. */
    delete(id: string, credentials: readonly string[]): void {
      removeUse.run(id);
      if (removeAll.immediate(credentials) > 0) removeTraces(db);
    },
    /** Remembers the time at which a key was used, in milliseconds since the epoch. */
    used: (id: string, at: number): void => void setUse.run(id, at),
    /** The time at which each key was used last, by its id. */
    uses: (): Map<string, number> => new Map(selectUses.all().map(({ id, used_at: at }) => [id, at])),
  };
}
