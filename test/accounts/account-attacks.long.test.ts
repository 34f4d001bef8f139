import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { anonymous, badPasswords, bearer, type LoggedIn, loggedIn, login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { useMailbox } from '../helpers/mail.ts';
import { type Answer, apiKey, type CallOptions } from '../helpers/service.ts';
import { fieldsOf, logLines, recordedEvents, sendRaw, useFolder, useService } from '../helpers/shared.ts';

const mailbox = await useMailbox();
const mailFrom = 'Annals <annals@example.org>';
const [secret, oldSecret] = ['the-secret-that-signs-0123456789abcdef', 'the-secret-before-it-0123456789abcdef'];
const clockFile = join(useFolder(), 'clock');
writeFileSync(clockFile, '0');

/**
 * The tests let time pass for the service, and take it back: on all clocks that it has, for a wall clock that is put on
 * by itself is not believed. Every thread that reads them loads its module before.
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

before(async () => {
  const values = { email: 'admin@example.org', password, role: 'admin' };
  const { status, body } = await post(users, values, {});
  assert.equal(status, 201, JSON.stringify(body));
  admin = await loggedIn(service, 'users', values.email, password);
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

/** Does something when so many seconds have passed for the service, or before they have. */
async function withClock<T>(seconds: number, run: () => Promise<T>): Promise<T> {
  writeFileSync(clockFile, String(seconds * 1000));
  try {
    return await run();
  } finally {
    writeFileSync(clockFile, '0');
  }
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs what is to be taken for a token: `payload` as JSON, or as it is. */
function sign(payload: unknown, key = secret, header: unknown = { alg: 'HS256', typ: 'JWT' }, hash = 'sha256'): string {
  const text = `${encode(header)}.${Buffer.isBuffer(payload) ? payload.toString('base64url') : encode(payload)}`;
  return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
}

function claimsOf(token: string): Record<string, unknown> & { sid: string; iat: number; exp: number } {
  return JSON.parse(String(Buffer.from(token.split('.')[1] as string, 'base64url')));
}

const me = (options: CallOptions, slug = 'users') => get(`/api/collections/${slug}/me`, options);

/** Refused everywhere: where a credential is needed, and where none is. */
async function assertRefused(token: string, about: string): Promise<void> {
  const paths = [`${users}/me`, articles];
  const answers = await Promise.all(paths.map((path) => get(path, bearer(token))));
  for (const { status, body } of answers) assert.equal(status, 401, `${about}: ${JSON.stringify(body)}`);
}

describe('A token', () => {
  it('that was not made by this service is refused everywhere', async () => {
    const { token } = await newUser('amy');
    const other = await newUser('amos');
    const good = claimsOf(token);
    assert.equal((await me(bearer(sign(good)))).status, 200, 'the tests can sign');
    const [header = '', payload = '', signature = ''] = token.split('.');
    const without = (name: string) => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    const forged: Record<string, string> = {
      'alg none, without a signature': `${encode({ alg: 'none', typ: 'JWT' })}.${payload}.`,
      'alg NONE, with a signature': `${encode({ alg: 'NONE' })}.${payload}.${signature}`,
      'alg nOnE': `${encode({ alg: 'nOnE' })}.${payload}.`,
      'no alg': `${encode({ typ: 'JWT' })}.${payload}.${signature}`,
      'alg is a list': sign(good, secret, { alg: ['HS256'] }),
      'alg in lower case': sign(good, secret, { alg: 'hs256' }),
      'HS256 under another key': sign(good, 'another key that has enough characters'),
      'HS256 under an empty key': sign(good, ''),
      'HS256 under both secrets as they were written': sign(good, `${secret},${oldSecret}`),
      'HS384 under the right key': sign(good, secret, { alg: 'HS384' }, 'sha384'),
      'an extension that has to be understood (crit)': sign(good, secret, { alg: 'HS256', crit: ['b64'], b64: true }),
      'an empty list of these': sign(good, secret, { alg: 'HS256', crit: [] }),
      'HS512 under the right key': sign(good, secret, { alg: 'HS512' }, 'sha512'),
      'RS256, with an HMAC for a signature': sign(good, secret, { alg: 'RS256' }),
      'a key of its own': sign(good, 'x'.repeat(40), { alg: 'HS256', jwk: { kty: 'oct', k: encode('x'.repeat(40)) } }),
      'no signature': `${header}.${payload}.`,
      'a signature that is cut': `${header}.${payload}.${signature.slice(0, -1)}`,
      'the signature of another token': `${header}.${payload}.${other.token.split('.')[2]}`,
      'another payload under its signature': `${header}.${encode({ ...good, sub: admin.id })}.${signature}`,
      'an unknown session': sign({ ...good, sid: '00000000-0000-4000-8000-000000000000' }),
      'the session of somebody else': sign({ ...good, sid: claimsOf(other.token).sid }),
      'another user': sign({ ...good, sub: other.id }),
      'another collection': sign({ ...good, collection: 'members' }),
      'a collection without accounts': sign({ ...good, collection: 'articles' }),
      'a global': sign({ ...good, collection: 'site' }),
      'no session': sign(without('sid')),
      'no user': sign(without('sub')),
      'no collection': sign(without('collection')),
      'a list of users': sign({ ...good, sub: [good.sub] }),
      'an object for a session': sign({ ...good, sid: { equals: good.sid } }),
      'session null': sign({ ...good, sid: null }),
      'no exp': sign(without('exp')),
      'exp as a text': sign({ ...good, exp: String(good.exp) }),
      'exp null': sign({ ...good, exp: null }),
      'exp a list': sign({ ...good, exp: [good.exp] }),
      'exp that is over': sign({ ...good, exp: Math.floor(Date.now() / 1000) - 1 }),
      'exp of 1970': sign({ ...good, exp: 0 }),
      'exp below zero': sign({ ...good, exp: -good.exp }),
      'no iat': sign(without('iat')),
      'iat as a text': sign({ ...good, iat: String(good.iat) }),
      'iat in the future': sign({ ...good, iat: good.iat + 3600 }),
      'a list of claims': sign([good]),
      'a text of claims': sign(JSON.stringify(good)),
      'claims null': sign(null),
      'claims that are no JSON': sign(Buffer.from('{"sub":')),
      'claims that are no UTF-8': sign(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])),
      'claims in a prototype': sign(Buffer.from(`{"__proto__":${JSON.stringify(good)}}`)),
      'no claims': sign({}),
      'two parts': `${header}.${payload}`,
      'four parts': `${token}.${signature}`,
      'five parts, as if encrypted': `${header}.${payload}.${signature}.${payload}.${signature}`,
      'dots alone': '..',
      'a header that is no JSON': `${Buffer.from('HS256').toString('base64url')}.${payload}.${signature}`,
      'a header null': `${encode(null)}.${payload}.${signature}`,
      'base64 with + and =': `${header}.${payload}.${signature}==`,
      'no token at all': 'undefined',
      'the API key': apiKey,
      'its own id': String(good.sub),
      'its session': good.sid,
    };
    for (const collection of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '', 'users/x', 'Users']) {
      forged[`the collection ${collection}`] = sign({ ...good, collection });
      forged[`the user ${collection}`] = sign({ ...good, sub: collection });
    }
    await Promise.all(Object.entries(forged).map(([about, text]) => assertRefused(text, about)));
    assert.equal((await me(bearer(token))).status, 200);
  });

  it('says who, and nothing about what they may', async () => {
    const { token, id } = await newUser('anna');
    const claims = { ...claimsOf(token), role: 'admin', user: { role: 'admin' }, aud: 'x', admin: true, nbf: 1e12 };
    const as = bearer(sign(claims));
    assert.equal((await me(as)).body.role, 'editor');
    assert.deepEqual((await get(users, as)).body.total, 1);
    assert.equal((await service.call('PATCH', `${users}/${id}`, { role: 'admin' }, as)).status, 403);
    assert.equal((await post(articles, { title: 'x' }, as)).status, 403);
  });

  it('of one collection is not one of another', async () => {
    const member = await newUser('milo', 'members');
    for (const [method, path] of [
      ['GET', 'me'],
      ['POST', 'logout'],
      ['POST', 'refresh-token'],
      ['GET', 'sessions'],
      ['DELETE', `sessions/${claimsOf(member.token).sid}`],
    ] as const) {
      assert.equal((await service.call(method, `${users}/${path}`, undefined, member.as)).status, 401, path);
      assert.equal((await service.call(method, `${members}/${path}`, undefined, admin.as)).status, 401, path);
    }
    assert.equal((await invite('friend@example.org', member.as)).status, 403);
    assert.equal((await get(users, member.as)).status, 403);
    assert.equal((await me(member.as, 'members')).status, 200);
  });

  it('ends with its session, its user and its time, however well it is signed', async () => {
    const out = await newUser('ben');
    const refreshed = (await post(`${users}/refresh-token`, undefined, out.as)).body.token;
    assert.equal((await post(`${users}/logout`, undefined, out.as)).status, 200);
    await assertRefused(out.token, 'after logout');
    await assertRefused(refreshed, 'a newer one after logout');
    await assertRefused(sign({ ...claimsOf(out.token), exp: 1e11 }), 'signed anew after logout');
    assert.equal((await post(`${users}/refresh-token`, undefined, out.as)).status, 401);

    const gone = await newUser('bert');
    assert.equal((await service.call('DELETE', `${users}/${gone.id}`, undefined, admin.as)).status, 200);
    await assertRefused(gone.token, 'of a deleted user');
    const again = await newUser('bert');
    await assertRefused(gone.token, 'of a deleted user whose address has another account');
    await assertRefused(sign({ ...claimsOf(gone.token), sub: again.id }), 'of a deleted user, for the next');

    const late = await newUser('bill');
    await withClock(7201, () => assertRefused(late.token, 'after its time'));
    await withClock(7201, async () => {
      assert.equal((await post(`${users}/refresh-token`, undefined, late.as)).status, 401);
    });
    const early = await withClock(3600, () => newUser('bob'));
    await assertRefused(early.token, 'from the future');
  });

  it('in a header that is not quite right is refused', async () => {
    const { token } = admin;
    for (const authorization of [
      '',
      ' ',
      'Bearer',
      'Bearer ',
      token,
      `Bearer${token}`,
      `Bearer: ${token}`,
      `Bearer "${token}"`,
      `Bearer ${token},`,
      `Bearer ${token} ${token}`,
      `Bearer token=${token}`,
      `JWT ${token}`,
      `Basic ${Buffer.from(`admin@example.org:${password}`).toString('base64')}`,
      `Bearer ${token}\u00ff`,
      `Bearer \u00e9\u00ff\u0080`,
      `Bearer ${'a.'.repeat(6000)}`,
      `${'Bearer '.repeat(1500)}`,
      `Bearer${' '.repeat(12_000)}x y`,
    ]) {
      const head = `GET ${users}/me HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`;
      const { status } = await sendRaw(service.url, Buffer.from(head, 'latin1'));
      assert.equal(status, 401, authorization.slice(0, 80));
    }
    const huge = `GET ${users}/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${sign({ x: 'y'.repeat(30_000) })}\r\n\r\n`;
    assert.equal((await sendRaw(service.url, huge)).status, 431);
    const large = sign({ ...claimsOf(token), x: 'y'.repeat(8000) });
    assert.equal((await me(bearer(large))).status, 200, 'a long one that is good');
    // Node takes the first of several.
    const twice = `GET ${users}/me HTTP/1.1\r\nhost: x\r\nauthorization: Bearer x\r\nauthorization: Bearer ${token}\r\n\r\n`;
    assert.equal((await sendRaw(service.url, twice)).status, 401);
    for (const scheme of ['bearer', 'BEARER', 'Bearer  ']) {
      const { status } = await me({ key: null, headers: { authorization: `${scheme} ${token}` } });
      assert.equal(status, 200, scheme);
    }
  });

  it('beside a key that is wrong counts for nothing, and a wrong one spoils a good key', async () => {
    assert.equal((await me({ key: 'wrong', headers: { authorization: `Bearer ${admin.token}` } })).status, 401);
    assert.equal((await get(users, { headers: { authorization: 'Bearer x.y.z' } })).status, 401);
    assert.equal((await get(articles, { key: `${apiKey}, ${apiKey}` })).status, 401);
    assert.equal((await get(articles, { key: '' })).status, 401);
  });
});

