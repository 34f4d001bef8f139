import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before } from 'node:test';
import { anonymous, bearer, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { useMailbox } from '../helpers/mail.ts';
import type { CallOptions } from '../helpers/service.ts';
import { useFolder, useService } from '../helpers/shared.ts';

const config = `
const isAdmin = ({ user }) => user?.role === 'admin';
const orOwn = ({ user }) => user?.role === 'admin' || (user?.collection === 'users' && { id: { equals: user.id } });
const yes = () => true;
export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true, maxLoginAttempts: 3 },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'role', type: 'select', options: ['admin', 'editor'], defaultValue: 'editor', access: { create: isAdmin, update: isAdmin } },
        { name: 'salary', type: 'number', access: { read: () => false } },
      ],
      access: { create: isAdmin, read: orOwn, update: orOwn, delete: isAdmin },
    },
    { slug: 'members', auth: true, fields: [{ name: 'nick', type: 'text' }, { name: 'team', type: 'relationship', relationTo: 'teams' }] },
    {
      slug: 'articles',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'author', type: 'relationship', relationTo: 'members' },
        { name: 'readers', type: 'relationship', relationTo: 'members', hasMany: true },
        { name: 'editor', type: 'relationship', relationTo: 'users' },
      ],
      access: { read: yes, create: isAdmin, update: isAdmin, delete: isAdmin },
    },
    {
      slug: 'teams',
      fields: [{ name: 'name', type: 'text' }, { name: 'members', type: 'join', collection: 'members', on: 'team' }],
      access: { read: yes, create: isAdmin, update: isAdmin, delete: isAdmin },
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }], access: { read: yes, update: isAdmin } }],
};`;

/**
 * A service for attacks on accounts and tokens, with a mailbox, a clock that tests move, and an administrator. Each
 * file of tests that calls this has a service of its own.
 */
export async function useAttacked() {
  const mailbox = await useMailbox();
  const mailFrom = 'Annals <annals@example.org>';
  const [secret, oldSecret] = ['the-secret-that-signs-0123456789abcdef', 'the-secret-before-it-0123456789abcdef'];
  const clockFile = join(useFolder(), 'clock');
  writeFileSync(clockFile, '0');

  /**
   * Lets tests move time for the service, forward and back, on all clocks that it reads: a jump of the wall clock by
   * itself is not believed. Every thread that reads clocks loads this module first.
   */
  const clock = `
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
const passed = () => Number(readFileSync(${JSON.stringify(clockFile)}, 'utf8'));
const { now } = Date;
const { hrtime } = process;
const { uptime } = os;
Date.now = () => now() + passed();
process.hrtime = Object.assign((...args) => {
  const [seconds, nanoseconds] = hrtime(...args);
  return [seconds + passed() / 1000, nanoseconds];
}, hrtime);
os.uptime = () => uptime() + passed() / 1000;
syncBuiltinESMExports();`;

  const service = useService(clock + config, {
    ANNALS_SMTP_URL: mailbox.url,
    ANNALS_MAIL_FROM: mailFrom,
    ANNALS_THREADS: '2',
    ANNALS_SECRET: `${secret},${oldSecret}`,
  });

  const password = 'correct horse battery';
  const users = '/api/collections/users';
  const members = '/api/collections/members';
  const articles = '/api/collections/articles';

  const post = (path: string, body: unknown, options: CallOptions = anonymous) =>
    service.call('POST', path, body, options);
  const get = (path: string, options: CallOptions = anonymous) => service.call('GET', path, undefined, options);

  let admin: LoggedIn;
  const { promise, resolve, reject } = Promise.withResolvers<LoggedIn>();
  promise.catch(() => {});

  before(async () => {
    try {
      const values = { email: 'admin@example.org', password, role: 'admin' };
      const { status, body } = await post(users, values, {});
      assert.equal(status, 201, JSON.stringify(body));
      admin = await loggedIn(service, 'users', values.email, password);
      resolve(admin);
    } catch (error) {
      reject(error);
      throw error;
    }
  });

  /** Makes a user of a collection, who is logged in. */
  async function newUser(name: string, slug = 'users', values: object = {}): Promise<LoggedIn> {
    const all = { email: `${name}@example.org`, password, ...values };
    const { status, body } = await post(`/api/collections/${slug}`, all, admin.as);
    assert.equal(status, 201, JSON.stringify(body));
    return loggedIn(service, slug, all.email, all.password);
  }

  const invite = (email: unknown, as = admin.as, slug = 'users') =>
    post(`/api/collections/${slug}/invite`, { email }, as);
  const accept = (body: object, slug = 'users') => post(`/api/collections/${slug}/accept-invite`, body);
  const forgot = (email: unknown, slug = 'users') => post(`/api/collections/${slug}/forgot-password`, { email });
  const reset = (body: object, slug = 'users') => post(`/api/collections/${slug}/reset-password`, body);

  /** The token of an invitation to an address. */
  async function inviteToken(email: string, slug = 'users'): Promise<string> {
    assert.equal((await invite(email, admin.as, slug)).status, 200);
    return mailbox.token(email);
  }

  /** The token that resets the password of an account. */
  async function resetToken(email: string, slug = 'users'): Promise<string> {
    assert.equal((await forgot(email, slug)).status, 200);
    return mailbox.token(email);
  }

  /** Runs a function with the clock of the service moved by this number of seconds; negative numbers move it back. */
  async function withClock<T>(seconds: number, run: () => Promise<T>): Promise<T> {
    writeFileSync(clockFile, String(seconds * 1000));
    try {
      return await run();
    } finally {
      writeFileSync(clockFile, '0');
    }
  }

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  /** Signs a forged token: `payload` as JSON, or as it is. */
  function sign(
    payload: unknown,
    key = secret,
    header: unknown = { alg: 'HS256', typ: 'JWT' },
    hash = 'sha256',
  ): string {
    const text = `${encode(header)}.${Buffer.isBuffer(payload) ? payload.toString('base64url') : encode(payload)}`;
    return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
  }

  function claimsOf(token: string): Record<string, unknown> & { sid: string; iat: number; exp: number } {
    return JSON.parse(String(Buffer.from(token.split('.')[1] as string, 'base64url')));
  }

  const me = (options: CallOptions, slug = 'users') => get(`/api/collections/${slug}/me`, options);

  /** Asserts that a token is refused on routes that need a credential, and on those that need none. */
  async function assertRefused(token: string, about: string): Promise<void> {
    const paths = [`${users}/me`, articles];
    const answers = await Promise.all(paths.map((path) => get(path, bearer(token))));
    for (const { status, body } of answers) assert.equal(status, 401, `${about}: ${JSON.stringify(body)}`);
  }

  return {
    admin: promise,
    accept,
    articles,
    assertRefused,
    claimsOf,
    config,
    encode,
    forgot,
    get,
    invite,
    inviteToken,
    mailFrom,
    mailbox,
    me,
    members,
    newUser,
    oldSecret,
    password,
    post,
    reset,
    resetToken,
    secret,
    service,
    sign,
    users,
    withClock,
  };
}
