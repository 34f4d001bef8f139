import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import Database from 'better-sqlite3';
import { anonymous, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer } from '../helpers/service.ts';
import { useService } from '../helpers/shared.ts';

const service = useService(
  `const isAda = ({ user }) => user?.email === 'ada@example.org';
export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    { slug: 'members', auth: true, fields: [], access: { create: () => true } },
    {
      slug: 'posts',
      fields: [{ name: 'views', type: 'number' }, { name: 'title', type: 'text' }],
      access: {
        read: ({ user, doc }) => (user?.email === 'ada@example.org' ? true : { title: { equals: 'open' } }),
        create: isAda,
        update: ({ user, data }) => isAda({ user }) && data.title !== 'not this',
        delete: () => true,
      },
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }], access: { update: isAda } }],
};`,
  { ANNALS_THREADS: '1' },
);
const password = 'correct horse battery';
let ada: LoggedIn;
let bob: LoggedIn;

async function newUser(name: string): Promise<LoggedIn> {
  const email = `${name}@example.org`;
  assert.equal((await service.call('POST', '/api/collections/users', { email, password })).status, 201);
  return loggedIn(service, 'users', email, password);
}

async function newPost(title: string): Promise<string> {
  return (await service.call('POST', '/api/collections/posts', { title })).body.id;
}

type Caller = Pick<LoggedIn, 'as'>;

function call(method: string, path: string, { as }: Caller, body?: unknown, headers = {}): Promise<Answer> {
  return service.call(method, `/api/drafts${path}`, body, { ...as, headers: { ...as.headers, ...headers } });
}

const put = (caller: Caller, path: string, data: unknown, version: number | null = null, headers = {}) =>
  call('PUT', path, caller, { data, version }, headers);
const etagOf = ({ headers }: Answer) => headers.get('etag') ?? '';

before(async () => {
  ada = await newUser('ada');
  bob = await newUser('bob');
});