describe('The credential of the operator', () => {
  it('is not guessed, and opens nothing by its name', async () => {
    const vault = new Database(join(service.data, 'vault.db'), { readonly: true });
    const right = String(vault.prepare("SELECT value FROM secrets WHERE name = 'operator'").pluck().get());
    vault.close();
    const as = (authorization: string): CallOptions => ({ key: null, headers: { authorization } });
    assert.equal((await get(users, as(`Annals-Operator ${right}`))).status, 200);
    for (const credential of [
      '',
      'operator',
      secret,
      apiKey,
      password,
      admin.token,
      right.slice(0, -1),
      `${right}A`,
      right.toLowerCase(),
      encode(right),
      '0'.repeat(43),
      'undefined',
      'null',
    ]) {
      for (const path of [users, articles]) {
        const { status } = await get(path, as(`Annals-Operator ${credential}`));
        assert.equal(status, 401, credential);
      }
    }
    assert.equal((await get(users, as(`Bearer ${right}`))).status, 401);
    assert.equal((await get(users, { key: right })).status, 401);
    // It is anonymous: it has no session, and no name to invite in.
    assert.equal((await me(as(`Annals-Operator ${right}`))).status, 401);
    assert.equal((await invite('friend@example.org', as(`Annals-Operator ${right}`))).status, 401);
  });
});

