import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { anonymous, bearer, type LoggedIn, login } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { type Answer, apiKey, type CallOptions } from '../helpers/service.ts';
import { logLines, recordedEvents, sendRaw } from '../helpers/shared.ts';
import { useAttacked } from './attacked.ts';

const attacked = await useAttacked();
const {
  accept,
  articles,
  assertRefused,
  claimsOf,
  config,
  encode,
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
} = attacked;
let admin: LoggedIn;
before(async () => {
  admin = await attacked.admin;
});

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
    // An operator is anonymous: it has no session, and no name to invite in.
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
    // A browser sends both cookies: each counts at its own collection.
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