describe('A draft that a user keeps', () => {
  it('is what was typed, right or wrong, and is recorded nowhere', async () => {
    const path = `/posts/${await newPost('first')}`;
    const data = { title: '  A title', views: 'many', unknown: [{ a: null }] };
    const kept = await assertRecorded(service, () => put(ada, path, data, 1), []);
    assert.equal(kept.status, 200, JSON.stringify(kept.body));
    const { updatedAt, ...shown } = kept.body;
    const id = path.split('/').at(-1);
    assert.deepEqual(shown, { collection: 'posts', id, title: '  A title', version: 1 });
    const read = await call('GET', path, ada);
    assert.deepEqual([read.status, read.body], [200, { ...shown, updatedAt, data }]);
    assert.deepEqual([etagOf(read), read.headers.get('cache-control')], [etagOf(kept), 'no-store']);
    assert.deepEqual((await call('GET', '', ada)).body.docs, [kept.body]);
    const document = await service.call('GET', `/api/collections${path}`);
    assert.equal(document.body.title, 'first');
    const dropped = await assertRecorded(service, () => call('DELETE', path, ada), []);
    assert.deepEqual([dropped.status, dropped.body], [200, kept.body]);
    assert.equal((await call('GET', path, ada)).status, 404);
    assert.equal((await call('DELETE', path, ada)).status, 404);
  });

  it('may be of a document that is not there yet, and of a global', async () => {
    const path = `/posts/new-${randomUUID()}`;
    const { updatedAt: _, ...fresh } = (await put(ada, path, { views: 1 })).body;
    const id = path.split('/').at(-1);
    assert.deepEqual(fresh, { collection: 'posts', id, title: id, version: null });
    const { updatedAt: __, ...site } = (await put(ada, '/globals/site', { name: 'Mine' }, 0)).body;
    assert.deepEqual(site, { global: 'site', id: null, title: 'Mine', version: 0 });
    assert.deepEqual((await call('GET', '/globals/site', ada)).body.data, { name: 'Mine' });
    const listed = (await call('GET', '', ada)).body.docs;
    assert.deepEqual(
      listed.map(({ title }: { title: string }) => title),
      ['Mine', id],
    );
    for (const one of [path, '/globals/site']) assert.equal((await call('DELETE', one, ada)).status, 200);
  });

  it('is of its user alone', async () => {
    const path = `/posts/${await newPost('open')}`;
    await put(ada, path, { title: 'a secret' });
    assert.equal((await call('GET', path, bob)).status, 404);
    assert.equal((await call('DELETE', path, bob)).status, 404);
    assert.deepEqual((await call('GET', '', bob)).body.docs, []);
    for (const as of [anonymous, {}]) {
      for (const [method, at] of [
        ['GET', ''],
        ['GET', path],
        ['PUT', path],
        ['DELETE', path],
        ['PUT', '/x/y'],
      ] as const)
        assert.equal(
          (await call(method, at, { as }, method === 'PUT' ? { data: {} } : undefined)).status,
          401,
          `${method} ${at}`,
        );
    }
    assert.equal((await call('DELETE', path, ada)).status, 200);
  });

  it('takes the right to write when it is kept, and to read when it is read', async () => {
    const [open, closed] = [`/posts/${await newPost('open')}`, `/posts/${await newPost('closed')}`];
    assert.equal((await put(bob, open, {})).status, 403);
    assert.equal((await put(bob, `/posts/new-${randomUUID()}`, {})).status, 403);
    assert.equal((await put(bob, '/globals/site', {})).status, 403);
    assert.equal((await put(ada, open, { title: 'not this' })).status, 403, 'the rule sees what was typed');
    assert.equal((await call('GET', open, bob)).status, 404);
    assert.equal((await call('GET', closed, bob)).status, 403);
    for (const path of ['/posts/none', '/post/none', '/globals/sites', `/posts/new-x`])
      assert.equal((await put(ada, path, {})).status, 404, path);
    assert.match((await put(ada, '/post/none', {})).body.message, /posts/);
    const gone = await newPost('open');
    await put(ada, `/posts/${gone}`, { title: 'typed before' });
    await service.call('DELETE', `/api/collections/posts/${gone}`);
    assert.equal((await call('GET', `/posts/${gone}`, ada)).status, 404);
    assert.deepEqual((await call('GET', '', ada)).body.docs, []);
    await service.call('POST', `/api/collections/posts/${gone}/restore`, { version: 1 });
    assert.deepEqual((await call('GET', `/posts/${gone}`, ada)).body.data, { title: 'typed before' });
    await call('DELETE', `/posts/${gone}`, ada);
  });

  it('is overwritten by nothing that does not know it, if If-Match asks for that', async () => {
    const path = `/posts/${await newPost('matched')}`;
    assert.equal((await put(ada, path, {}, null, { 'if-match': '*' })).status, 412, 'it does not exist yet');
    const first = etagOf(await put(ada, path, { a: 1 }));
    const second = etagOf(await put(ada, path, { a: 1 }, null, { 'if-match': first }));
    assert.notEqual(second, first, 'each time another');
    assert.equal((await put(ada, path, { a: 2 }, null, { 'if-match': first })).status, 412);
    assert.equal((await call('DELETE', path, ada, undefined, { 'if-match': first })).status, 412);
    assert.deepEqual((await call('GET', path, ada)).body.data, { a: 1 });
    assert.equal((await put(ada, path, {}, null, { 'if-match': 'x' })).status, 400);
    assert.equal((await call('DELETE', path, ada, undefined, { 'if-match': second })).status, 200);
    assert.equal((await put(ada, path, {}, null, { 'if-match': second })).status, 412);
    const races = await Promise.all([1, 2, 3].map((n) => put(ada, path, { n })));
    assert.deepEqual(new Set(races.map(({ status }) => status)), new Set([200]));
    assert.equal((await call('GET', '', ada)).body.docs.length, 1);
    await call('DELETE', path, ada);
  });

  it('holds no password, and nothing that cannot be given back', async () => {
    const path = `/posts/new-${randomUUID()}`;
    for (const data of [{ password: 'x' }, { a: [{ b: { password: null } }] }]) {
      const { status, body } = await put(ada, path, data);
      assert.deepEqual([status, body.errors[0].field], [400, 'data'], JSON.stringify(body));
    }
    for (const body of [
      {},
      { data: [] },
      { data: null },
      { data: {}, version: -1 },
      { data: {}, version: 1.5 },
      { data: {}, x: 1 },
    ])
      assert.equal((await call('PUT', path, ada, body)).status, 400, JSON.stringify(body));
    assert.equal((await call('PUT', path, ada, '{"data":{"__proto__":1}}')).status, 400);
    assert.equal((await call('PUT', `${path}?x=1`, ada, { data: {} })).status, 400);
    assert.deepEqual((await call('GET', '', ada)).body.docs, []);
  });

  it('is one of at most 100, which have at most 20 MiB', async () => {
    const many = await newUser('many');
    await service.call('PATCH', `/api/collections/users/${ada.id}`, { email: 'other@example.org' });
    await service.call('PATCH', `/api/collections/users/${many.id}`, { email: 'ada@example.org' });
    const vault = new Database(join(service.data, 'vault.db'));
    const insert = vault.prepare(
      `INSERT INTO own_drafts (owner, target, version, size, updated_at, padding, title, data)
       VALUES (?, ?, NULL, 4, ?, zeroblob(4096), 'x', '{}')`,
    );
    vault.transaction(() => {
      for (let index = 0; index < 95; index += 1)
        insert.run(`users/${many.id}`, `posts/new-${randomUUID()}`, Date.now());
    })();
    const paths = Array.from({ length: 6 }, () => `/posts/new-${randomUUID()}`);
    const statuses: number[] = [];
    let message = '';
    for (const path of paths) {
      const { status, body } = await put(many, path, { title: 'x' });
      statuses.push(status);
      message = body.message;
    }
    assert.deepEqual(statuses, [...Array(5).fill(200), 413]);
    assert.match(
      message,
      /^a user keeps at most 100 unsaved changes of 20971520 bytes in all; there are 100 others, .*: drop one/,
    );
    assert.equal(
      (await put(many, paths[0] as string, { title: 'y' })).status,
      200,
      'in the place of one that is there',
    );
    const large = { title: 'x'.repeat(1_000_000) };
    const sizes: number[] = [];
    vault.exec(`UPDATE own_drafts SET size = 1000000 WHERE owner = 'users/${many.id}' AND target IN
      (SELECT target FROM own_drafts WHERE owner = 'users/${many.id}' AND size = 4 LIMIT 17)`);
    vault.close();
    for (const path of paths.slice(0, 4)) sizes.push((await put(many, path, large)).status);
    assert.deepEqual(sizes, [...Array(3).fill(200), 413]);
    assert.equal(
      (await put(many, paths[0] as string, { title: 'x'.repeat(1_100_000) })).status,
      413,
      'a body too large',
    );
    await service.call('PATCH', `/api/collections/users/${many.id}`, { email: 'many@example.org' });
    await service.call('PATCH', `/api/collections/users/${ada.id}`, { email: 'ada@example.org' });
  });

  it('is kept in a tenth of the room for users outside the admin collection, so sign-ups displace no editor', async () => {
    const vault = new Database(join(service.data, 'vault.db'));
    const insert = vault.prepare(
      `INSERT INTO own_drafts (owner, target, version, size, updated_at, padding, title, data)
       VALUES (?, 'members/x', NULL, 4, ?, zeroblob(4096), 'x', '{}')`,
    );
    vault.transaction(() => {
      for (let index = 0; index < 1000; index += 1) insert.run(`members/${index}`, Date.now());
    })();
    const signUp = { email: 'eve@example.org', password };
    assert.equal((await service.call('POST', '/api/collections/members', signUp, anonymous)).status, 201);
    const eve = await loggedIn(service, 'members', signUp.email, password);
    const refused = await put(eve, `/members/new-${randomUUID()}`, { email: 'x' });
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get('retry-after'), '60');
    assert.equal(
      refused.body.message,
      'all users who are not of the admin collection together keep at most 1000 unsaved changes of 107374182 bytes in all: drop some, or try again when others have gone',
    );
    assert.equal((await put(ada, `/posts/new-${randomUUID()}`, { title: 'x' })).status, 200);
    vault.exec("DELETE FROM own_drafts WHERE owner = 'members/0'");
    vault.close();
    assert.equal((await put(eve, `/members/new-${randomUUID()}`, { email: 'x' })).status, 200);
  });

  it('is erased with its document, and with its user, to the last byte', async () => {
    const files = () => ['vault.db', 'vault.db-wal', 'log.db'].map((name) => readFileSync(join(service.data, name)));
    const isThere = (text: string) => files().some((file) => file.includes(text));
    const erase = (collection: string, id: string) =>
      service.call('POST', '/api/audit/erasures', { collection, id, reason: 'asked to' });
    const id = await newPost('erased');
    await put(ada, `/posts/${id}`, { title: 'typed about what is erased, before' });
    await put(ada, `/posts/${id}`, { title: 'typed about what is erased, after' });
    const other = `/posts/${await newPost('stays')}`;
    await put(ada, other, { title: 'typed by who is erased' });
    assert.ok(isThere('typed about what is erased, after'));
    assert.equal((await erase('posts', id)).status, 201);
    assert.ok(!isThere('typed about what is erased'));
    assert.equal((await call('GET', other, ada)).status, 200);
    assert.equal((await erase('users', ada.id)).status, 201);
    assert.ok(!isThere('typed by who is erased'));
  });
});
