import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';
import { anonymous, type LoggedIn, loggedIn, login } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { type Answer, type CallOptions, callerOf } from '../helpers/service.ts';

const yes = () => true;
const no = () => false;
const isChief = ({ user }: AccessArgs) => user?.collection === 'staff' && user.role === 'chief';
const isStaff = ({ user }: AccessArgs) => user?.collection === 'staff';
const isOwn = ({ user, doc }: AccessArgs) => user !== null && user.id === doc?.id;

const whsec = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** The calls of the hooks of `posts`. */
const hooked: string[] = [];
function note(hook: string): undefined {
  hooked.push(hook);
}

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  keys: ({ user, apiKey }) => user === null && apiKey !== null,
  audit: ({ user, apiKey }) => (user === null ? apiKey !== null : user.role === 'chief'),
  webhooks: [
    {
      name: 'site',
      url: 'https://hooks.example/?token=hush',
      secret: whsec,
      collections: ['drawers'],
      events: ['document.restored'],
    },
  ],
  collections: [
    {
      slug: 'staff',
      auth: true,
      access: { create: isChief, read: isStaff, update: isChief, delete: isChief },
      fields: [
        { name: 'role', type: 'select', options: ['chief', 'helper'], access: { create: isChief, update: isChief } },
      ],
    },
    {
      slug: 'members',
      auth: true,
      access: {
        create: yes,
        read: (args) => isStaff(args) || isOwn(args),
        // A helper changes a member, not the password.
        update: (args) => isOwn(args) || (isStaff(args) && args.data?.password === undefined),
        delete: isChief,
      },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'role', type: 'text', access: { create: isChief, update: isChief } },
        { name: 'pin', type: 'text', defaultValue: 'pin-4711', access: { read: no } },
        { name: 'sub', type: 'text' },
        { name: 'sid', type: 'text' },
        { name: 'exp', type: 'number' },
        { name: 'site', type: 'text' },
      ],
    },
    {
      slug: 'posts',
      history: 'public',
      access: { read: yes, create: isStaff, update: ({ user }) => user !== null, delete: isChief },
      hooks: {
        beforeChange: [() => note('change')],
        beforeDelete: [() => note('delete')],
      },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        { name: 'status', type: 'select', options: ['draft', 'published'], access: { update: isChief } },
        { name: 'data', type: 'json' },
      ],
    },
    { slug: 'drawers', access: { read: no }, fields: [{ name: 'title', type: 'text' }] },
  ],
} satisfies Config);

const password = 'correct horse battery';
const members = '/api/collections/members';
const posts = '/api/collections/posts';

let chief: LoggedIn;
let helper: LoggedIn;
let eve: LoggedIn;
let bob: LoggedIn;
let post = '';

const send = (method: string, path: string, body: unknown, as: CallOptions = anonymous) =>
  service.call(method, path, body, as);
const get = (path: string, as: CallOptions = anonymous) => service.call('GET', path, undefined, as);

function okay({ status, body }: Answer, expected = 200): Answer['body'] {
  assert.equal(status, expected, JSON.stringify(body));
  return body;
}

/** The answers to attempts to be the first account: wrong ones, the right one, and one after it. */
const first: { wrong: number[]; polluted: number; elsewhere: number; right: number; again: number } = {
  wrong: [],
  polluted: 0,
  elsewhere: 0,
  right: 0,
  again: 0,
};

async function makeFirst(): Promise<void> {
  const path = '/api/collections/staff/first-user';
  const account = { email: 'chief@example.org', password, role: 'chief' };
  await get('/ready');
  const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
  const attempt = async (body: unknown, to = path) => (await send('POST', to, body)).status;
  for (const token of [undefined, null, '', 'x'.repeat(44), { $ne: null }, [setupToken]])
    first.wrong.push(await attempt({ ...account, setupToken: token }));
  first.polluted = await attempt(
    JSON.stringify({ ...account, setupToken }).replace('{', '{"__proto__":{"polluted":1},'),
  );
  first.elsewhere = await attempt({ email: account.email, password, setupToken }, `${members}/first-user`);
  first.right = await attempt({ ...account, setupToken });
  first.again = await attempt({ ...account, email: 'second@example.org', setupToken });
}

