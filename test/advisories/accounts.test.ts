import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, it } from 'node:test';
import { checkConfig } from '../../config/check.ts';
import type { Config } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';
import { anonymous, bearer, type LoggedIn, loggedIn, login } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { useMailbox } from '../helpers/mail.ts';
import { type Answer, type CallOptions, callerOf } from '../helpers/service.ts';
import { eventually, sendRaw } from '../helpers/shared.ts';

const mailbox = await useMailbox();
const signing = 'the-secret-that-signs-0123456789abcdef';
const isChief = ({ user }: AccessArgs) => user?.role === 'chief';

const config = {
  bcryptCost: 4,
  trustProxy: true,
  rateLimit: { address: 5, email: 60 },
  audit: ({ user, apiKey }) => apiKey !== null || user?.role === 'chief',
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true, maxLoginAttempts: 3 },
      access: { create: isChief },
      fields: [{ name: 'role', type: 'text', access: { create: isChief, update: isChief } }],
    },
    { slug: 'members', auth: true, fields: [] },
    {
      slug: 'notes',
      access: { read: ({ user }) => user !== null && { owner: { equals: user.id } }, update: isChief },
      fields: [{ name: 'owner', type: 'text' }],
    },
  ],
} satisfies Config;

const service = useServiceHere(config, {
  smtpUrl: mailbox.url,
  mailFrom: 'Annals <annals@example.org>',
  secrets: [signing],
});

const users = '/api/collections/users';
const password = 'correct horse battery';
const secrets: string[] = [password];
let calls = 0;

/** Each call comes from an address of its own, unless it names one: the rate limit is for one test alone. */
function call(
  method: string,
  path: string,
  body?: unknown,
  { key = null, headers }: CallOptions = {},
): Promise<Answer> {
  calls += 1;
  const from = `192.0.2.${calls % 250}`;
  // Reads go without a look into the log, which would take longer than they do.
  const send = method === 'GET' ? callerOf(service.url) : service.call;
  return send(method, path, body, { key, headers: { 'x-forwarded-for': from, ...headers } });
}
const here = { call } as Parameters<typeof login>[0];
const post = (path: string, body?: unknown, as: CallOptions = anonymous) => call('POST', path, body, as);
const get = (path: string, as: CallOptions = anonymous) => call('GET', path, undefined, as);
const me = async (as: CallOptions) => (await get(`${users}/me`, as)).status;
const enter = (name: string, secret = password) => login(here, 'users', `${name}@example.org`, secret);
const forgot = (email: unknown, more = {}) => post(`${users}/forgot-password`, { email, ...more });

function okay({ status, body }: Answer, expected = 200): Answer['body'] {
  assert.equal(status, expected, JSON.stringify(body));
  return body;
}

/** Makes an account and logs it in. */
async function newUser(name: string, values: object = {}): Promise<LoggedIn> {
  const email = `${name}@example.org`;
  okay(await service.call('POST', users, { email, password, ...values }), 201);
  const user = await loggedIn(here, 'users', email, password);
  secrets.push(user.token);
  return user;
}

let chief: LoggedIn;
before(async () => {
  chief = await newUser('chief', { role: 'chief' });
});

it('CVE-2025-4643 (Payload), CVE-2024-34709 (Directus), CVE-2025-3930 (Strapi): every token of a session ends with the logout, and none can be renewed', async () => {
  const { token, as } = await newUser('ann');
  const renewed = okay(await post(`${users}/refresh-token`, undefined, as)).token;
  const cookie = (value: string) => ({ headers: { cookie: `annals-users=${value}`, 'sec-fetch-site': 'same-origin' } });
  const forms = [as, bearer(renewed), cookie(token), cookie(renewed)];
  for (const form of forms) assert.equal(await me(form), 200);
  okay(await post(`${users}/logout`, undefined, bearer(renewed)));
  for (const form of forms) {
    assert.equal(await me(form), 401);
    assert.equal((await post(`${users}/refresh-token`, undefined, form)).status, 401);
  }
});

it('GHSA-wvw7-x9pg-w4cc (Payload), CVE-2026-22706 (Strapi): a new password, changed or reset, ends the other sessions, whatever the request contains', async () => {
  const first = await newUser('bea');
  const second = await loggedIn(here, 'users', 'bea@example.org', password);
  okay(await call('PATCH', `${users}/${first.id}`, { password: 'changed horse battery' }, first.as));
  assert.deepEqual([await me(first.as), await me(second.as)], [200, 401]);
  assert.equal((await post(`${users}/refresh-token`, undefined, second.as)).status, 401);

  okay(await forgot('bea@example.org'));
  const token = await mailbox.token('bea@example.org');
  const body = { token, password: 'reset horse battery' };
  for (const more of [{ deviceId: 'x' }, { keepSessions: true }, { session: 'x' }])
    assert.equal((await post(`${users}/reset-password`, { ...body, ...more })).status, 400);
  okay(await post(`${users}/reset-password`, body));
  assert.equal(await me(first.as), 401);
  assert.equal((await post(`${users}/reset-password`, body)).status, 400, 'it works once');
  secrets.push('changed horse battery', 'reset horse battery', token);
});

