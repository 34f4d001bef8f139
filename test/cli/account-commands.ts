import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { loggedIn, login } from '../helpers/accounts.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { runCommand, type Service } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

/** A configuration with accounts of two kinds. */
export const config = {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'users',
      auth: { maxLoginAttempts: 2, useAPIKey: true },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'code', type: 'text', maxLength: 3 },
        { name: 'age', type: 'number', min: 0 },
        { name: 'isEditor', type: 'boolean' },
        { name: 'born', type: 'date' },
        { name: 'role', type: 'select', options: ['admin', 'editor'] },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        { name: 'friend', type: 'relationship', relationTo: 'users' },
        { name: 'friends', type: 'relationship', relationTo: 'users', hasMany: true },
        { name: 'address', type: 'object', fields: [{ name: 'city', type: 'text' }] },
        { name: 'links', type: 'array', fields: [{ name: 'url', type: 'url' }] },
        { name: 'more', type: 'json' },
        { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
        { name: 'friendOf', type: 'join', collection: 'users', on: 'friend' },
      ],
    },
    { slug: 'members', auth: true, fields: [{ name: 'email2', type: 'email' }] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
};
export const password = 'correct horse battery';
/** The one that `set-password` sets. */
export const nextPassword = 'staple of the harbour';

/** A service in a process of its own, or in this one. */
export type Answering = Pick<Service, 'call' | 'data'>;

/** The arguments of a command: a data directory, and the file of the configuration. */
export type Place = { data: string; file: string };
/** The standard input of a command, by default a password, and its environment. */
export type Given = { input?: string | Buffer; environment?: Record<string, string> };

/** The arguments of a command line in which texts with spaces are quoted. */
export function argumentsAt({ data, file }: Place, command: string): string[] {
  const words = command.match(/'[^']*'|\S+/g) ?? [];
  return [...words.map((word) => word.replace(/^'(.*)'$/, '$1')), '--config', file, '--data', data];
}

/** Runs a command in this process. */
export function annalsAt(place: Place, command: string, { input = `${password}\n`, environment = {} }: Given = {}) {
  return runHere(argumentsAt(place, command), { input, environment });
}

/** Runs a command on accounts in a process of its own. */
export function annalsProcessAt(
  place: Place,
  command: string,
  { input = `${password}\n`, environment = {} }: Given = {},
) {
  return runCommand(argumentsAt(place, command), { input, environment });
}

/** Makes a user of a running service and gives the id. */
export async function madeUser(on: Answering, email: string): Promise<string> {
  const { status, body } = await on.call('POST', '/api/collections/users', { email, password });
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** Locks an account out. */
export async function lock(on: Answering, email: string): Promise<void> {
  await login(on, 'users', email, 'wrong password');
  await login(on, 'users', email, 'wrong password');
  assert.equal((await login(on, 'users', email, password)).status, 429);
}

/**
 * Sets the password of a locked account with a session. @param file of the configuration. @param between runs before
 * that. @returns the user, and the session.
 */
export async function forgotten(
  t: TestContext,
  on: Answering,
  file: string,
  between: () => Promise<void> = async () => {},
) {
  const email = 'forgot@example.org';
  const { data } = on;
  const id = await madeUser(on, email);
  const { as } = await loggedIn(on, 'users', email, password);
  await lock(on, email);
  const stream = `accounts/users/${id}`;
  const run = () =>
    annalsAt({ data, file }, 'set-password users --email Forgot@example.org', { input: `${nextPassword}\n` });
  await between();
  const hashed = new Database(join(data, 'vault.db'), { readonly: true });
  t.after(() => hashed.close());
  const kept = () => hashed.prepare('SELECT count(*) FROM passwords').pluck().get();
  const before = kept();
  const { code, stdout, stderr } = await assertRecorded({ data }, run, [
    { type: 'password.changed', stream, actor: { type: 'system' } },
    { type: 'account.unlocked', stream, actor: { type: 'system' } },
  ]);
  assert.deepEqual(
    [code, stdout, stderr],
    [0, 'set the password of Forgot@example.org in users, ended 1 session\n', ''],
  );
  assert.equal(kept(), before, 'the hash of the former password is kept');
  return { id, as };
}

/** Two accounts: one is locked and has two sessions, the other has two sessions. */
export async function twoAccounts(on: Answering) {
  const ids = [await madeUser(on, 'locked@example.org'), await madeUser(on, 'known@example.org')];
  const locked = [
    await loggedIn(on, 'users', 'locked@example.org', password),
    await loggedIn(on, 'users', 'locked@example.org', password),
  ] as const;
  const known = [
    await loggedIn(on, 'users', 'known@example.org', password),
    await loggedIn(on, 'users', 'known@example.org', password),
  ] as const;
  await lock(on, 'locked@example.org');
  return { id: ids[0], locked, known };
}

type Accounts = Awaited<ReturnType<typeof twoAccounts>>;

/** Unlocks the one account and ends a session of it, and ends all sessions of the other, each twice. */
export async function runAccountCommands({ id, locked }: Accounts, place: Place, environment = {}): Promise<void> {
  const run = (line: string, ...types: string[]) =>
    assertRecorded(place, () => annalsAt(place, line, { environment }), types);
  const stream = `accounts/users/${id}`;
  const { sid } = JSON.parse(Buffer.from(locked[1].token.split('.')[1] ?? '', 'base64url').toString());
  assert.deepEqual(await run('unlock users --email Locked@example.org', `account.unlocked ${stream}`), {
    code: 0,
    stdout: 'unlocked Locked@example.org in users\n',
    stderr: '',
  });
  assert.deepEqual(await run('unlock users --email locked@example.org'), {
    code: 1,
    stdout: '',
    stderr: '"locked@example.org" is not locked, and no failed login is counted\n',
  });
  assert.deepEqual(
    await run(`sessions revoke users --email locked@example.org --session ${sid}`, `session.revoked ${stream}`),
    {
      code: 0,
      stdout: 'ended 1 session of locked@example.org\n',
      stderr: '',
    },
  );
  for (const [ended, ...types] of [['ended 2 sessions', 'session.revoked'], ['there was no session']] as const) {
    assert.deepEqual(await run('sessions revoke users --email known@example.org', ...types), {
      code: 0,
      stdout: `${ended} of known@example.org\n`,
      stderr: '',
    });
  }
}

/** The account can be logged in to, and the sessions that were ended are over, at once. */
export async function assertAccountsDone(on: Answering, { id, locked, known }: Accounts) {
  const statuses = [];
  for (const { as } of [...locked, ...known]) {
    statuses.push((await on.call('GET', '/api/collections/users/me', undefined, as)).status);
  }
  assert.deepEqual(statuses, [200, 401, 401, 401]);
  assert.equal((await login(on, 'users', 'locked@example.org', password)).status, 200);
  const unlocked = recordedEvents(on.data, `accounts/users/${id}`).filter(({ type }) => type === 'account.unlocked');
  assert.deepEqual(
    unlocked.map(({ actor }) => actor),
    [{ type: 'system' }],
  );
}