describe('A one-time token', () => {
  it('opens nothing of another kind or collection, nor anything when it is not whole', async () => {
    const { token: jwt, id } = await newUser('cleo');
    const invited = await inviteToken('clara@example.org');
    const resetting = await resetToken('cleo@example.org');
    const wrong = (good: string) => [
      '',
      'undefined',
      id,
      jwt,
      apiKey,
      good.slice(0, -1),
      good.slice(1),
      `${good}A`,
      `${good}=`,
      `${good}\n`,
      ` ${good}`,
      good.toLowerCase(),
      `${good.slice(0, 43)}${Buffer.from(id).toString('base64url')}`,
      'A'.repeat(good.length),
      '__proto__',
      '\0',
      '🐎',
      'x'.repeat(1000),
    ];
    for (const token of [...wrong(invited), resetting]) {
      const { status, body } = await accept({ token, password });
      assert.deepEqual([status, body.errors?.[0]?.field], [400, 'token'], token);
    }
    for (const token of [...wrong(resetting), invited]) {
      const { status, body } = await reset({ token, password });
      assert.deepEqual([status, body.errors?.[0]?.field], [400, 'token'], token);
    }
    assert.equal((await accept({ token: invited, password }, 'members')).status, 400);
    assert.equal((await reset({ token: resetting, password }, 'members')).status, 400);
    for (const token of [invited, resetting]) {
      const body = { setupToken: token, email: 'first@example.org', password };
      for (const slug of [users, members]) assert.equal((await post(`${slug}/first-user`, body)).status, 403);
      assert.equal((await me(bearer(token))).status, 401);
    }
    assert.equal((await accept({ token: invited, password })).status, 201);
    assert.equal((await reset({ token: resetting, password: 'a new good password' })).status, 200);
  });

  it('is used once, by several at once too', async () => {
    await newUser('cora');
    const invited = await inviteToken('conny@example.org');
    const resetting = await resetToken('cora@example.org');
    const accepted = await Promise.all(Array.from({ length: 6 }, () => accept({ token: invited, password })));
    assert.deepEqual(accepted.map(({ status }) => status).sort(), [201, 400, 400, 400, 400, 400]);
    assert.equal((await get(`${users}?where[email][equals]=conny@example.org`, admin.as)).body.total, 1);
    const body = (number: number) => ({ token: resetting, password: `the choice of ${number}` });
    const changed = await Promise.all([1, 2, 3, 4, 5, 6].map((number) => reset(body(number))));
    assert.deepEqual(changed.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400]);
    const logins = await Promise.all(
      [1, 2, 3, 4, 5, 6].map(async (number, index) => {
        if (changed[index]?.status !== 200) return 0;
        return (await login(service, 'users', 'cora@example.org', body(number).password)).status;
      }),
    );
    assert.deepEqual(logins.sort(), [0, 0, 0, 0, 0, 200]);
    assert.equal((await reset(body(7))).status, 400);
    assert.equal((await accept({ token: invited, password })).status, 400);
  });

  it('is too old after its time, and still good before', async () => {
    await newUser('carl');
    const invited = await inviteToken('carlos@example.org');
    const resetting = await resetToken('carl@example.org');
    const [hour, day] = [3600, 24 * 3600];
    const late = { token: resetting, password: 'a password too late' };
    assert.equal((await withClock(hour + 5, () => reset(late))).status, 400);
    assert.equal((await withClock(7 * day + 5, () => accept({ token: invited, password }))).status, 400);
    assert.equal((await withClock(hour - 60, () => reset({ ...late, password: 'just in time' }))).status, 200);
    assert.equal((await withClock(7 * day - 60, () => accept({ token: invited, password }))).status, 201);
  });

  it('to reset a password is void when there is a newer one, another password, or no account', async () => {
    const { id, as } = await newUser('cyril');
    const first = await resetToken('cyril@example.org');
    const second = await resetToken('cyril@example.org');
    assert.equal((await reset({ token: first, password: 'by the older token' })).status, 400);
    assert.equal((await service.call('PATCH', `${users}/${id}`, { password: 'changed by hand' }, as)).status, 200);
    assert.equal((await reset({ token: second, password: 'by the token before' })).status, 400);
    const third = await resetToken('cyril@example.org');
    assert.equal((await service.call('DELETE', `${users}/${id}`, undefined, admin.as)).status, 200);
    assert.equal((await reset({ token: third, password: 'of no account now' })).status, 400);
    await newUser('cyril');
    assert.equal((await reset({ token: third, password: 'of somebody else' })).status, 400);
  });

  it('of an invitation is still good after an attempt to be more than was meant', async () => {
    const token = await inviteToken('cathy@example.org');
    const tries: [object, number][] = [
      [{ role: 'admin' }, 403],
      [{ role: ['admin'] }, 403],
      [{ role: null }, 403],
      [{ email: 'other@example.org' }, 400],
      [{ roles: ['admin'] }, 400],
      [{ credential: 'x' }, 400],
      [{ isAdmin: true }, 400],
      [{ salary: 'a lot' }, 400],
      [{ constructor: { prototype: { role: 'admin' } } }, 400],
      [{ password: 'short' }, 400],
    ];
    for (const [values, status] of tries) {
      const answer = await accept({ token, password, ...values });
      assert.equal(answer.status, status, JSON.stringify(values));
      assert.ok(!JSON.stringify(answer.body).includes('cathy'), 'a refusal does not tell whose the token is');
    }
    const made = await accept({ token, password, id: admin.id, createdAt: '2000-01-01T00:00:00.000Z', name: 'C' });
    assert.equal(made.status, 201, JSON.stringify(made.body));
    assert.notEqual(made.body.user.id, admin.id);
    assert.deepEqual([made.body.user.role, made.body.user.email], ['editor', 'cathy@example.org']);
    assert.ok(Date.parse(made.body.user.createdAt) > Date.parse('2020-01-01'));
  });

  it('of an invitation makes nothing when the address has got an account meanwhile', async () => {
    const token = await inviteToken('chris@example.org');
    const { id } = await newUser('chris');
    assert.equal((await accept({ token, password: 'of the invitation' })).status, 409);
    assert.equal((await login(service, 'users', 'chris@example.org', 'of the invitation')).status, 401);
    await service.call('DELETE', `${users}/${id}`, undefined, admin.as);
    assert.equal((await accept({ token, password: 'of the invitation' })).status, 201);
  });
});

describe('A password', () => {
  it('that no user may choose is refused wherever one is set, without being shown', async () => {
    const { id, as } = await newUser('dan');
    const invited = await inviteToken('daisy@example.org');
    const resetting = await resetToken('dan@example.org');
    const ways: Record<string, (password: unknown) => Promise<Answer>> = {
      create: (bad) => post(users, { email: 'dave@example.org', password: bad }, admin.as),
      change: (bad) => service.call('PATCH', `${users}/${id}`, { password: bad }, as),
      reset: (bad) => reset({ token: resetting, password: bad } as object),
      accept: (bad) => accept({ token: invited, password: bad } as object),
    };
    for (const [way, send] of Object.entries(ways)) {
      for (const [what, bad] of Object.entries(badPasswords)) {
        const answer = await send(bad);
        assert.equal(answer.status, 400, `${way}: ${what}`);
        assert.deepEqual(fieldsOf(answer), ['password'], `${way}: ${what}`);
        const { message } = answer.body.errors[0];
        assert.match(message, /^password must (have at (least|most) |not hold NUL|be a text)/, `${way}: ${what}`);
        assert.ok(!message.includes('horse') && message.length < 120, `${way}: ${what}`);
      }
    }
    assert.equal((await get(`${users}?where[email][equals]=dave@example.org`, admin.as)).body.total, 0);
    assert.equal((await login(service, 'users', 'dan@example.org', password)).status, 200, 'it is as it was');
    for (const good of ['🎉'.repeat(8), 'x'.repeat(72), 'é'.repeat(36), ' '.repeat(8), '%00%00%00', '__proto__']) {
      assert.equal((await ways.change?.(good))?.status, 200, good);
      assert.equal((await login(service, 'users', 'dan@example.org', good)).status, 200, good);
    }
  });

  it('is compared to its last byte', async () => {
    const longest = 'a'.repeat(72);
    await newUser('dora', 'users', { password: longest });
    // With a right one after each, so that none of this meets the lock.
    for (const wrong of [
      `${longest}a`,
      `${longest}\0`,
      'a'.repeat(71),
      `${'a'.repeat(71)}b`,
      longest.toUpperCase(),
      ` ${longest}`,
      `${longest}\ud800`,
      'a'.repeat(1_000_000),
    ]) {
      assert.equal((await login(service, 'users', 'dora@example.org', wrong)).status, 401, wrong.slice(0, 80));
      assert.equal((await login(service, 'users', 'dora@example.org', longest)).status, 200);
    }
    assert.equal((await login(service, 'users', 'dora@example.org', '')).status, 401);
  });

  it('is no field to filter or sort by, or to be read, for anybody', async () => {
    const { id, as } = await newUser('dirk');
    for (const name of ['password', 'hash', 'credential', 'salt', 'Password', 'users.password', 'token', 'sid']) {
      for (const caller of [admin.as, as, {}]) {
        for (const query of [
          `where[${name}][equals]=x`,
          `where[${name}][exists]=true`,
          `where[${name}][like]=$2b`,
          `where[or][0][${name}][not_equals]=null`,
          `where=${JSON.stringify({ [name]: { like: '$2b' } })}`,
          `sort=${name}`,
          `sort=-${name}`,
        ]) {
          assert.equal((await get(`${users}?${query}`, caller)).status, 400, query);
        }
      }
    }
    for (const query of [
      'where[author.password][like]=$2b',
      'sort=editor.password',
      'where[editor.credential][exists]=true',
    ])
      assert.equal((await get(`${articles}?${query}`, admin.as)).status, 400, query);
    for (const path of [`${users}/${id}`, `${users}/me`, users, '/api/schemas', `${users}/sessions`]) {
      const { body } = await get(path, as);
      assert.doesNotMatch(JSON.stringify(body), /\$2[aby]\$|"credential"|"hash"/, path);
    }
    assert.ok(!('password' in (await get(`${users}/${id}`, admin.as)).body));
  });
});