before(async () => {
  await makeFirst();
  chief = await loggedIn(service, 'staff', 'chief@example.org', password);
  okay(
    await send('POST', '/api/collections/staff', { email: 'helper@example.org', password, role: 'helper' }, chief.as),
    201,
  );
  helper = await loggedIn(service, 'staff', 'helper@example.org', password);
  for (const name of ['eve', 'bob'])
    okay(await send('POST', members, { email: `${name}@example.org`, password, name }), 201);
  eve = await loggedIn(service, 'members', 'eve@example.org', password);
  bob = await loggedIn(service, 'members', 'bob@example.org', password);
  post = okay(await send('POST', posts, { title: 'one', code: 'one', status: 'draft' }, chief.as), 201).id;
  okay(await send('PATCH', `${posts}/${post}`, { status: 'published' }, chief.as));
});

it('CVE-2026-105858 (Payload): the first account needs the setup token, once, and takes only its fields from the body', async () => {
  assert.ok(first.wrong.every((status) => status === 400 || status === 403));
  assert.deepEqual([first.polluted, first.elsewhere, first.right, first.again], [400, 403, 201, 403]);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
});

it('CVE-2023-39345 (Strapi): a sign-up sets no field that its rule refuses, and no field that the service sets itself', async () => {
  const account = { email: 'mallory@example.org', password };
  const refused = await assertRecorded(service, () => send('POST', members, { ...account, role: 'chief' }), []);
  assert.deepEqual([refused.status, refused.body.errors[0].field], [403, 'role']);
  for (const name of [
    'hash',
    'salt',
    'resetToken',
    'sessions',
    'collection',
    'apiKey',
    'verified',
    'roles',
    '_status',
  ]) {
    const answer = await assertRecorded(service, () => send('POST', members, { ...account, [name]: 'x' }), []);
    assert.deepEqual([answer.status, answer.body.errors[0].field], [400, name]);
  }
  const past = '2001-01-01T00:00:00.000Z';
  const made = okay(await send('POST', members, { ...account, id: eve.id, createdAt: past, updatedAt: past }), 201);
  assert.notEqual(made.id, eve.id);
  assert.ok(made.createdAt > past && made.updatedAt > past);
  assert.equal(okay(await get(`${members}/me`, eve.as)).email, 'eve@example.org');
});

it('CVE-2026-105859, CVE-2026-106100 (Payload), CVE-2025-27089, GHSA-7p53-c7p5-8j2j (Directus): no kind of write changes a field whose rule refuses the change', async () => {
  const ways: [status: number, method: string, path: string, body: object][] = [
    [403, 'PATCH', `${posts}/${post}`, { status: 'draft' }],
    [403, 'PATCH', `${posts}/${post}`, { title: 'two', status: 'draft' }],
    [403, 'POST', `${posts}/bulk/update`, { ids: [post], data: { status: 'draft' } }],
    [403, 'POST', `${posts}/bulk/update`, { where: { code: { equals: 'one' } }, data: { status: 'draft' } }],
    [403, 'POST', `${posts}/bulk`, { upsertBy: 'code', docs: [{ code: 'one', status: 'draft' }] }],
    [403, 'POST', `${posts}/${post}/restore`, { version: 1 }],
    // Other ways that services of this kind have.
    [405, 'PUT', `${posts}/${post}`, { status: 'draft' }],
    [405, 'POST', `${posts}/${post}`, { status: 'draft' }],
    [404, 'POST', `${posts}/${post}/duplicate`, { status: 'draft' }],
    [405, 'POST', `${posts}/reorder`, { id: post, status: 'draft' }],
  ];
  for (const [expected, method, path, body] of ways) {
    const { status } = await assertRecorded(service, () => send(method, path, body, eve.as), []);
    assert.equal(status, expected, `${method} ${path}`);
  }
  // Drafts that are kept or shown change nothing either.
  const draft = { status: 'draft', title: 'kept' };
  await send('PUT', `/api/drafts/posts/${post}`, { data: draft, version: 2 }, eve.as);
  await send('POST', '/api/preview-token', { collection: 'posts', id: post, data: draft }, eve.as);
  const { title, status } = okay(await get(`${posts}/${post}`));
  assert.deepEqual([title, status], ['one', 'published']);
});