it('CVE-2025-4644 (Payload), CVE-2025-30351 (Directus): the token of a deleted account opens nothing, also after another account was made', async () => {
  const { id, as } = await newUser('cleo', { role: 'chief' });
  assert.equal((await get('/api/audit/events', as)).status, 200);
  okay(await service.call('PATCH', `${users}/${id}`, { role: null }));
  assert.equal((await get('/api/audit/events', as)).status, 403, 'a withdrawn role counts at once');
  okay(await service.call('DELETE', `${users}/${id}`));
  assert.equal(await me(as), 401);
  const next = await newUser('cleo');
  assert.notEqual(next.id, id);
  assert.deepEqual([await me(as), await me(next.as)], [401, 200]);
  const sneak = await service.call('POST', users, { id, email: 'sneak@example.org', password });
  assert.notEqual(okay(sneak, 201).id, id);
  assert.equal(await me(as), 401);
});

it('CVE-2023-22893, GHSA-xv3q-jrmm-4fxv (Strapi): a token without our signature is refused, whatever algorithm it names', async () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const [, payload = '', signature = ''] = chief.token.split('.');
  const hmac = (text: string, key: string, hash = 'sha256') =>
    `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
  const good = encode({ alg: 'HS256', typ: 'JWT' });
  assert.equal(await me(bearer(hmac(`${good}.${payload}`, signing))), 200, 'such a token is right');
  for (const alg of ['none', 'None', 'NONE', '', null, 'RS256', 'ES256']) {
    const head = encode({ alg, typ: 'JWT' });
    for (const end of ['', signature]) assert.equal(await me(bearer(`${head}.${payload}.${end}`)), 401, String(alg));
    assert.equal(await me(bearer(`${head}.${payload}`)), 401, String(alg));
  }
  for (const [alg, hash] of [
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ] as const)
    assert.equal(await me(bearer(hmac(`${encode({ alg, typ: 'JWT' })}.${payload}`, signing, hash))), 401, alg);
  for (const key of ['', 'secret', 'undefined', 'null', 'annals', 'changeme'])
    assert.equal(await me(bearer(hmac(`${good}.${payload}`, key))), 401, `signed with ${key}`);
});

it('CVE-2026-34751 (Payload), CVE-2024-27295, CVE-2023-27474, GHSA-8xp8-xrh2-88vr (Directus): the mail of a reset goes to the stored address, with a link that no request can change', async () => {
  await newUser('dora');
  const evil = 'evil.example';
  for (const name of [
    'reset_url',
    'resetUrl',
    'url',
    'redirect',
    'callbackURL',
    'from',
    'to',
    'collection',
    'where',
    'data',
  ]) {
    const { status, body } = await forgot('dora@example.org', { [name]: `https://${evil}/"><img src=x>` });
    assert.deepEqual([status, body.errors[0].field], [400, name]);
  }
  const text = JSON.stringify({ email: 'Dora@Example.org' });
  const lines = [
    `POST ${users}/forgot-password?url=https://${evil} HTTP/1.1`,
    `host: ${evil}`,
    `x-forwarded-host: ${evil}`,
    `forwarded: host=${evil}`,
    `origin: https://${evil}`,
    `referer: https://${evil}/`,
    'x-forwarded-for: 192.0.2.251',
    'content-type: application/json',
    `content-length: ${text.length}`,
  ];
  const { status } = await sendRaw(service.url, `${lines.join('\r\n')}\r\n\r\n${text}`);
  assert.ok([200, 400].includes(status));
  okay(await forgot(' DORA@example.org '));
  const mail = await mailbox.next('dora@example.org');
  assert.ok(mail.text?.includes(`${service.url}/admin/reset?token=`), mail.text);
  const lookalikes = [
    'dorà@example.org',
    'ｄora@example.org',
    'dora@examplé.org',
    'dora@ｅxample.org',
    'dora\u200b@example.org',
  ];
  for (const email of [
    ...lookalikes,
    ['dora@example.org', 'eve@evil.example'],
    'dora@example.org,eve@evil.example',
    { equals: 'dora@example.org' },
  ])
    assert.ok([200, 400].includes((await forgot(email)).status));
  okay(await forgot('dora@example.org'));
  await mailbox.next('dora@example.org');
  const sent = mailbox.received.filter(
    ({ mail }) => mail.text?.includes('dora') || JSON.stringify(mail.to).includes('dor'),
  );
  for (const { to, mail } of sent) {
    assert.deepEqual(to, ['dora@example.org']);
    assert.ok(!`${mail.text}${mail.html}`.includes(evil));
  }
});