describe('Changes of one account at the same moment', () => {
  /** The credentials that the vault has and that accounts name. */
  function credentials(): { kept: unknown[]; named: unknown[] } {
    const read = readdirSync(service.data).find((name) => /^read-[0-9a-f]+\.db$/.test(name)) as string;
    const select = (file: string, query: string) => {
      const db = new Database(join(service.data, file), { readonly: true });
      const found = db.prepare(query).pluck().all();
      db.close();
      return found;
    };
    const named = 'SELECT credential FROM accounts WHERE credential IS NOT NULL ORDER BY credential';
    return {
      kept: select('vault.db', 'SELECT credential FROM passwords ORDER BY credential'),
      named: select(read, named),
    };
  }

  it('leave one password, and no hash of another', async () => {
    const { id } = await newUser('ella');
    const choice = (number: number) => `the choice of ${number}`;
    const numbers = Array.from({ length: 12 }, (_, number) => number);
    const answers = await Promise.all(
      numbers.map((number) =>
        service.call('PATCH', `${users}/${id}`, {
          password: choice(number),
          ...(number % 2 ? { name: choice(number) } : {}),
        }),
      ),
    );
    for (const { status } of answers) assert.equal(status, 200);
    const { kept, named } = credentials();
    assert.deepEqual(kept, named);
    assert.equal((await service.call('PATCH', `${users}/${id}`, { password: 'the last one' })).status, 200);
    assert.equal((await login(service, 'users', 'ella@example.org', 'the last one')).status, 200);
  });

  it('and its end leave nothing of it', async () => {
    for (let round = 0; round < 12; round += 1) {
      const { id } = (await post(users, { email: 'ellen@example.org', password }, admin.as)).body;
      const path = `${users}/${id}`;
      const changes = Array.from({ length: 6 }, () => service.call('PATCH', path, { password: 'too late perhaps' }));
      await sleep(round % 5);
      assert.equal((await service.call('DELETE', path)).status, 200);
      for (const { status } of await Promise.all(changes)) assert.ok([200, 404].includes(status), String(status));
    }
    const { kept, named } = credentials();
    assert.deepEqual(kept, named);
    const [own, others] = [await get(users, admin.as), await get(members, admin.as)];
    assert.equal(named.length, own.body.total + others.body.total, 'who is gone has no password');
  });

  it('by a reset and by who is thrown out by it, leave the password of the reset', async () => {
    const bystander = `${users}/${(await newUser('erik')).id}`;
    for (let round = 0; round < 3; round += 1) {
      const name = `elsa${'x'.repeat(round)}`;
      const { id, as } = await newUser(name);
      const token = await resetToken(`${name}@example.org`);
      const change = (path: string, password: string, by = {}) => service.call('PATCH', path, { password }, by);
      // They have to wait for their turn, so that the thief is let in before the reset is done and comes after it.
      const others = Array.from({ length: 16 }, () => change(bystander, 'somebody else'));
      const resetting = reset({ token, password: 'the new one' });
      await sleep(4);
      const rivals = Array.from({ length: 8 }, () => change(`${users}/${id}`, 'of the thief', as));
      const { status } = await resetting;
      const answers = await Promise.all(rivals);
      await Promise.all(others);
      // When one of theirs was first the token is void: that can be told, and another be asked for.
      const expected = status === 200 ? 'the new one' : 'of the thief';
      assert.ok(status === 200 || status === 400);
      if (status === 400) assert.ok(answers.some((answer) => answer.status === 200));
      assert.equal((await login(service, 'users', `${name}@example.org`, expected)).status, 200, String(status));
      assert.equal((await me(as)).status, status === 200 ? 401 : 200);
    }
    const { kept, named } = credentials();
    assert.deepEqual(kept, named);
  });
});

