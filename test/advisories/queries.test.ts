import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { anonymous, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { casesOf } from '../helpers/runs.ts';
import { type Answer, type CallOptions, callerOf } from '../helpers/service.ts';

const yes = () => true;
const no = () => false;

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'users',
      auth: { useAPIKey: true },
      access: { read: yes },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'pin', type: 'text', access: { read: no } },
      ],
    },
    {
      slug: 'vaults',
      access: { read: () => ({ open: { equals: true } }) },
      fields: [
        { name: 'name', type: 'text' },
        { name: 'open', type: 'boolean' },
        { name: 'code', type: 'text', access: { read: no } },
        { name: 'mask', type: 'text', hooks: { afterRead: () => '***' } },
        { name: 'posts', type: 'join', collection: 'posts', on: 'vault' },
        { name: 'secrets', type: 'join', collection: 'secrets', on: 'vault' },
      ],
    },
    {
      slug: 'posts',
      access: { read: yes },
      admin: { searchFields: ['title', 'notes'] },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'notes', type: 'text', access: { read: no } },
        { name: 'data', type: 'json' },
        { name: 'body', type: 'richText' },
        { name: 'author', type: 'relationship', relationTo: 'users' },
        { name: 'vault', type: 'relationship', relationTo: 'vaults' },
      ],
    },
    {
      slug: 'secrets',
      access: { read: no },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'vault', type: 'relationship', relationTo: 'vaults' },
      ],
    },
    {
      slug: 'desks',
      access: {
        read: ({ user }) => ({ desk: { in: [String(user?.desk ?? '')].filter((desk) => desk !== '') } }),
        update: ({ user }) => ({ desk: { equals: user?.desk } }) as JsonObject,
      },
      fields: [{ name: 'desk', type: 'text' }],
    },
  ],
} satisfies Config);

let eve: LoggedIn;
const ids: Record<string, string> = {};

