import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Sqlite } from '../../storage/sqlite.ts';
import { credentialOf } from './passwords.ts';

export type KeySecrets = ReturnType<typeof openKeySecrets>;

/** The names of the secrets in the vault: of the hashes themselves, and of what events say of them. */
export const keySecretNames = { hashes: 'api-key-hashes', commitments: 'api-key-commitments' } as const;

const tables = `
  CREATE TABLE IF NOT EXISTS key_hashes (credential TEXT PRIMARY KEY, hash TEXT NOT NULL, made_at INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS key_uses (id TEXT PRIMARY KEY, used_at INTEGER NOT NULL) STRICT;
`;

/** A hash of no secret, which stands in for one that is not there, so that the comparison takes the same time. */
export const noHash = '0'.repeat(64);
/** A hash that no event names yet may belong to a key that is being made. */
export const spareMilliseconds = 60 * 60 * 1000;

/**
 * Keyed hashes of the secrets of API keys, each under the credential that events name it by, and when each key was used
 * last. A secret has 256 random bits, so that a fast hash is enough.
 *
 * @param keys the secrets of the vault by which hashes and credentials are made.
 */
export function openKeySecrets(db: Sqlite, keys: { [name in keyof typeof keySecretNames]: string }) {
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

  function hashOf(secret: string): string {
    return createHmac('sha256', Buffer.from(keys.hashes, 'base64url')).update(secret).digest('hex');
  }

  return {
    /** Keeps the hash of a secret; gives its credential. `now`: milliseconds since the epoch. */
    put(secret: string, now: number): string {
      const hash = hashOf(secret);
      const credential = credentialOf(keys.commitments, hash);
      insert.run(credential, hash, now);
      return credential;
    },
    /**
     * The credential among these whose secret this is; null without one. Null stands for a credential that there is
     * not.
     */
    match(credentials: readonly (string | null)[], secret: string): string | null {
      const hash = hashOf(secret);
      let found: string | null = null;
      for (const credential of credentials) {
        const kept = select.get(credential ?? '') ?? noHash;
        // The hash has to be the one that the event was about, too.
        const isSame = timingSafeEqual(Buffer.from(kept), Buffer.from(hash));
        if (isSame && credentialOf(keys.commitments, kept) === credential) found = credential;
      }
      return found;
    },
    /** Deletes the hashes that are not named, but for those that were made just now. */
    retain(named: ReadonlySet<string>, now: number): void {
      const others = selectOld.all(now - spareMilliseconds).filter((credential) => !named.has(credential));
      if (removeAll.immediate(others) > 0) leaveNoTrace(db);
    },
    /** Deletes all that is kept of a key that is revoked. */
    delete(id: string, credentials: readonly string[]): void {
      removeUse.run(id);
      if (removeAll.immediate(credentials) > 0) leaveNoTrace(db);
    },
    /** Remembers that a key was used. Milliseconds since the epoch. */
    used: (id: string, at: number): void => void setUse.run(id, at),
    /** When each key was used last, by its id. */
    uses: (): Map<string, number> => new Map(selectUses.all().map(({ id, used_at: at }) => [id, at])),
  };
}

/** Deleted content is zeros in the file, but stands in the write-ahead log until that is emptied. */
function leaveNoTrace(db: Sqlite): void {
  db.pragma('wal_checkpoint(TRUNCATE)');
}