describe('A body of an account route', () => {
  const right: Record<string, Record<string, unknown>> = {
    login: { email: 'admin@example.org', password },
    'forgot-password': { email: 'admin@example.org' },
    'reset-password': { token: 'x', password },
    'accept-invite': { token: 'x', password },
    'first-user': { setupToken: 'x', email: 'x@example.org', password },
    invite: { email: 'x@example.org' },
  };
  const notTexts: unknown[] = [
    null,
    0,
    -1,
    1e308,
    true,
    [],
    {},
    ['a'],
    [['a']],
    { equals: 'a' },
    { $ne: null },
    { toString: 'a' },
  ];
  const callerOf = (route: string) => (route === 'invite' ? admin.as : anonymous);

  it('with anything but a text for a member is a 400 that names it', async () => {
    for (const [route, body] of Object.entries(right)) {
      for (const name of Object.keys(body)) {
        const bodies = notTexts.map((value) => ({ ...body, [name]: value }));
        const { [name]: _, ...missing } = body;
        const answers = await Promise.all(
          [...bodies, missing].map((sent) => post(`${users}/${route}`, sent, callerOf(route))),
        );
        for (const [index, answer] of answers.entries()) {
          const about = `${route} ${name} ${JSON.stringify(notTexts[index])}`;
          assert.equal(answer.status, 400, `${about}: ${JSON.stringify(answer.body)}`);
          assert.deepEqual([answer.body.error, fieldsOf(answer)], ['Validation Error', [name]], about);
        }
      }
    }
  });

  it('that is no object of these members, or no JSON, is refused', async () => {
    const bodies = [
      'null',
      '3',
      '"x"',
      '[]',
      '[{}]',
      '{}',
      '{',
      '',
      'email=admin@example.org&password=x',
      '{"__proto__":{"email":"admin@example.org"}}',
      `{"email":"admin@example.org","password":"${password}","__proto__":{}}`,
      `{"constructor":{"prototype":{"email":"admin@example.org"}}}`,
      `${'['.repeat(100_000)}`,
      `{"email":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
      `{${Array.from({ length: 5000 }, (_, index) => `"k${index}":0`).join(',')}}`,
    ];
    for (const route of Object.keys(right)) {
      const answers = await Promise.all(bodies.map((body) => post(`${users}/${route}`, body, callerOf(route))));
      for (const [index, { status }] of answers.entries())
        assert.equal(status, 400, `${route} ${bodies[index]?.slice(0, 50)}`);
      const headers = { 'content-type': 'text/plain' };
      assert.equal((await post(`${users}/${route}`, right[route], { key: null, headers })).status, 415, route);
    }
    const bytes = Buffer.from(`{"email":"admin@example.org","password":"\xff\xfe"}`, 'latin1');
    const head = `POST ${users}/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n`;
    assert.equal((await sendRaw(service.url, Buffer.concat([Buffer.from(head), bytes]))).status, 400);
    const query = new URLSearchParams({ email: 'admin@example.org', password });
    assert.equal((await post(`${users}/login?${query}`, undefined)).status, 400);
    assert.equal((await post(`${users}/login?${query}`, right.login)).status, 400);
    // The last of two members of one name counts, as it does everywhere in JSON: there is no second reading of it.
    const twice = `{"email":"admin@example.org","password":"wrong one","password":"${password}"}`;
    assert.equal((await post(`${users}/login`, twice)).status, 200);
  });

  it('of 20 MB is refused, and one that comes slowly keeps no other waiting', async () => {
    const large = Buffer.alloc(20_000_000, 'x');
    for (const route of [...Object.keys(right), 'logout', 'refresh-token']) {
      const response = await fetch(`${service.url}${users}/${route}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(route === 'invite' ? admin.as.headers : {}) },
        body: large,
      });
      await response.text();
      assert.equal(response.status, ['logout', 'refresh-token'].includes(route) ? 401 : 413, route);
    }
    const { hostname, port } = new URL(service.url);
    const slow = Array.from({ length: 40 }, (_, index) => {
      const route = Object.keys(right)[index % 5];
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write(
        `POST ${users}/${route} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"email`,
      );
      return socket;
    });
    assert.equal((await login(service, 'users', 'admin@example.org', password)).status, 200);
    for (const socket of slow) socket.write('":');
    assert.equal((await login(service, 'users', 'admin@example.org', password)).status, 200);
    for (const socket of slow) socket.destroy();
    assert.equal((await login(service, 'users', 'admin@example.org', password)).status, 200);
  });

  it('does nothing by another method, or under another form of its path', async () => {
    const { as } = await newUser('emma');
    const before = recordedEvents(service.data).length;
    const count = mailbox.received.length;
    for (const [route, body] of Object.entries({ ...right, logout: {} })) {
      for (const method of ['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'GET', 'HEAD', 'PROPFIND']) {
        const sent = ['GET', 'HEAD'].includes(method) ? undefined : body;
        const { status } = await service.call(method, `${users}/${route}`, sent, as);
        assert.ok([403, 404].includes(status), `${method} ${route} ${status}`);
      }
      for (const path of [
        `${users}/${route}/`,
        `${users}//${route}`,
        `${users}/${route.toUpperCase()}`,
        `/api/Collections/users/${route}`,
        `/api/collections/Users/${route}`,
        `/api/collections/articles/${route}`,
        `/api/collections/__proto__/${route}`,
        `/api/globals/site/${route}`,
        `/API/collections/users/${route}`,
        `${users}/${route}%00`,
        `${users}/${route};x=y`,
        `${users}/${route}.json`,
        `${users}/x%2F..%2F${route}`,
      ]) {
        const { status } = await post(path, body, as);
        assert.equal(status, 404, path);
      }
    }
    for (const method of ['HEAD', 'OPTIONS', 'DELETE']) {
      for (const route of ['me', 'init', 'sessions', 'refresh-token'])
        assert.ok([200, 403, 404].includes((await service.call(method, `${users}/${route}`, undefined, as)).status));
    }
    assert.equal((await me(as)).status, 200);
    assert.equal(recordedEvents(service.data).length, before);
    assert.equal(mailbox.received.length, count);
  });
});

describe('An e-mail', () => {
  it('is one account in whatever case, and with spaces around it', async () => {
    const { id } = await newUser('fay');
    const forms = ['FAY@EXAMPLE.ORG', ' fay@example.org ', '\tFay@Example.Org\r\n', '\u00a0fay@example.org\ufeff'];
    for (const email of forms) {
      assert.equal((await login(service, 'users', email, password)).body.user?.id, id, JSON.stringify(email));
      assert.equal((await invite(email)).status, 409, JSON.stringify(email));
      assert.equal((await post(users, { email, password }, admin.as)).status, 409, JSON.stringify(email));
    }
    const other = await newUser('flo');
    for (const email of forms)
      assert.equal((await service.call('PATCH', `${users}/${other.id}`, { email }, other.as)).status, 409);
  });

  it('that could be misread in a mail is refused, and nothing is sent to it', async () => {
    const { id, as } = await newUser('finn');
    const bad = [
      '',
      ' ',
      'ada',
      '@example.org',
      'ada@',
      'ada@@example.org',
      'ada@example.org@evil.example',
      '"ada"@example.org',
      '"ada@evil.example"@example.org',
      'ada lovelace@example.org',
      'ada\n@example.org',
      'ada@example.org\r\nBcc: evil@evil.example',
      'ada@example.org\nSubject: x\n\nbody',
      'ada@example.org\r\n.\r\nMAIL FROM:<evil@evil.example>',
      'ada@example.org%0d%0aBcc: evil@evil.example',
      'ada@example.org, evil@evil.example',
      'ada@example.org,evil@evil.example',
      'ada@example.org;evil@evil.example',
      'Ada <evil@evil.example>',
      '<evil@evil.example>',
      'ada@example.org(evil@evil.example)',
      'group:evil@evil.example;',
      'ada@[127.0.0.1]',
      'ada\0@example.org',
      'ada@example.org\0',
      'ada\u2028@example.org',
      'ada\u202egro.elpmaxe@evil.example',
      'ada\u200b@example.org',
      'ada\ud800@example.org',
      'ada@exa\u00admple.org',
      '<script>alert(1)</script>@example.org',
      `${'a'.repeat(10_000)}@example.org`,
      `ada@${'example.'.repeat(1250)}org`,
      '__proto__',
    ];
    for (const email of bad) {
      const about = JSON.stringify(email).slice(0, 80);
      for (const answer of await Promise.all([
        invite(email),
        post(users, { email, password }, admin.as),
        service.call('PATCH', `${users}/${id}`, { email }, as),
      ])) {
        assert.equal(answer.status, 400, about);
        assert.deepEqual(fieldsOf(answer), ['email'], about);
        assert.ok(JSON.stringify(answer.body).length < 1000, about);
      }
      // Here it is only looked for.
      assert.equal((await login(service, 'users', email, password)).status, email.length > 1000 ? 400 : 401, about);
      assert.equal((await forgot(email)).status, email.length > 1000 ? 400 : 200, about);
    }
    // Were one on its way, this one would come after it.
    await resetToken('finn@example.org');
    for (const { to, mail } of mailbox.received) {
      assert.ok(!JSON.stringify([to, mail]).includes('evil'), JSON.stringify(to));
      assert.equal(to.length, 1);
      assert.match(to[0] as string, /^[a-z]+@example\.org$/);
    }
  });

  it('that only looks like that of an account is not that account, and gets no mail of it', async () => {
    const kelvin = '\u212a';
    const { id } = await newUser('kate');
    // Lower-casing makes a k of the sign for kelvin: the same account then, whose mail goes to its own address.
    assert.equal((await login(service, 'users', `${kelvin}ate@example.org`, password)).body.user.id, id);
    assert.equal((await invite(`${kelvin}ate@example.org`)).status, 409);
    await forgot(`${kelvin}ATE@EXAMPLE.ORG`);
    assert.equal((await mailbox.next('kate@example.org')).to?.[0]?.address, 'kate@example.org');
    const count = mailbox.received.length;
    for (const email of [
      'k\u0430te@example.org',
      'k\uff41te@example.org',
      'ka\u0308te@example.org',
      'kate@example.org.',
      'kate@ex\u0430mple.org',
      'kate@example\u3002org',
      'kate\uff20example.org',
      'kate+x@example.org',
      'k.ate@example.org',
      'kate%00@example.org',
      'kate@example.org/',
      'k%',
      '%@example.org',
      'k_te@example.org',
      'kate@example.org\\',
    ]) {
      assert.equal((await login(service, 'users', email, password)).status, 401, email);
      assert.equal((await forgot(email)).status, 200, email);
    }
    await resetToken('admin@example.org');
    assert.equal(mailbox.received.length, count + 1);
  });

  it('may be a word of JavaScript', async () => {
    for (const word of ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '__defineGetter__']) {
      assert.equal((await login(service, 'users', word, password)).status, 401, word);
      assert.equal((await forgot(word)).status, 200, word);
      const { id } = await newUser(word);
      assert.equal((await service.call('DELETE', `${users}/${id}`, undefined, admin.as)).status, 200);
      assert.equal((await login(service, 'users', `${word}@example.org`, password)).status, 401, word);
    }
  });
});

