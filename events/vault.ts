import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync, closeSync, openSync } from 'node:fs';
import { openDatabase } from '../storage/sqlite.ts';

/** Opens `vault.db`, where secrets are kept that must never be in an event. Only its owner may read the file. */
export function openVault(path: string) {
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  const db = openDatabase(path, { durability: 'full', secureDelete: true, cacheMiB: 2 });
  db.exec('CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT');
  const select = db.prepare('SELECT value FROM secrets WHERE name = ?').pluck();
  const insert = db.prepare('INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING');

  /** A secret of 32 random bytes in base64url, made on first use and the same ever after. */
  function secret(name: string): string {
    insert.run(name, randomBytes(32).toString('base64url'));
    return select.get(name) as string;
  }

  /** An opaque, stable name for something secret, such as an API key: it tells nothing without this vault. */
  function opaqueId(secretText: string): string {
    return createHmac('sha256', secret('opaque-ids')).update(secretText).digest('hex').slice(0, 16);
  }

  return { secret, opaqueId, close: () => db.close() };
}