it('CVE-2026-105855 (Payload): a rule may refuse a password, on each way to set one', async () => {
  const other = 'chosen by the helper';
  for (const [expected, method, path, body] of [
    [403, 'PATCH', `${members}/${eve.id}`, { password: other }],
    [403, 'PATCH', `${members}/${eve.id}`, { name: 'Eve', password: other }],
    // Calls with many documents set no passwords.
    [400, 'POST', `${members}/bulk/update`, { ids: [eve.id], data: { password: other } }],
    [400, 'POST', `${members}/bulk`, { upsertBy: 'email', docs: [{ email: 'eve@example.org', password: other }] }],
  ] as const) {
    const { status } = await assertRecorded(service, () => send(method, path, body, helper.as), []);
    assert.equal(status, expected, `${method} ${path}`);
  }
  assert.equal((await login(service, 'members', 'eve@example.org', other)).status, 401);
  okay(await send('PATCH', `${members}/${eve.id}`, { name: 'Eve' }, helper.as));
});

it('CVE-2026-25574 (Payload), CVE-2024-6534 (Directus): preferences and unsaved changes belong to one account of one collection', async () => {
  const draft = `/api/drafts/posts/${post}`;
  okay(await send('PATCH', '/api/preferences', { theme: 'dark', user: bob.id, collection: 'staff' }, eve.as));
  okay(await send('PUT', draft, { data: { title: 'hers' }, version: 2, user: bob.id }, eve.as), 400);
  okay(await send('PUT', draft, { data: { title: 'hers' }, version: 2 }, eve.as));
  for (const as of [bob.as, helper.as, chief.as]) {
    assert.deepEqual(okay(await get('/api/preferences', as)), {});
    assert.deepEqual(okay(await get('/api/drafts', as)).docs, []);
    assert.equal((await get(draft, as)).status, 404);
    assert.equal((await send('DELETE', draft, undefined, as)).status, 404);
  }
  assert.equal(okay(await get(draft, eve.as)).data.title, 'hers');
  assert.equal(okay(await get('/api/preferences', eve.as)).theme, 'dark');
});

it('GHSA-p623-wgx3-wxp8, GHSA-6hpw-rhhq-6xq3 (Directus): a refused write calls no hook and leaves no trace', async () => {
  hooked.length = 0;
  for (const [method, path, body] of [
    ['DELETE', `${posts}/${post}`, undefined],
    ['POST', `${posts}/bulk/delete`, { ids: [post] }],
    ['POST', posts, { title: 'hers' }],
    ['PATCH', `${posts}/${post}`, { status: 'draft' }],
    ['DELETE', `${members}/${bob.id}`, undefined],
    ['PATCH', `${members}/${bob.id}`, { email: 'taken@example.org', password: 'of another user' }],
  ] as const) {
    const { status } = await assertRecorded(service, () => send(method, path, body, eve.as), []);
    assert.equal(status, 403, `${method} ${path}`);
  }
  assert.deepEqual(hooked, []);
  assert.equal(okay(await get(`${members}/me`, bob.as)).email, 'bob@example.org');
  assert.equal(okay(await get(`${posts}/${post}`)).title, 'one');
});