it('CVE-2023-22621 (Strapi): no part of an e-mail address runs as a template of a mail', async () => {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is sent as it is
  const email = '{{7*7}}${7*7}#{7*7}@example.org';
  okay(await service.call('POST', users, { email, password }), 201);
  okay(await forgot(email));
  const mail = await mailbox.next(email);
  assert.ok(mail.text?.includes(email), mail.text);
  assert.ok(mail.html?.includes(email), mail.html);
});

it('CVE-2024-39896, CVE-2026-26185 (Directus): a login and a forgotten password are answered alike with and without an account', async () => {
  await newUser('finn');
  okay(await service.call('POST', users, { email: 'nopassword@example.org' }), 201);
  const names = ['finn', 'nopassword', 'stranger'];
  const told = ({ status, headers, body }: Answer) => [status, body, headers.get('retry-after') !== null];
  for (const attempt of [
    (name: string) => enter(name, 'wrong horse battery'),
    (name: string) => enter(name, 'x'.repeat(73)),
    (name: string) => forgot(`${name}@example.org`),
    (name: string) => forgot(`${name}@example.org`, { reset_url: 'https://evil.example' }),
    // The third failure locks.
    (name: string) => enter(name, 'wrong horse battery'),
    (name: string) => enter(name, 'wrong horse battery'),
    (name: string) =>
      enter(name, 'wrong horse battery').then((answer) => ({
        ...answer,
        body: answer.body.message.replace(/\d+/, 'n'),
      })),
  ]) {
    const answers = [];
    for (const name of names) answers.push(told(await attempt(name)));
    assert.deepEqual(answers[1], answers[0]);
    assert.deepEqual(answers[2], answers[0]);
  }
  assert.equal((await enter('finn')).status, 429);
});

it('CVE-2023-38507, CVE-2025-64526 (Strapi), GHSA-m35c-r5p5-c3w8 (Payload): login attempts count together, however the path, the e-mail or the body is written', async () => {
  for (const path of ['/LOGIN', '/Login', '//login', '/login/', '/./login/.', '/login%20', '/login;x'])
    assert.ok([404, 405].includes((await post(users + path, { email: 'chief@example.org', password })).status), path);
  const forms = [' GUS@example.org', 'gus@EXAMPLE.org', 'Gus@example.org\t', 'gus@example.org'];
  await newUser('gus');
  const statuses: number[] = [];
  for (const email of forms) statuses.push((await login(here, 'users', email, 'wrong horse battery')).status);
  assert.deepEqual(statuses, [401, 401, 401, 429], 'of one account');

  const until: number[] = [];
  for (let attempt = 0; attempt < 7; attempt += 1) {
    // The last entry is that of the proxy, all before it are the client's.
    const headers = { 'x-forwarded-for': `198.51.100.${attempt}, 203.0.113.9`, 'x-real-ip': `198.51.100.${attempt}` };
    const body = { email: `other${attempt}@example.org`, password };
    const more = { ...body, token: String(attempt) };
    assert.equal((await post(`${users}/login`, more, { headers })).status, 400, 'tries no password');
    until.push((await post(`${users}/login`, body, { headers })).status);
  }
  assert.deepEqual(until, [401, 401, 401, 401, 401, 429, 429], 'of one address');
});

it('CVE-2026-105866 (Payload): a lock ends no session, and a reset of the password ends the lock', async () => {
  const { as } = await newUser('hal');
  for (let attempt = 0; attempt < 4; attempt += 1) await enter('hal', 'wrong horse battery');
  assert.deepEqual([(await enter('hal')).status, await me(as)], [429, 200]);
  okay(await forgot('hal@example.org'));
  const token = await mailbox.token('hal@example.org');
  okay(await post(`${users}/reset-password`, { token, password: 'unlocked horse battery' }));
  okay(await enter('hal', 'unlocked horse battery'));
});

it('CVE-2025-25298 (Strapi): a password of more than 72 bytes is refused, never truncated', async () => {
  const { id, as } = await newUser('ida');
  for (const long of ['x'.repeat(73), 'é'.repeat(37), 'x'.repeat(100_000)])
    assert.equal((await call('PATCH', `${users}/${id}`, { password: long }, as)).status, 400);
  okay(await call('PATCH', `${users}/${id}`, { password: 'x'.repeat(72) }, as));
  assert.equal((await enter('ida', 'x'.repeat(73))).status, 401);
  assert.equal((await enter('ida', 'x'.repeat(71))).status, 401);
  okay(await enter('ida', 'x'.repeat(72)));
});