describe('A lock', () => {
  it('is no longer and no shorter for a clock that is put back, and no way around it', async () => {
    await newUser('gus');
    const attempt = (given: string) => login(service, 'users', 'gus@example.org', given);
    for (let count = 0; count < 3; count += 1) assert.equal((await attempt('wrong password')).status, 401);
    const variants = ['GUS@example.org', ' gus@example.org', 'gus@EXAMPLE.org '];
    for (const email of variants) assert.equal((await login(service, 'users', email, password)).status, 429, email);
    assert.equal((await withClock(590, () => attempt(password))).status, 429);
    const day = 24 * 3600;
    await withClock(-day, async () => {
      const { status, headers } = await attempt(password);
      assert.equal(status, 429);
      const seconds = Number(headers.get('retry-after'));
      assert.ok(seconds >= 1 && seconds <= 600, String(seconds));
    });
    assert.equal((await withClock(-day + 590, () => attempt(password))).status, 429);
    assert.equal((await withClock(-day + 620, () => attempt(password))).status, 200);
    // Failures of before count on, whichever way the clock goes.
    for (const seconds of [-3600, 0, 3600])
      assert.equal((await withClock(seconds, () => attempt('wrong password'))).status, 401);
    assert.equal((await attempt(password)).status, 429);
  });

  it('is of one collection and one e-mail, and is not ended by a session, an invitation or a new password', async () => {
    const { id, as } = await newUser('greta');
    await newUser('greta', 'members');
    for (let count = 0; count < 3; count += 1) await login(service, 'users', 'greta@example.org', 'wrong password');
    assert.equal((await login(service, 'members', 'greta@example.org', password)).status, 200);
    assert.equal((await me(as)).status, 200, 'who is logged in stays so');
    await post(`${users}/refresh-token`, undefined, as);
    await forgot('greta@example.org');
    await service.call('PATCH', `${users}/${id}`, { password: 'another password' }, as);
    assert.equal((await login(service, 'users', 'greta@example.org', 'another password')).status, 429);
  });
});

describe('A cookie', () => {
  const evil = ['https://evil.example', 'null', 'http://localhost', 'http://127.0.0.1', 'x', ''];
  const cookieFrom = ({ headers }: Answer) => (headers.get('set-cookie') ?? '').split(';')[0] as string;
  const withCookie = (cookie: string, headers: Record<string, string> = {}): CallOptions => {
    return { key: null, headers: { cookie, ...headers } };
  };

  it('gives no right to write to a page of another origin, on any route', async () => {
    await service.call('PATCH', `${users}/${(await newUser('helga')).id}`, { role: 'admin' }, admin.as);
    const entry = await login(service, 'users', 'helga@example.org', password);
    const [cookie, { sid }] = [cookieFrom(entry), claimsOf(entry.body.token)];
    const article = (await post(articles, { title: 'as it was' }, admin.as)).body;
    const writes: [string, string, object?][] = [
      ['POST', `${users}/logout`],
      ['POST', `${users}/refresh-token`],
      ['POST', `${users}/invite`, { email: 'friend@example.org' }],
      ['DELETE', `${users}/sessions/${sid}`],
      ['PATCH', `${users}/${entry.body.user.id}`, { password: 'chosen by the attacker' }],
      ['PATCH', `${users}/${entry.body.user.id}`, { email: 'attacker@example.org' }],
      ['DELETE', `${users}/${entry.body.user.id}`],
      ['POST', users, { email: 'attacker@example.org', password }],
      ['POST', `${members}/invite`, { email: 'friend@example.org' }],
      ['POST', articles, { title: 'by the attacker' }],
      ['PATCH', `${articles}/${article.id}`, { title: 'by the attacker' }],
      ['DELETE', `${articles}/${article.id}`],
      ['PATCH', '/api/globals/site', { name: 'by the attacker' }],
    ];
    const before = recordedEvents(service.data).length;
    const { origin, port } = new URL(service.url);
    const foreign: Record<string, string>[] = [
      {},
      ...[
        ...evil,
        `http://127.0.0.1:${port}@evil.example`,
        `http://evil.example:${port}`,
        `${origin}.evil.example`,
      ].map((from) => ({ origin: from })),
      { referer: `${origin}/`, origin: 'https://evil.example' },
      { referer: `${origin}/` },
      ...['cross-site', 'same-site', 'none', '', 'Same-Origin', 'same-origin, cross-site'].map((site) => ({
        'sec-fetch-site': site,
        origin,
      })),
    ];
    for (const [method, path, body] of writes) {
      for (const headers of foreign) {
        const { status } = await service.call(method, path, body, withCookie(cookie, headers));
        assert.equal(status, 403, `${method} ${path} ${JSON.stringify(headers)}`);
      }
    }
    assert.equal(recordedEvents(service.data).length, before);
    assert.equal((await me(withCookie(cookie, { origin: 'https://evil.example' }))).status, 200, 'reading is no write');
    const own = await service.call('POST', `${users}/logout`, undefined, withCookie(cookie, { origin }));
    assert.equal(own.status, 200);
  });

  it('of one collection is anonymous on the account routes of another', async () => {
    await newUser('hugo');
    await newUser('hilda', 'members');
    const user = await login(service, 'users', 'hugo@example.org', password);
    const member = await login(service, 'members', 'hilda@example.org', password);
    const [userCookie, memberCookie] = [cookieFrom(user), cookieFrom(member)];
    const { origin } = new URL(service.url);
    assert.equal((await me(withCookie(memberCookie))).status, 401);
    assert.equal((await me(withCookie(userCookie), 'members')).status, 401);
    for (const route of ['logout', 'refresh-token'])
      assert.equal((await post(`${users}/${route}`, undefined, withCookie(memberCookie, { origin }))).status, 401);
    assert.equal((await invite('friend@example.org', withCookie(memberCookie, { origin }))).status, 403);
    assert.equal((await get(`${users}/${user.body.user.id}`, withCookie(memberCookie))).status, 403);
    // Both come along from a browser: each is who it is where it belongs.
    const both = withCookie(`${memberCookie}; ${userCookie}`);
    assert.equal((await me(both)).body.id, user.body.user.id);
    assert.equal((await me(both, 'members')).body.id, member.body.user.id);
    // The token of one under the name of the other is invalid.
    const swapped = withCookie(`annals-users=${member.body.token}; annals-members=${user.body.token}`);
    for (const slug of ['users', 'members']) assert.equal((await me(swapped, slug)).status, 401);
    assert.equal((await get(users, swapped)).status, 401);
  });

  it('that is bad counts as none, and is cleared', async () => {
    const { body } = await login(service, 'users', 'admin@example.org', password);
    const bad = [
      'x',
      'x.y.z',
      '%00',
      'undefined',
      sign(claimsOf(body.token), 'another key that has enough characters'),
      sign({ ...claimsOf(body.token), exp: 1 }),
      'a'.repeat(4000),
      `${body.token}x`,
      `Bearer ${body.token}`,
      apiKey,
    ];
    for (const value of bad) {
      const open = await get(articles, withCookie(`annals-users=${value}`));
      assert.equal(open.status, 200, value.slice(0, 50));
      assert.match(open.headers.get('set-cookie') ?? '', /^annals-users=; Max-Age=0;/, value.slice(0, 50));
      assert.equal((await get(users, withCookie(`annals-users=${value}`))).status, 401, value.slice(0, 50));
      const write = await post(
        articles,
        { title: 'x' },
        withCookie(`annals-users=${value}`, { origin: evil[0] as string }),
      );
      assert.equal(write.status, 401, value.slice(0, 50));
    }
    const two = `annals-users=${body.token}; annals-users=${body.token}`;
    for (const cookie of [
      two,
      `annals-users=x; annals-users=${body.token}`,
      `Annals-Users=${body.token}`,
      `annals-users[]=${body.token}`,
      'annals-users=',
      'annals-users=""',
      `annals-=${body.token}`,
      `annals-articles=${body.token}`,
      `annals-__proto__=${body.token}`,
    ])
      assert.equal((await me(withCookie(cookie))).status, 401, cookie.slice(0, 50));
    for (const other of ['theme=dark', 'flag', '=x', ';', 'a="b', 'a={"b":"c,d"}', 'a=%; b=\\', '__proto__=x', 'a=b c'])
      assert.equal((await me(withCookie(`${other}; annals-users=${body.token}; ${other}`))).status, 200, other);
    const giant = `GET ${articles} HTTP/1.1\r\nhost: x\r\ncookie: annals-users=${'x'.repeat(20_000)}\r\n\r\n`;
    assert.equal((await sendRaw(service.url, giant)).status, 431);
    const many = Array.from({ length: 1500 }, (_, index) => `c${index}=1`).join(';');
    assert.equal((await get(articles, withCookie(many))).status, 200);
  });

  it('counts for nothing beside a header, and is not needed by login', async () => {
    const { body } = await login(service, 'users', 'admin@example.org', password);
    const cookie = `annals-users=${body.token}`;
    assert.equal((await me({ headers: { cookie } })).status, 401, 'a key alone has no session');
    assert.equal((await me({ key: null, headers: { cookie, authorization: 'Bearer x' } })).status, 401);
    assert.equal((await me({ key: 'wrong', headers: { cookie } })).status, 401);
    const bad = { key: 'wrong', headers: { authorization: 'Bearer x', cookie: 'annals-users=x' } };
    assert.equal((await post(`${users}/login`, { email: 'admin@example.org', password }, bad)).status, 200);
    assert.equal((await post(`${users}/forgot-password`, { email: 'unknown@example.org' }, bad)).status, 200);
  });

  it('is not got by a form of another site', async () => {
    const text = JSON.stringify({ email: 'admin@example.org', password });
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'TEXT/PLAIN; application/json',
    ]) {
      const response = await fetch(`${service.url}${users}/login`, {
        method: 'POST',
        headers: { 'content-type': type, origin: 'https://evil.example' },
        body: text,
      });
      assert.equal(response.status, 415, type);
      assert.equal(response.headers.get('set-cookie'), null);
      await response.text();
    }
  });
});