it('GHSA-gwvv-rr68-cmv6 (Directus), CVE-2026-105844, CVE-2026-105857 (Payload): no name in a body, a query or a form reaches a prototype', async () => {
  const names = Object.getOwnPropertyNames(Object.prototype);
  const bodies = [
    '{"__proto__":{"polluted":1}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"data":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}},"version":null}',
    '{"name":"x","scopes":[{"__proto__":{"polluted":1}}]}',
    '{"docs":[{"__proto__":{"polluted":1}}],"upsertBy":"__proto__"}',
    '{"ids":[],"data":{"toString":{"call":1},"__proto__.polluted":1}}',
    '{"where":{"__proto__":{"polluted":1}},"data":{}}',
    '{"email":"eve@example.org","password":{"__proto__":{"polluted":1}}}',
  ];
  const routes = [
    ['POST', posts],
    ['PATCH', `${posts}/${post}`],
    ['POST', `${posts}/bulk`],
    ['POST', `${posts}/bulk/update`],
    ['POST', members],
    ['POST', `${members}/login`],
    ['PATCH', '/api/preferences'],
    ['PUT', `/api/drafts/posts/${post}`],
    ['POST', '/api/preview-token'],
    ['POST', '/api/keys'],
  ] as const;
  for (const [method, path] of routes) {
    for (const body of bodies) {
      const { status } = await callerOf(service.url)(method, path, body, path === '/api/keys' ? {} : chief.as);
      const isRefused = body.includes('"__proto__":') ? status === 400 : status < 500;
      assert.ok(isRefused, `${status} for ${method} ${path} ${body}`);
    }
  }
  for (const query of ['__proto__[polluted]=1', 'where[__proto__][polluted]=1', 'constructor[prototype][polluted]=1'])
    assert.equal((await get(`${posts}?${query}`)).status, query.startsWith('__') ? 200 : 400, query);
  const form = new FormData();
  for (const name of ['__proto__[polluted]', 'constructor.prototype.polluted']) form.append(name, '1');
  assert.ok((await fetch(service.url + posts, { method: 'POST', body: form })).status < 500);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  assert.deepEqual(Object.getOwnPropertyNames(Object.prototype), names);
  assert.equal(Object.prototype.toString.call([]), '[object Array]');
});

it('CVE-2026-105863 (Payload): no field of an account becomes a claim of its token', async () => {
  const claims = { sub: chief.id, sid: 'chosen', exp: 9_999_999_999, site: 'other' };
  okay(await send('PATCH', `${members}/${eve.id}`, claims, eve.as));
  const { token } = okay(await login(service, 'members', 'eve@example.org', password));
  const payload = JSON.parse(String(Buffer.from(token.split('.')[1], 'base64url')));
  assert.deepEqual([payload.sub, payload.collection, payload.site], [eve.id, 'members', undefined]);
  assert.notEqual(payload.sid, 'chosen');
  assert.equal(payload.exp - payload.iat, 7200);
  assert.deepEqual(Object.keys(payload).sort(), ['collection', 'exp', 'iat', 'sid', 'sub']);
});

