import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { createPrivate, privateFile } from '../../storage/private.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { type KnownSeals, openSealed, readKnown, readSealed, type Seals, sealSecret } from '../proof/seals.ts';
import { keySecretNames, openKeySecrets } from './api-keys.ts';
import { openCounters } from './counters.ts';
import type { KnownKey } from './key-replacement.ts';
import { type KnownKeys, learnLogKeys, openLogKeys, readLogKeys } from './log-keys.ts';
import { commitmentSecret, openPasswords } from './passwords.ts';
import { openPreferences } from './preferences.ts';
import { openPreviewTokens } from './preview-tokens.ts';
import { openPreviews } from './previews.ts';
import { openReplays } from './replays.ts';
import { openUnsavedChanges } from './unsaved-changes.ts';

export type Vault = ReturnType<typeof openVault>;

/** Opens `vault.db`, which has what must never be in an event. Its owner, who is this user, alone may read the file. */
export function openVault(path: string) {
  createPrivate(path);
  chmodSync(path, privateFile);
  const db = openDatabase(path, { durability: 'full', secureDelete: true, cacheMiB: 2 });
  db.exec(tables);
  const secrets = openSecrets(db);
  const sealed = openSealed(db);
  return {
    ...secrets,
    /** The means to seal the heads of logs. */
    seals: (): Seals => ({ key: secrets.secret(sealSecret), sealed: sealed.all(), known: readKnown(db) }),
    /** Remembers that this vault has sealed the head of a log. */
    remembersSealed: (log: string): void => sealed.add(log),
    passwords: openPasswords(db, secrets.secret(commitmentSecret)),
    counters: openCounters(db),
    logKeys: openLogKeys(db),
    apiKeys: openKeySecrets(db, {
      hashes: secrets.secret(keySecretNames.hashes),
      commitments: secrets.secret(keySecretNames.commitments),
    }),
    previews: openPreviews(db),
    previewTokens: openPreviewTokens(db),
    unsavedChanges: openUnsavedChanges(db),
    preferences: openPreferences(db),
    replays: openReplays(db),
    /** Stores the public part of the keys of another vault, see {@link learnLogKeys}. */
    learnKeys: (log: string, keys: readonly KnownKey[]): void => learnLogKeys(db, log, keys),
    isOf: (log: string): boolean => isOf(db, log),
    close: (): void => {
      db.close();
    },
  };
}

/**
 * Reads a secret beside the process that has the vault open; null when it has not been made.
 *
 * @throws SqliteError when the file is missing or not for this user.
 */
export function readSecret(path: string, name: string): string | null {
  return withDatabase(path, { readonly: true, cacheMiB: 1 }, (db) => selectSecret(db).get(name) ?? null);
}

/**
 * Reads what a vault has about logs beside the process that has it open: their keys, and the means by which their heads
 * are sealed. The key of `seals` is null as long as the vault has sealed no head.
 *
 * @throws SqliteError when the file is missing or not for this user.
 */
export function withVault<T>(path: string, use: (keys: KnownKeys, seals: KnownSeals) => T): T {
  return withDatabase(path, { readonly: true, cacheMiB: 1 }, (db) => {
    const key = selectSecret(db).get(sealSecret) ?? null;
    return use(readLogKeys(db), { key, sealed: readSealed(db), known: readKnown(db) });
  });
}

const tables = `
  CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS log (id TEXT NOT NULL) STRICT;
`;

/**
 * Whether this vault is the vault of a log, by its id: it belongs to the first log that it was opened with. The
 * passwords of another log must not be deleted because this log does not name them.
 */
function isOf(db: Sqlite, log: string): boolean {
  db.prepare('INSERT INTO log SELECT ? WHERE NOT EXISTS (SELECT 1 FROM log)').run(log);
  return db.prepare('SELECT id FROM log').pluck().get() === log;
}

function selectSecret(db: Sqlite) {
  return db.prepare<[name: string], string>('SELECT value FROM secrets WHERE name = ?').pluck();
}

function openSecrets(db: Sqlite) {
  const select = selectSecret(db);
  const insert = db.prepare('INSERT INTO secrets VALUES (?, ?) ON CONFLICT DO NOTHING');

  /** A secret of 32 random bytes in base64url, made on first use and never changed. */
  function secret(name: string): string {
    insert.run(name, randomBytes(32).toString('base64url'));
    const kept = select.get(name);
    if (kept === undefined) throw new Error(`vault.db did not keep the secret ${name}`);
    return kept;
  }

  /** An opaque, stable name for something secret, such as an API key: it tells nothing without this vault. */
  function opaqueId(secretText: string): string {
    return createHmac('sha256', secret('opaque-ids')).update(secretText).digest('hex').slice(0, 16);
  }

  return { secret, opaqueId };
}
