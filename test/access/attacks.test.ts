import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { AccessArgs } from '../../config/model.ts';
import { anonymous, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';

const isOf = ({ user }: AccessArgs, name: string) => user?.name === name;

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  limits: { body: 1_000_000, bulkBody: 2_000_000 },
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true },
      access: {
        read: (args) => isOf(args, 'editor'),
        create: (args) => isOf(args, 'editor'),
        update: (args) => isOf(args, 'editor'),
      },
      fields: [{ name: 'name', type: 'text' }],
    },
    {
      slug: 'papers',
      access: {
        read: (args) => isOf(args, 'editor') || { code: { equals: 'open' } },
        create: (args) => isOf(args, 'editor') || args.data?.title === 'let in',
        update: (args) => isOf(args, 'editor'),
      },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'code', type: 'text', unique: true },
        {
          name: 'meta',
          type: 'object',
          fields: [
            { name: 'slug', type: 'text', unique: true },
            { name: 'salary', type: 'number', access: { read: () => false } },
          ],
        },
      ],
    },
    {
      slug: 'masked',
      access: { read: () => true },
      hooks: { beforeRead: ({ data }) => ({ ...data, title: 'masked' }) },
      fields: [{ name: 'title', type: 'text' }],
    },
    { slug: 'lists', fields: [] },
  ],
} satisfies Config);

let stranger: CallOptions;
let scopeless: CallOptions;
let hidden = '';
const absent = '01980000-0000-7000-8000-000000000000';

const post = (path: string, body: object, as?: CallOptions) =>
  service.call('POST', `/api/collections/${path}`, body, as);
const told = ({ status, body }: Answer) => [status, body];
const upsert = (code: string, as: CallOptions, title = 'x') =>
  post('papers/bulk', { docs: [{ title, code }], upsertBy: 'code' }, as);

before(async () => {
  const credentials = { email: 'eve@example.org', password: 'correct horse battery' };
  assert.equal((await post('users', { ...credentials, name: 'eve' })).status, 201);
  stranger = (await loggedIn(service, 'users', credentials.email, credentials.password)).as;
  scopeless = { key: (await service.call('POST', '/api/keys', { name: 'nothing' })).body.secret };
  const { status, body } = await post('papers', { title: 'a', code: 'hidden', meta: { slug: 'hidden', salary: 1 } });
  assert.equal(status, 201);
  hidden = body.id;
});

describe('a caller who may not', () => {
  it('is not told by an upsert which unique values there are', async () => {
    for (const as of [stranger, anonymous, scopeless])
      assert.deepEqual(told(await upsert('hidden', as)), told(await upsert('nowhere', as)));
    // A caller who may create learns as much from the clash of a create.
    assert.equal((await upsert('hidden', stranger, 'let in')).status, 403);
    for (const email of ['eve@example.org', 'eva@example.org']) {
      const { status, body } = await post('users/bulk', { docs: [{ email, name: 'x' }], upsertBy: 'email' }, anonymous);
      assert.deepEqual([status, body.message], [401, 'an API key or a token is needed'], email);
    }
  });

  it('is not told by a bulk call under a key without scopes which documents there are', async () => {
    const changes = [
      ['papers/bulk/update', { data: { title: 'x' } }],
      ['papers/bulk/delete', {}],
    ] as const;
    for (const [path, more] of changes) {
      for (const query of ['?dryRun=true', '']) {
        const [found, missing, none] = await Promise.all(
          [[hidden], [absent], []].map((ids) => post(path + query, { ids, ...more }, scopeless)),
        );
        assert.equal(found?.status, 403);
        assert.deepEqual(found?.body, missing?.body);
        assert.deepEqual(found?.body, none?.body);
      }
    }
    for (const body of [
      { docs: [] },
      { docs: [{ title: 'x' }] },
      { docs: [], upsertBy: 'code' },
      { docs: [], upsertBy: 'x' },
    ])
      assert.equal((await post('papers/bulk', body, scopeless)).status, 403, JSON.stringify(body));
  });

  it('is not answered again what it has done while it was let in', async () => {
    const credentials = { email: 'ed@example.org', password: 'correct horse battery' };
    const { body: ed } = await post('users', { ...credentials, name: 'editor' });
    const { as } = await loggedIn(service, 'users', credentials.email, credentials.password);
    const again = { ...as, headers: { ...as.headers, 'idempotency-key': 'one' } };
    const docs = [{ email: 'new@example.org', name: 'new' }];
    const calls = [{ docs }, { docs, upsertBy: 'email' }];
    const made = await post('users/bulk', calls[0] ?? {}, again);
    assert.deepEqual([made.status, (await post('users/bulk', calls[0] ?? {}, again)).body], [201, made.body]);
    again.headers['idempotency-key'] = 'two';
    assert.equal((await post('users/bulk', calls[1] ?? {}, again)).status, 200);
    assert.equal((await service.call('PATCH', `/api/collections/users/${ed.id}`, { name: 'no one' })).status, 200);
    for (const [index, key] of ['one', 'two'].entries()) {
      again.headers['idempotency-key'] = key;
      assert.equal((await post('users/bulk', calls[index] ?? {}, again)).status, 403, key);
    }
  });

  it('is not told the names of hidden fields by the values that documents are found by', async () => {
    const docs = [{ title: 'let in', meta: { slug: 'x', salery: 1 } }];
    const { status, body } = await post('papers/bulk', { docs, upsertBy: 'meta.slug' }, stranger);
    assert.equal(status, 400);
    assert.doesNotMatch(JSON.stringify(body), /salary/);
  });

  it('is not told the slugs of collections by a search', async () => {
    const { body } = await service.call('GET', '/api/search?q=a&collections=maske,list', undefined, anonymous);
    assert.match(body.message, /masked/);
    assert.doesNotMatch(JSON.stringify(body), /"lists|users/);
  });

  it('sends no large body to a bulk route', async () => {
    const docs = [{ title: 'x'.repeat(3_000_000) }];
    assert.equal((await post('users/bulk', { docs }, anonymous)).status, 401);
    assert.equal((await post('papers/bulk', { docs }, scopeless)).status, 403);
  });
});

describe('figures', () => {
  it('are not made of values that a hook changes before they are read', async () => {
    await post('masked', { title: 'what it is' });
    for (const path of ['distinct?field=title', 'aggregate?groupBy=title', 'aggregate?max=createdAt&groupBy=title']) {
      const { status } = await service.call('GET', `/api/collections/masked/${path}`, undefined, anonymous);
      assert.equal(status, 400, path);
    }
  });
});