it('CVE-2026-105804 (Payload): passwords are hashed at a cost of 12 if the configuration sets none', () => {
  assert.equal(checkConfig({ collections: [{ slug: 'users', auth: true, fields: [] }] }).bcryptCost, 12);
});

it('CVE-2026-39943, CVE-2024-47822, CVE-2023-28443, CVE-2025-53885, CVE-2025-53886 (Directus): no password, hash or token is in a version, an event, the log or the output', async () => {
  const jane = await newUser('jane');
  okay(await call('PATCH', `${users}/${jane.id}`, { password: 'second horse battery' }, jane.as));
  secrets.push('second horse battery', jane.token.split('.')[2] ?? '', '$2b$');
  for (const path of [
    `/api/audit/documents/users/${jane.id}`,
    `/api/audit/documents/users/${jane.id}/versions/1`,
    `/api/audit/documents/users/${jane.id}/diff?from=0&to=1`,
    `/api/audit/accounts/users/${jane.id}`,
    '/api/audit/events?limit=100',
    '/api/audit/feed?limit=100',
  ]) {
    const { status, body } = await get(path, chief.as);
    assert.equal(status, 200, path);
    for (const secret of secrets) assert.ok(!JSON.stringify(body).includes(secret), path);
  }
  for (const name of ['token', 'access_token', 'key', 'api_key'])
    assert.ok([400, 401].includes((await get(`${users}/me?${name}=${chief.token}`)).status), name);
  const files = readdirSync(service.data).filter((name) => /^(log|read)/.test(name));
  assert.ok(files.length >= 2);
  const kept = files.map((name) => readFileSync(join(service.data, name), 'latin1')).join('');
  for (const secret of secrets) assert.ok(!kept.includes(secret) && !service.output().stderr.includes(secret), secret);
});

it('CVE-2024-28238 (Directus): a token in a URL is not a credential', async () => {
  for (const name of ['token', 'access_token', 'auth', 'jwt', 'authorization', 'x-api-key'])
    for (const path of ['/api/collections/notes', `${users}/me`, '/api/keys'])
      assert.ok([400, 401].includes((await get(`${path}?${name}=${chief.token}`)).status), `${path} ${name}`);
});

it('CVE-2024-45596, CVE-2026-61836 (Directus): an answer to a credential is never given to another caller', async () => {
  const [kim, lea] = [await newUser('kim'), await newUser('lea')];
  for (const { id } of [kim, lea]) okay(await service.call('POST', '/api/collections/notes', { owner: id }), 201);
  for (const { id, as } of [kim, lea, kim]) {
    const { headers, body } = await get('/api/collections/notes', as);
    assert.deepEqual(
      body.docs.map(({ owner }: { owner: string }) => owner),
      [id],
    );
    assert.match(headers.get('cache-control') ?? '', /private/);
    for (const name of ['authorization', 'cookie', 'x-api-key']) assert.ok(headers.get('vary')?.includes(name));
  }
  const entry = await enter('kim');
  assert.equal(entry.headers.get('cache-control'), 'no-store');
  assert.equal((await get(`${users}/me`, kim.as)).body.id, kim.id);
  const note = okay(await get('/api/collections/notes', kim.as)).docs[0].id;
  const shown = await get(`/api/collections/notes/${note}`, kim.as);
  const tag = shown.headers.get('etag') ?? '';
  for (const as of [lea.as, anonymous]) {
    const headers = { ...as.headers, 'if-none-match': tag };
    const { status } = await get(`/api/collections/notes/${note}`, { ...as, headers });
    assert.ok([401, 403].includes(status));
    assert.notEqual((await get('/api/collections/notes', as)).body.docs?.[0]?.owner, kim.id);
  }
});

it('CVE-2024-54151, CVE-2023-38503, GHSA-97xr-jchp-xm3c (Directus): a feed of events needs a right, and ends when the right ends', async () => {
  const member = await newUser('max');
  for (const as of [anonymous, member.as, bearer('not.a.token')]) {
    const { status } = await get('/api/audit/feed', { ...as, headers: { ...as.headers, accept: 'text/event-stream' } });
    assert.ok([401, 403].includes(status));
  }
  const watcher = await newUser('nia', { role: 'chief' });
  const stream = await fetch(`${service.url}/api/audit/feed`, {
    headers: { ...watcher.as.headers, accept: 'text/event-stream' },
  });
  assert.equal(stream.status, 200);
  let isOpen = true;
  const ended = stream.text().then(() => {
    isOpen = false;
  });
  okay(await post(`${users}/logout`, undefined, watcher.as));
  await eventually(() => !isOpen);
  await ended;
});