describe('The existence of an account', () => {
  it('is not told by login, a forgotten password, an invitation or a refused write', async () => {
    await newUser('ida');
    const editor = await newUser('ivo');
    const silent = await post(users, { email: 'silent@example.org' }, admin.as);
    assert.equal(silent.status, 201, 'an account without a password');
    const [known, unknown] = ['ida@example.org', 'unknown@example.org'];
    const same = async (what: string, send: (email: string) => Promise<Answer>, ...others: string[]) => {
      const shown = async (email: string) => {
        const { status, headers, body } = await send(email);
        // These differ with every request.
        const varying = ['date', 'x-request-id', 'content-length'];
        const told = [...headers].filter(([name]) => !varying.includes(name));
        return { status, told, body: JSON.stringify(body).replaceAll(email, 'EMAIL') };
      };
      const first = await shown(known);
      for (const email of [unknown, ...others]) assert.deepEqual(await shown(email), first, `${what}: ${email}`);
      return first.status;
    };
    assert.equal(
      await same('login', (email) => login(service, 'users', email, 'wrong password'), 'silent@example.org'),
      401,
    );
    assert.equal(await same('forgot', (email) => forgot(email), 'silent@example.org', 'no address at all'), 200);
    assert.equal(await same('invite', (email) => invite(email, editor.as)), 403);
    assert.equal(await same('invite by a key', (email) => invite(email, {})), 401);
    assert.equal(await same('anonymous invite', (email) => invite(email, anonymous)), 401);
    assert.equal(await same('create', (email) => post(users, { email, password }, editor.as)), 403);
    assert.equal(await same('anonymous create', (email) => post(users, { email, password })), 401);
    assert.equal(await same('create by a key', (email) => post(members, { email, password }, {})), 403);
    const path = `${users}/${admin.id}`;
    assert.equal(await same('update', (email) => service.call('PATCH', path, { email }, editor.as)), 403);
    assert.equal(await same('accept', (email) => accept({ token: email, password })), 400);
    assert.equal(await same('reset', (email) => reset({ token: email, password })), 400);
    const first = (email: string) => post(`${users}/first-user`, { setupToken: 'x', email, password });
    assert.equal(await same('first user', first), 403);
    for (let count = 0; count < 3; count += 1)
      for (const email of [known, unknown, 'silent@example.org'])
        await login(service, 'users', email, 'wrong password');
    const locked = (email: string) => login(service, 'users', email, password);
    const shown = await Promise.all([known, unknown, 'silent@example.org'].map(locked));
    assert.deepEqual(
      shown.map(({ status }) => status),
      [429, 429, 429],
    );
    for (const { body, headers } of shown) {
      assert.match(body.message, /^too many failed logins; try again in \d+ seconds?$/);
      assert.ok(Number(headers.get('retry-after')) > 590);
    }
  });

  it('is not found out through a filter, the order or what is related, by those who may not see it', async () => {
    const [zoe, ada, mia] = [
      await newUser('zoe.secret', 'members'),
      await newUser('ada.secret', 'members'),
      await newUser('mia.secret', 'members'),
    ];
    const editor = await newUser('edda');
    const team = (await post('/api/collections/teams', { name: 'T' }, admin.as)).body.id;
    for (const { id } of [zoe, ada, mia]) await service.call('PATCH', `${members}/${id}`, { team }, admin.as);
    const made: string[] = [];
    for (const { id } of [zoe, ada, mia]) {
      const values = { title: 'related', author: id, readers: [zoe.id, ada.id], editor: admin.id };
      made.push((await post(articles, values, admin.as)).body.id);
    }
    const only = 'where[title][equals]=related';
    const titles = async (query: string, caller: CallOptions) => {
      const { status, body } = await get(`${articles}?${only}&${query}`, caller);
      return status === 200 ? body.docs.map(({ id }: { id: string }) => made.indexOf(id)) : status;
    };
    // An anonymous caller, a key where there is no useAPIKey, and a user of the other collection see no member at all.
    for (const caller of [anonymous, {}, editor.as]) {
      const isEditor = caller === editor.as;
      for (const query of [
        'where[author.email][like]=secret',
        'where[author.email][equals]=zoe.secret@example.org',
        'where[author.email][exists]=true',
        'where[author.nick][exists]=true',
        'where[author.team.name][equals]=T',
        'where[readers.email][like]=a',
        'where[author.team.members.email][like]=a',
        'where[or][0][author.email][like]=zoe&where[or][1][title][equals]=x',
        'sort=author.email',
        'sort=-author.nick,title',
        `where=${JSON.stringify({ or: [{ 'author.email': { like: 'zoe' } }] })}`,
      ]) {
        // Users of the first collection see every member.
        if (isEditor) assert.notEqual(await titles(query, caller), 403, query);
        else assert.equal(await titles(query, caller), 400, query);
      }
      const { body } = await get(`${articles}?${only}&depth=3`, caller);
      for (const { author, readers, editor: its } of body.docs) {
        assert.equal(typeof author, isEditor ? 'object' : 'string');
        assert.equal(typeof readers[0], isEditor ? 'object' : 'string');
        // Of the users a key sees all; an editor sees only themselves.
        assert.equal(typeof its, caller !== anonymous && !isEditor ? 'object' : 'string');
      }
      const teams = await get('/api/collections/teams?depth=5', caller);
      if (!isEditor) assert.doesNotMatch(JSON.stringify(teams.body), /@example\.org/);
    }
    // A member sees themselves: what they may not see is, for filters and the order, not there.
    assert.deepEqual(await titles('where[author.email][like]=secret', ada.as), [1]);
    assert.deepEqual(await titles('where[author.email][like]=zoe', ada.as), []);
    assert.deepEqual(await titles('where[readers.email][like]=zoe', ada.as), []);
    assert.deepEqual(await titles('where[readers.email][like]=ada', ada.as), [2, 1, 0]);
    assert.deepEqual(await titles('sort=author.email', ada.as), [1, 0, 2]);
    assert.deepEqual(await titles('sort=-author.email', ada.as), [1, 2, 0]);
    assert.deepEqual(await titles('where[author.email][not_equals]=zoe.secret@example.org', ada.as), [2, 1, 0]);
    assert.deepEqual(await titles('where[author.email][exists]=false', ada.as), [2, 0]);
    for (const query of ['where[email][like]=secret', 'where[email][not_equals]=x', 'sort=email', 'sort=-email', ''])
      assert.deepEqual(
        (await get(`${members}?${query}`, ada.as)).body.docs.map(({ id }: { id: string }) => id),
        [ada.id],
        query,
      );
    assert.equal((await get(`${members}?where[email][like]=zoe`, ada.as)).body.total, 0);
    for (const caller of [anonymous, {}]) {
      const expected = caller === anonymous ? 401 : 403;
      for (const query of ['', '?where[email][like]=zoe', '?sort=email', '?where[nope][equals]=1'])
        assert.equal((await get(members + query, caller)).status, expected, query);
      assert.equal((await get(`${members}/${zoe.id}`, caller)).status, expected);
    }
    // A field that no reader sees can be filtered by with the key alone.
    assert.equal((await get(`${users}?where[salary][exists]=true`, admin.as)).status, 400);
    assert.equal((await get(`${users}?sort=salary`, admin.as)).status, 400);
    assert.equal((await get(`${users}?where[salary][exists]=true`, {})).status, 200);
  });

  it('is not for a key to change where keys are not for accounts', async () => {
    const { id } = await newUser('ina', 'members');
    const before = recordedEvents(service.data).length;
    for (const [method, path, body] of [
      ['PATCH', `/${id}`, { password: 'set by the key' }],
      ['PATCH', `/${id}`, { email: 'taken@example.org' }],
      ['DELETE', `/${id}`, undefined],
      ['POST', '', { email: 'made@example.org', password }],
    ] as const)
      assert.equal((await service.call(method, members + path, body)).status, 403, method);
    assert.equal(recordedEvents(service.data).length, before);
    assert.equal((await login(service, 'members', 'ina@example.org', password)).status, 200);
  });
});

