import { createHmac } from 'node:crypto';
import { hasTable, type Sqlite, withDatabase } from '../../storage/sqlite.ts';
import { removeTraces } from './traces.ts';

/** The name of the secret in the vault under which hashes of passwords are committed to. */
export const commitmentSecret = 'password-commitments';

/** The prefix of each credential that says which hash was kept. */
export const commitmentPrefix = 'hmac-sha256:';

/**
 * The credential of a password: the HMAC-SHA-256 of its stored hash, under a secret of the vault. So an event that
 * names it says which hash was kept, and tells nothing about it.
 *
 * @param secret base64url, as the vault keeps it.
 */
export function credentialOf(secret: string, hash: string): string {
  return commitmentPrefix + createHmac('sha256', Buffer.from(secret, 'base64url')).update(hash).digest('hex');
}

/** Whether a credential says what the hash has to be: those of earlier versions were random. */
function isCommitment(credential: string): boolean {
  return credential.startsWith(commitmentPrefix);
}

/** Whether a hash may be the one that was stored under a credential: a random credential does not tell. */
export function mayBeHashOf(credential: string, hash: string, secret: string): boolean {
  return !isCommitment(credential) || credentialOf(secret, hash) === credential;
}

const tables = 'CREATE TABLE IF NOT EXISTS passwords (credential TEXT PRIMARY KEY, hash TEXT NOT NULL) STRICT';

/** Hashes of passwords, each under the credential that events name it by. */
export function openPasswords(db: Sqlite, secret: string) {
  db.exec(tables);
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
    /** Whether a hash may be the one that was put under a credential, as {@link mayBeHashOf} has it. */
    isSame: (credential: string, hash: string): boolean => mayBeHashOf(credential, hash, secret),
    delete: (credential: string): void => {
      if (remove.run(credential).changes > 0) removeTraces(db);
    },
    /** Deletes the hashes that are not named; gives their number. */
    retain: (named: ReadonlySet<string>): number => {
      const count = removeOthers.immediate(named);
      if (count > 0) removeTraces(db);
      return count;
    },
    /** How the hashes begin, each beginning once: `$2b$12$` says how a hash was made. */
    beginnings: (): string[] => selectBeginnings.all(),
  };
}

/** An account with a password: its stream, and the credential that its newest `password.changed` names. */
export type AccountPassword = { stream: string; credential: string };

/** The finding names the first account whose hash is not the one that was set; null when all are. */
export type PasswordCheck = { finding: string | null; notes: string[] };

/**
 * Holds the hashes of a vault against what the log says of them, beside the process that has the vault open. A hash
 * that is not there is no finding: a vault may be lost, and a password changed meanwhile.
 *
 * @throws SqliteError when the file is not for this user.
 */
export function checkPasswords(path: string, accounts: Iterable<AccountPassword>): PasswordCheck {
  return withDatabase(path, { readonly: true, cacheMiB: 1 }, (db) => check(db, accounts));
}

function check(db: Sqlite, accounts: Iterable<AccountPassword>): PasswordCheck {
  // A vault from before there were accounts has none of them.
  const select = hasTable(db, 'passwords')
    ? db.prepare<[credential: string], string>('SELECT hash FROM passwords WHERE credential = ?').pluck()
    : null;
  const secret = db.prepare('SELECT value FROM secrets WHERE name = ?').pluck().get(commitmentSecret);
  const counts = { same: 0, missing: 0, before: 0 };
  for (const { stream, credential } of accounts) {
    const hash = select?.get(credential);
    if (hash === undefined) counts.missing += 1;
    else if (!isCommitment(credential)) counts.before += 1;
    else if (typeof secret === 'string' && credentialOf(secret, hash) === credential) counts.same += 1;
    else return { finding: `${stream}: the hash in vault.db is not that of the password which was set`, notes: [] };
  }
  const notes = [
    ...told(counts.same, 'passwords are those that were set'),
    ...told(
      counts.before,
      'passwords were set before events said which hash was kept: nothing tells whether theirs is',
    ),
    ...told(counts.missing, 'accounts have a password that vault.db does not have, or changed it just now'),
  ];
  return { finding: null, notes };
}

function told(count: number, what: string): string[] {
  return count === 0 ? [] : [`${what}: ${count}`];
}
