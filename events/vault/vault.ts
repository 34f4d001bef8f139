import { createHmac, randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { createPrivate, privateFile } from '../../storage/private.ts';
import { openDatabase, type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { type KnownSeals, openSealed, readKnown, readSealed, type Seals, sealSecret } from '../proof/seals.ts';
import { keySecretNames, openKeySecrets } from './key-secrets.ts';
import { type KnownKey, type KnownKeys, learnLogKeys, openLogKeys, readLogKeys } from './log-keys.ts';
import { commitmentSecret, credentialOf, isCommitment } from './passwords.ts';
import { openPreferences } from './preferences.ts';
import { openDrafts } from './previews.ts';
import { openOwnDrafts } from './unsaved-changes.ts';

export type Vault = ReturnType<typeof openVault>;

/**
 * Failed logins under one key, in a row. Times are milliseconds since the epoch: `lockedUntil` is null where there is
 * no lock, `touched` is when the last one was counted. `isKnown`: that one was for an account with a password.
 */
export type Counter = { failures: number; lockedUntil: number | null; touched: number; isKnown: boolean };

/**
 * Opens `vault.db`, where secrets are kept that must never be in an event. Only its owner may read the file, who is
 * this user.
 */
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
    /** Remembers that the head of a log is sealed with it. */
    remembersSealed: (log: string): void => sealed.add(log),
    passwords: openPasswords(db, secrets.secret(commitmentSecret)),
    counters: openCounters(db),
    logKeys: openLogKeys(db),
    apiKeys: openKeySecrets(db, {
      hashes: secrets.secret(keySecretNames.hashes),
      commitments: secrets.secret(keySecretNames.commitments),
    }),
    drafts: openDrafts(db),
    ownDrafts: openOwnDrafts(db),
    preferences: openPreferences(db),
    /** Keeps the public part of keys that sign elsewhere, see {@link learnLogKeys}. */
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
 * The records of a vault about logs, read beside the process that has it open: their keys, and the means by which their
 * heads are sealed, where the key is null as long as it has sealed none.
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
  CREATE TABLE IF NOT EXISTS passwords (credential TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS attempts (
    key TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    locked_until INTEGER,
    touched INTEGER NOT NULL,
    known INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS attempts_by_age ON attempts (known, touched);
`;

/**
 * Whether this vault is that of a log, by its id: it is that of the first one that it was opened with. Passwords that
 * another log does not name may be all that the right one has.
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

  /** A secret of 32 random bytes in base64url, made on first use and the same ever after. */
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

/** Hashes of passwords, each under the credential that events name it by. */
function openPasswords(db: Sqlite, secret: string) {
  const select = db.prepare<[credential: string], string>('SELECT hash FROM passwords WHERE credential = ?').pluck();
  const selectAll = db.prepare<[], string>('SELECT credential FROM passwords').pluck();
  const selectBeginnings = db.prepare<[], string>('SELECT DISTINCT substr(hash, 1, 7) FROM passwords').pluck();
  const insert = db.prepare('INSERT INTO passwords VALUES (?, ?) ON CONFLICT DO NOTHING');
  const remove = db.prepare('DELETE FROM passwords WHERE credential = ?');

  const removeOthers = db.transaction((named: ReadonlySet<string>): number => {
    const others = selectAll.all().filter((credential) => !named.has(credential));
    for (const credential of others) remove.run(credential);
    return others.length;
  });

  return {
    /** Keeps a hash; gives its credential. */
    put: (hash: string): string => {
      const credential = credentialOf(secret, hash);
      insert.run(credential, hash);
      return credential;
    },
    get: (credential: string): string | null => select.get(credential) ?? null,
    /**
     * Whether a hash that is kept under a credential may be the one that was: of one from before, this cannot be known.
     */
    isSame: (credential: string, hash: string): boolean =>
      !isCommitment(credential) || credentialOf(secret, hash) === credential,
    delete: (credential: string): void => {
      if (remove.run(credential).changes > 0) leaveNoTrace(db);
    },
    /** Deletes all that are not named; gives their number. */
    retain: (named: ReadonlySet<string>): number => {
      const count = removeOthers.immediate(named);
      if (count > 0) leaveNoTrace(db);
      return count;
    },
    /** How the hashes begin, each beginning once: `$2b$12$` says how a hash was made. */
    beginnings: (): string[] => selectBeginnings.all(),
  };
}

type CounterRow = { failures: number; locked_until: number | null; touched: number; known: number };

/** Counters of failed logins, each under a key that tells nothing. */
function openCounters(db: Sqlite) {
  const select = db.prepare<[key: string], CounterRow>(
    'SELECT failures, locked_until, touched, known FROM attempts WHERE key = ?',
  );
  const replace = db.prepare('INSERT OR REPLACE INTO attempts VALUES (?, ?, ?, ?, ?)');
  const remove = db.prepare('DELETE FROM attempts WHERE key = ?');
  const count = db.prepare<[], number>('SELECT count(*) FROM attempts').pluck();
  const pullBack = db.prepare('UPDATE attempts SET touched = :now WHERE touched > :now');
  const removeOld = db.prepare(
    'DELETE FROM attempts WHERE touched < :before AND (locked_until IS NULL OR locked_until <= :now)',
  );
  const removeUnknown = db.prepare(
    `DELETE FROM attempts WHERE key IN
       (SELECT key FROM attempts WHERE known = 0 ORDER BY touched DESC LIMIT -1 OFFSET ?)`,
  );

  function get(key: string): Counter | null {
    const row = select.get(key);
    if (!row) return null;
    const { failures, locked_until: lockedUntil, touched, known } = row;
    return { failures, lockedUntil, touched, isKnown: known === 1 };
  }

  const change = db.transaction((key: string, next: (counter: Counter | null) => Counter | null): Counter | null => {
    const counter = next(get(key));
    if (counter) {
      const { failures, lockedUntil, touched, isKnown } = counter;
      replace.run(key, failures, lockedUntil, touched, isKnown ? 1 : 0);
    } else remove.run(key);
    return counter;
  });

  const tidy = db.transaction((now: number, before: number, maxUnknown: number): void => {
    pullBack.run({ now });
    removeOld.run({ now, before });
    removeUnknown.run(maxUnknown);
  });

  return {
    get,
    /** Puts what `next` makes of a counter in its place; null deletes it. */
    change: (key: string, next: (counter: Counter | null) => Counter | null): Counter | null =>
      change.immediate(key, next),
    /**
     * Deletes counters last touched before `before`, unless they are locked, and the oldest of those that are not known
     * until at most `maxUnknown` are left. One from the future, which a clock that was put back leaves, is of now.
     */
    tidy: (now: number, before: number, maxUnknown: number): void => tidy.immediate(now, before, maxUnknown),
    count: (): number => count.get() ?? 0,
  };
}

/** Deleted content is zeros in the file, but stands in the write-ahead log until that is emptied. */
function leaveNoTrace(db: Sqlite): void {
  db.pragma('wal_checkpoint(TRUNCATE)');
}