async function make(slug: string, values: object): Promise<string> {
  const { status, body } = await service.call('POST', `/api/collections/${slug}`, values);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

/** A read, without a look into the log, which would take longer than the read. */
const get = (path: string, as: CallOptions = anonymous) => callerOf(service.url)('GET', path, undefined, as);
const list = (slug: string, query: string, as: CallOptions = anonymous) => get(`/api/collections/${slug}${query}`, as);
const titles = ({ body }: Answer) => body.docs.map(({ title }: { title: string }) => title);

before(async () => {
  const credentials = { email: 'eve@example.org', password: 'correct horse battery' };
  ids.eve = await make('users', { ...credentials, name: 'Eve', pin: 'pin-4711' });
  ids.closed = await make('vaults', { name: 'closed', open: false, code: 'code-8' });
  ids.open = await make('vaults', { name: 'open', open: true, code: 'code-9' });
  const shared = { author: ids.eve, data: { key: 'value' } };
  ids.first = await make('posts', { title: 'first', notes: 'zebra', vault: ids.closed, ...shared });
  ids.second = await make('posts', { title: 'second', notes: 'aardvark', vault: ids.open, ...shared });
  ids.secret = await make('secrets', { title: 'hush', vault: ids.open });
  await make('desks', { desk: 'sports' });
  await make('desks', {});
  eve = await loggedIn(service, 'users', credentials.email, credentials.password);
});

/** Names that are of no field, and of which each would do something in SQL or in JavaScript. */
const hostile = [
  `'`,
  '"',
  '`',
  `title' OR '1'='1`,
  `title") OR 1=1 --`,
  'title; DROP TABLE posts',
  'title COLLATE NOCASE',
  'title, (SELECT 1)',
  '(SELECT sql FROM sqlite_master)',
  `json_extract(data,'$.key')`,
  `data->>'$.key'`,
  `data.key') OR 1=1 --`,
  `body.root.children[0].text' OR 1=1 --`,
  'data.key',
  '$.key',
  't0.title',
  'posts.title',
  'rowid',
  'title\0',
  '__proto__',
  'constructor.prototype',
  'title.__proto__',
  'hasOwnProperty',
];

/** Each place of a query that takes a name or a value, with a hostile one in it. */
const attacks = hostile.flatMap((text) => {
  const name = encodeURIComponent(text);
  const json = encodeURIComponent(JSON.stringify({ [text]: { equals: 'x' } }));
  const names = [
    `?where[${name}][equals]=x`,
    `?where[title][${name}]=x`,
    `?where=${json}`,
    `?where[data.${name}][equals]=x`,
    `?where[body.${name}][exists]=true`,
    `?where[author.${name}][equals]=x`,
    `?sort=${name}`,
    `?sort=-author.${name}`,
    `?select=${name}`,
    `?next=${name}`,
    `?limit=${name}`,
    `?asOf=${name}`,
    `/count?where[${name}][exists]=true`,
    `/distinct?field=${name}`,
    `/aggregate?groupBy=${name}`,
    `/aggregate?max=${name}`,
  ];
  const values = [...['equals', 'in', 'like'].map((operator) => `?where[title][${operator}]=${name}`), `?q=${name}`];
  return [
    ...names.map((query) => ({ text, query, isName: true })),
    ...values.map((query) => ({ text, query, isName: false })),
  ];
});

it('CVE-2026-25544, CVE-2026-34747, CVE-2026-105845, CVE-2026-105856 (Payload): no name, path, operator or value of a query becomes SQL', async () => {
  const faults = /sqlite|syntax error|no such|unrecognized token|malformed/i;
  for (const { text, query, isName } of casesOf(attacks)) {
    const { status, body } = await list('posts', query);
    if (isName) assert.ok([400, 401, 403].includes(status), `${status} for ${query}`);
    else assert.ok([200, 400].includes(status), `${status} for ${query}`);
    assert.doesNotMatch(String(body.message ?? '').replaceAll(text, ''), faults, query);
    assert.deepEqual(body.docs ?? [], [], query);
    assert.doesNotMatch(JSON.stringify(body), /zebra|aardvark|hush|4711/, query);
  }
  assert.equal((await list('posts', '')).body.total, 2);
});

it('CVE-2023-30843, CVE-2026-105805 (Payload), CVE-2023-27481 (Directus), CVE-2023-22894, CVE-2023-34235, CVE-2023-36472, CVE-2024-56143, CVE-2026-27886 (Strapi): filtering or sorting by a hidden field is refused as if the field did not exist', async () => {
  const hidden = [
    'notes',
    'author.pin',
    'author.password',
    'author.hash',
    'author.resetToken',
    'vault.code',
    'vault.mask',
  ];
  const reshaped = ['t0.notes', 't1.notes', 'posts.notes', 'NOTES', 'notes.', '.notes', 'author.t1.pin', 'author[pin]'];
  for (const field of [...hidden, ...reshaped]) {
    const name = encodeURIComponent(field);
    const nested = { and: [{ title: { exists: true } }, { or: [{ [field]: { like: 'z' } }] }] };
    for (const query of [
      `?where[${name}][like]=z`,
      `?where[${name}][exists]=true`,
      `?where[or][0][${name}][equals]=zebra`,
      `?where=${encodeURIComponent(JSON.stringify(nested))}`,
      `?sort=${name}`,
      `?sort=title,-${name}`,
      `/count?where[${name}][like]=z`,
    ]) {
      for (const as of hidden.includes(field) ? [anonymous, eve.as] : [eve.as]) {
        const { status, body } = await list('posts', query, as);
        assert.equal(status, 400, query);
        const offered = String(body.message).split('allowed:')[1] ?? '';
        assert.doesNotMatch(offered, /notes|pin|code|mask|password|hash/, query);
      }
    }
  }
  // Other names under which services of this kind took filters.
  for (const parameter of ['filters', 'filter', 'lookup', 'params', 'deep', 'populate'])
    assert.equal((await list('posts', `?${parameter}[notes][like]=z`)).status, 400, parameter);
  assert.equal((await list('posts', '?_where[notes][like]=z')).body.total, 2, 'ignored, as all that begins so');
  for (const where of [{ notes: { like: 'z' } }, { 'author.pin': { like: 'p' } }]) {
    const change = { where, data: { title: 'changed' } };
    const { status } = await service.call('POST', '/api/collections/posts/bulk/update?dryRun=true', change, eve.as);
    assert.equal(status, 400);
  }
});

it('CVE-2025-30352, CVE-2025-64748 (Directus): a search finds nothing by the words of a hidden field', async () => {
  for (const word of ['zebra', 'zeb', 'aardvark', 'pin-4711', '4711', 'code-9']) {
    for (const as of [anonymous, eve.as]) {
      const found = await Promise.all([
        list('posts', `?q=${word}`, as),
        list('posts', `/count?q=${word}`, as),
        list('users', `?q=${word}`, as),
        get(`/api/search?q=${word}`, as),
      ]);
      for (const { status, body } of found) {
        assert.deepEqual([status, body.docs ?? body.results ?? []], [200, []], word);
        assert.equal(body.total ?? 0, 0, word);
      }
    }
  }
  assert.equal((await list('posts', '?q=first')).body.total, 1);
});

it('CVE-2026-35442 (Directus): no aggregate or distinct value is computed from a hidden field', async () => {
  for (const field of ['notes', 'author.pin', 'vault.code', 'author.password']) {
    for (const query of [
      `/distinct?field=${field}`,
      `/aggregate?groupBy=${field}`,
      `/aggregate?groupBy=title&min=${field}`,
      `/aggregate?max=${field}`,
      `/aggregate?groupBy=title&sort=${field}`,
      `/aggregate?groupBy=title&where[${field}][like]=z`,
      `/distinct?field=title&where[${field}][like]=z`,
    ]) {
      const { status, body } = await list('posts', query, eve.as);
      assert.equal(status, 400, query);
      assert.doesNotMatch(JSON.stringify(body), /zebra|aardvark|4711|code-/, query);
    }
  }
});

it('CVE-2024-34708 (Directus): a hidden value is not shown under another name', async () => {
  for (const query of [
    '?select=notes',
    '?select=title,notes',
    '?select=author.pin&depth=1',
    '?alias[shown]=notes',
    '?fields=notes',
    '?fields[]=*',
    '?select=*',
    '?select=*.*&depth=2',
    '?depth=5',
    '?populate=*',
    '?include=author',
  ]) {
    for (const path of [`/api/collections/posts${query}`, `/api/collections/posts/${ids.first}${query}`]) {
      const { status, body } = await get(path, eve.as);
      assert.ok([200, 400].includes(status), path);
      assert.doesNotMatch(JSON.stringify(body), /zebra|aardvark|4711|code-/, path);
    }
  }
});

it('CVE-2026-105847, CVE-2026-105852 (Payload), CVE-2023-37263, CVE-2024-29181 (Strapi): a relationship or a join leads only to the documents and fields that their own rules show', async () => {
  for (const as of [anonymous, eve.as]) {
    const { body } = await list('posts', '?depth=3&sort=title', as);
    assert.equal(body.docs[0].vault, ids.closed, 'stays an id');
    assert.equal(body.docs[1].vault.name, 'open');
    assert.doesNotMatch(JSON.stringify(body), /code-|4711|zebra|hush/);

    const vaults = await list('vaults', '?depth=2', as);
    assert.deepEqual(
      vaults.body.docs.map(({ name, secrets }: { name: string; secrets: unknown }) => [name, secrets]),
      [['open', []]],
    );
    assert.doesNotMatch(JSON.stringify(vaults.body), /zebra|aardvark|hush/);

    for (const where of ['[vault.name][equals]=closed', '[vault.open][equals]=false', '[vault.name][like]=clo'])
      assert.deepEqual(titles(await list('posts', `?where${where}`, as)), [], where);
    const references = await list('vaults', `/${ids.open}/references`, as);
    assert.doesNotMatch(JSON.stringify(references.body), new RegExp(`hush|${ids.secret}`));
    assert.ok([401, 403].includes((await list('vaults', `/${ids.closed}/references`, as)).status));
  }
});

it('CVE-2024-39701 (Directus): a condition with an empty list, or with no value, matches no document', async () => {
  const none = await list('desks', `?where=${encodeURIComponent('{"desk":{"in":[]}}')}`, {});
  assert.deepEqual([none.status, none.body.docs ?? []], [none.status === 400 ? 400 : 200, []]);
  // The rule of this collection compares with a desk that Eve does not have.
  const { status, body } = await list('desks', '', eve.as);
  assert.deepEqual([status, body.docs, body.total], [200, [], 0]);
  const all = await list('desks', '', {});
  assert.equal(all.body.total, 2);
  for (const { id } of all.body.docs) {
    const [read, change] = await Promise.all([
      list('desks', `/${id}`, eve.as),
      service.call('PATCH', `/api/collections/desks/${id}`, { desk: 'mine' }, eve.as),
    ]);
    // A condition whose value is missing is a mistake in the rule, and lets nothing through.
    assert.deepEqual([read.status, change.status], [403, 500]);
  }
});

it('meets none of this with an error of its own', () => {
  const bad = service.lines().filter(({ status, path }) => status >= 500 && !path.startsWith('/api/collections/desks'));
  assert.deepEqual(bad, []);
});