describe('The description of a client', () => {
  it('does not get into the links of mails, nor into what is recorded as its address', async () => {
    const { id } = await newUser('jack');
    const body = JSON.stringify({ email: 'jack@example.org' });
    const answer = await sendRaw(
      service.url,
      `POST ${users}/forgot-password HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\n` +
        `forwarded: host=evil.example;for=203.0.113.1\r\nx-original-host: evil.example\r\nx-forwarded-proto: https\r\n` +
        `origin: https://evil.example\r\nreferer: https://evil.example/\r\ncontent-type: application/json\r\n` +
        `content-length: ${body.length}\r\n\r\n${body}`,
    );
    assert.equal(answer.status, 200);
    const { text = '', html = '' } = await mailbox.next('jack@example.org');
    assert.ok(text.includes(`${service.url}/admin/reset?token=`), text);
    assert.ok(!`${text}${html}`.includes('evil'));
    const absolute = `POST http://evil.example${users}/forgot-password HTTP/1.1\r\nhost: evil.example\r\n`;
    await sendRaw(
      service.url,
      `${absolute}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    assert.ok(!JSON.stringify(await mailbox.next('jack@example.org')).includes('evil'));

    const headers = { 'x-forwarded-for': '203.0.113.9', 'user-agent': `evil\u00ff${'x'.repeat(5000)}` };
    const entry = await service.call(
      'POST',
      `${users}/login`,
      { email: 'jack@example.org', password },
      { key: null, headers },
    );
    const { sessions } = (await get(`${users}/sessions`, bearer(entry.body.token))).body;
    const own = sessions.find(({ isCurrent }: { isCurrent: boolean }) => isCurrent);
    assert.equal(own.ip, '127.0.0.1');
    assert.ok(own.userAgent.length <= 500);
    assert.equal(entry.body.user.id, id);
  });
});

describe('The service', () => {
  it('has met none of this with an error of its own', async () => {
    const lines = logLines(service);
    assert.ok(lines.some(({ path, status }) => path === `${users}/login` && status === 401));
    assert.deepEqual(
      // A mail that the clock has overtaken is given up.
      lines.filter(({ level, status, mail }) => status >= 500 || (level >= 50 && mail === undefined)),
      [],
    );
  });

  it('takes tokens of the secret before, until that one is dropped', async (t) => {
    const good = claimsOf(admin.token);
    const [byNew, byOld] = [bearer(sign(good)), bearer(sign(good, oldSecret))];
    assert.deepEqual([(await me(byNew)).status, (await me(byOld)).status], [200, 200]);
    const refreshed = await post(`${users}/refresh-token`, undefined, byOld);
    const [header, payload, signature] = refreshed.body.token.split('.');
    const expected = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url');
    assert.equal(signature, expected, 'the first one signs');
    const resetting = await resetToken('admin@example.org');
    await service.stop();

    const given = { data: service.data, smtpUrl: mailbox.url, mailFrom, secrets: [secret] };
    const next = await startHere(t, config, given);
    const status = async (as: CallOptions) => (await next.call('GET', `${users}/me`, undefined, as)).status;
    assert.deepEqual([await status(byOld), await status(byNew)], [401, 200]);
    assert.equal(await status(bearer(refreshed.body.token)), 200);
    // One-time tokens have a key of their own.
    const body = { token: resetting, password: 'after the restart' };
    assert.equal((await next.call('POST', `${users}/reset-password`, body, anonymous)).status, 200);
    assert.equal(await status(byNew), 401);
  });
});