it('CVE-2026-105806, CVE-2026-11779, GHSA-8j2x-hjh9-3ff8, GHSA-2qw6-cm49-277x (Payload): a user without the right reaches no keys, sessions, locks, invitations, deliveries or log of others', async () => {
  const key = okay(await send('POST', '/api/keys', { name: 'of the site', scopes: [] }, {}), 201);
  const { docs: sessions } = okay(await get(`${members}/sessions`, bob.as));
  const [{ sid }] = sessions;
  const closed: [method: string, path: string, body?: object][] = [
    ['GET', '/api/keys'],
    ['GET', `/api/keys/${key.id}`],
    ['POST', '/api/keys', { name: 'hers', scopes: [{ collections: '*', globals: '*', operations: ['read'] }] }],
    ['POST', `/api/keys/${key.id}/rotate`],
    ['DELETE', `/api/keys/${key.id}`],
    ['GET', '/api/webhooks'],
    ['GET', '/api/webhooks/site'],
    ['GET', '/api/webhooks/site/deliveries'],
    ['GET', '/api/webhooks/site/deliveries/1'],
    ['POST', '/api/webhooks/site/retry'],
    ['POST', '/api/webhooks/site/deliveries/1/retry'],
    ['GET', `${members}/${bob.id}/account`],
    ['POST', `${members}/${bob.id}/unlock`],
    ['DELETE', `${members}/${bob.id}/sessions/${sid}`],
    ['DELETE', `${members}/sessions/${sid}`],
    ['POST', '/api/collections/staff/invite', { email: 'friend@example.org' }],
    ['GET', '/api/collections/staff/invitations'],
    ['GET', '/api/collections/staff/invitations/1'],
    ['DELETE', '/api/collections/staff/invitations/1'],
    ['GET', '/api/audit/events'],
    ['GET', '/api/audit/feed'],
    ['GET', '/api/audit/export'],
    ['GET', `/api/audit/documents/members/${bob.id}`],
    ['GET', `/api/audit/accounts/members/${bob.id}`],
    ['POST', '/api/audit/erasures', { collection: 'posts', id: post, reason: 'a test' }],
    ['POST', '/api/batches/1/undo'],
  ];
  async function tryAll(as: CallOptions): Promise<void> {
    for (const [method, path, body] of closed) {
      const { status } = await callerOf(service.url)(method, path, body, as);
      assert.ok([401, 403, 404].includes(status), `${status} for ${method} ${path}`);
    }
  }
  for (const as of [eve.as, anonymous, { key: key.secret }]) await assertRecorded(service, () => tryAll(as), []);
  // Their own lock is not for them to end.
  assert.equal((await send('POST', `${members}/${eve.id}/unlock`, undefined, eve.as)).status, 403);
  assert.equal((await get(`${members}/me`, bob.as)).status, 200);
});

it('CVE-2026-105849 (Payload), GHSA-r9xq-xp38-j4j3 (Directus): the secret of a key is shown once, and a secret of the configuration never', async () => {
  const key = okay(await send('POST', '/api/keys', { name: 'a key', scopes: [] }, {}), 201);
  const rotated = okay(await send('POST', `/api/keys/${key.id}/rotate`, undefined, {}));
  const paths = [
    '/api/keys',
    '/api/schemas',
    '/api/webhooks',
    '/api/webhooks/site/deliveries',
    '/api/admin/boot',
    '/api/audit/events?limit=100',
    '/api/audit/feed?limit=100',
    `/api/audit/accounts/members/${eve.id}`,
    `/api/audit/documents/members/${eve.id}`,
  ];
  const secrets = [
    key.secret,
    rotated.secret,
    ...[key.secret, rotated.secret].map((text) => text.slice(-43)),
    whsec,
    'hush',
  ];
  for (const path of paths) {
    for (const as of [{}, chief.as]) {
      const text = JSON.stringify((await get(path, as)).body);
      for (const secret of secrets) assert.ok(!text.includes(secret), path);
    }
  }
  const { stderr } = service.output();
  for (const secret of secrets) assert.ok(!stderr.includes(secret));
});

it('CVE-2026-105853, GHSA-jjm7-864w-gg8q (Payload): no answer about an account shows a field that its user may not read', async () => {
  const answers = await Promise.all([
    login(service, 'members', 'bob@example.org', password),
    get(`${members}/me`, bob.as),
    get(`${members}/${bob.id}`, bob.as),
    get(`${members}/${bob.id}/account`, bob.as),
    get(`${members}/sessions`, bob.as),
    send('POST', `${members}/refresh-token`, undefined, bob.as),
  ]);
  for (const { status, body } of answers) {
    assert.equal(status, 200);
    assert.doesNotMatch(JSON.stringify(body), /pin|4711|hash/);
  }
});
