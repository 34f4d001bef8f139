import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../../config/define.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { useStarted } from '../../helpers/shared.ts';
import { type Seeding, startSeeded } from './seeded.ts';

// Every reader, by callers with and without the right to drafts. All that only drafts hold has the word "geheim".

type Role = 'anyone' | 'editor' | 'own' | 'looker';

const roleOf = (headers: Record<string, unknown> | undefined) => headers?.['x-role'];

const access = {
  read: () => true,
  update: () => false,
  // Taking `doc` apart would be a look at the document.
  readDrafts: (args: { req: { headers: Record<string, unknown> }; doc: JsonObject | null }) => {
    const role = roleOf(args.req.headers);
    if (role === 'own') return { owner: { equals: 'own' } };
    return role === 'looker' ? args.doc?.owner === 'own' : role === 'editor';
  },
};

const owner = { name: 'owner', type: 'text' } as const;

const config: Config = {
  collections: [
    {
      slug: 'authors',
      drafts: true,
      access,
      fields: [
        { name: 'name', type: 'text', required: true },
        owner,
        { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
        { name: 'liked', type: 'join', collection: 'posts', on: 'likes', limit: 2 },
      ],
    },
    {
      slug: 'posts',
      drafts: true,
      access,
      admin: { searchFields: ['title', 'body'] },
      fields: [
        { name: 'title', type: 'text', index: true },
        owner,
        { name: 'body', type: 'textarea' },
        { name: 'n', type: 'number' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
        { name: 'likes', type: 'relationship', relationTo: 'authors', hasMany: true },
      ],
    },
    {
      slug: 'tags',
      access: { read: () => true },
      fields: [{ name: 'post', type: 'relationship', relationTo: 'posts' }],
    },
  ],
  globals: [{ slug: 'site', drafts: true, access, fields: [{ name: 'title', type: 'text' }, owner] }],
};

const ids: Record<string, string> = {};

function seed({ publish, draft, change, publishDraft, setGlobal }: Seeding): void {
  ids.ada = publish('authors', { name: 'Ada', owner: 'own' });
  ids.bob = draft('authors', { name: 'geheim Bob', owner: null });
  change('authors', ids.ada, { name: 'geheim Ada' });
  ids.plain = publish('posts', { title: 'plain', owner: null, body: 'text', n: 1, author: ids.ada, likes: [] });
  ids.changed = publish('posts', { title: 'before', owner: 'own', body: 'text', n: 2, author: ids.ada, likes: [] });
  change('posts', ids.changed, { title: 'geheim after', n: 20, author: ids.bob, likes: [ids.ada] });
  ids.other = publish('posts', { title: 'other', owner: null, body: 'text', n: 3, author: ids.bob, likes: [ids.ada] });
  change('posts', ids.other, { body: 'geheim body', n: 30, likes: [] });
  ids.new = draft('posts', {
    title: 'geheim new',
    owner: 'own',
    body: 'text',
    n: 4,
    author: ids.ada,
    likes: [ids.ada],
  });
  ids.foreign = draft('posts', { title: 'geheim foreign', owner: null, body: '', n: 5, author: null, likes: [] });
  ids.live = draft('posts', { title: 'live', owner: null, body: 'text', n: 6, author: null, likes: [] });
  publishDraft('posts', ids.live);
  publish('tags', { post: ids.new });
  setGlobal('site', { title: 'Site', owner: 'own' });
  change('site', 'site', { title: 'geheim Site' });
}

const service = useStarted((t) => startSeeded(t, config, seed));

async function get(path: string, role: Role = 'anyone') {
  return service.call('GET', path, undefined, { key: null, headers: { 'x-role': role } });
}

const posts = '/api/collections/posts';

/** All readers that have a parameter `draft`. */
const readers = () => [
  `${posts}/${ids.changed}`,
  `${posts}/${ids.plain}?depth=2`,
  posts,
  `${posts}?sort=title&limit=2`,
  `${posts}?sort=-n,title`,
  `${posts}?next=&sort=author.name`,
  `${posts}?where[author.name][exists]=true`,
  `${posts}?depth=1`,
  `${posts}?select=title,author.name`,
  `${posts}?q=text`,
  `${posts}?q=text&sort=n`,
  `${posts}?count=none`,
  `${posts}/count`,
  `${posts}/count?where[title][like]=e`,
  `${posts}/aggregate?groupBy=title&max=n`,
  `${posts}/distinct?field=author.name`,
  // Lists that are combined are grouped in another thread.
  `${posts}/aggregate?groupBy=likes,title&max=n`,
  `/api/collections/authors/${ids.ada}`,
  '/api/collections/authors?depth=1',
  `/api/collections/authors/${ids.ada}/references`,
  `${posts}/${ids.changed}/references`,
  '/api/globals/site',
  '/api/counts',
  '/api/search?q=text',
];

function withDraft(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}draft=true`;
}

describe('A reader without draft=true', () => {
  it('has nothing of a draft, for any caller', async () => {
    for (const role of ['anyone', 'editor'] as const) {
      for (const path of [...readers(), '/api/search?q=geheim', `${posts}?q=geheim`, '/api/collections/tags?depth=2']) {
        const { status, body } = await get(path, role);
        const text = JSON.stringify(body);
        assert.equal(status, 200, `${path}: ${text}`);
        assert.ok(!text.includes('geheim'), `${path}: ${text}`);
        assert.ok(!text.includes(ids.foreign ?? ''), path);
      }
    }
    for (const id of [ids.new, ids.foreign]) assert.equal((await get(`${posts}/${id}`, 'editor')).status, 404);
    const { body } = await get(posts);
    assert.equal(body.total, 4);
    assert.equal((await get('/api/counts')).body.collections.posts.total, 4);
  });
});

describe('A reader with draft=true', () => {
  it('refuses a caller who may read no draft', async () => {
    for (const path of readers()) {
      const { status, body } = await get(withDraft(path));
      assert.equal(status, 401, `${path}: ${JSON.stringify(body)}`);
      assert.equal(body.code, 'unauthorized');
    }
  });

  it('answers with the newest state of all, to a caller who may read drafts', async () => {
    const answers = new Map<string, string>();
    for (const path of readers()) {
      const { status, body } = await get(withDraft(path), 'editor');
      assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
      answers.set(path, JSON.stringify(body));
    }
    const { docs, total } = JSON.parse(answers.get(posts) ?? '');
    assert.equal(total, 6);
    assert.deepEqual(
      docs.map(({ title, __status }: JsonObject) => [title, __status]),
      [
        ['live', 'published'],
        ['geheim foreign', 'draft'],
        ['geheim new', 'draft'],
        ['other', 'changed'],
        ['geheim after', 'changed'],
        ['plain', 'published'],
      ],
    );
    for (const [path, text] of answers) {
      const isWithout = path.includes('/count') || path.includes('next=') || path.includes('limit=2');
      assert.ok(isWithout || path.endsWith('/references') || text.includes('geheim'), `${path}: ${text}`);
    }
    assert.equal(JSON.parse(answers.get(`${posts}/count`) ?? '').total, 6);
    assert.equal(JSON.parse(answers.get('/api/counts') ?? '').collections.posts.total, 6);
    assert.equal(JSON.parse(answers.get('/api/globals/site') ?? '').title, 'geheim Site');
  });

  it('shows only the drafts that the rule admits, and the public documents in the place of the others', async () => {
    for (const role of ['own', 'looker'] as const) {
      const { body } = await get(withDraft(`${posts}?sort=n`), role);
      const shown = body.docs.map(({ title, n, __status }: JsonObject) => [title, n, __status]);
      assert.deepEqual(
        shown,
        [
          ['plain', 1, 'published'],
          ['other', 3, 'published'],
          ['geheim new', 4, 'draft'],
          ['live', 6, 'published'],
          ['geheim after', 20, 'changed'],
        ],
        role,
      );
      assert.equal(body.total, 5);
      assert.equal((await get(withDraft(`${posts}/${ids.foreign}`), role)).status, 404);
      const other = await get(withDraft(`${posts}/${ids.other}`), role);
      assert.equal(other.body.body, 'text');
      assert.equal(other.body.__status, 'published');
      assert.equal((await get(withDraft(`${posts}/${ids.new}`), role)).status, 200);
    }
  });

  it('filters, sorts and groups by how documents are published', async () => {
    const titles = async (query: string) => {
      const { body } = await get(withDraft(`${posts}?${query}`), 'editor');
      return body.docs.map(({ title }: JsonObject) => title);
    };
    assert.deepEqual(await titles('where[__status][equals]=changed&sort=n'), ['geheim after', 'other']);
    assert.deepEqual(await titles('where[__status][not_equals]=published&sort=n'), [
      'geheim new',
      'geheim foreign',
      'geheim after',
      'other',
    ]);
    assert.deepEqual(await titles('where[__publishedAt][exists]=false&sort=-n'), ['geheim foreign', 'geheim new']);
    assert.deepEqual(await titles('where[__review][equals]=open'), []);
    assert.deepEqual(await titles('where[author.__status][equals]=draft&sort=n'), ['geheim after', 'other']);
    const [first] = await titles('sort=__status,n');
    assert.equal(first, 'geheim after');
    const { body } = await get(withDraft(`${posts}/aggregate?groupBy=__status`), 'editor');
    assert.deepEqual(
      body.groups.map(({ key, count }: { key: JsonObject; count: number }) => [key.__status, count]),
      [
        ['changed', 2],
        ['draft', 2],
        ['published', 2],
      ],
    );
  });

  it('follows relations, joins and references to drafts', async () => {
    const { body } = await get(withDraft(`${posts}/${ids.changed}?depth=1`), 'editor');
    assert.equal(body.author.name, 'geheim Bob');
    assert.equal(body.author.__status, 'draft');
    assert.equal(body.likes[0].name, 'geheim Ada');
    const ada = (await get(withDraft(`/api/collections/authors/${ids.ada}`), 'editor')).body;
    assert.deepEqual(ada.posts, [ids.plain, ids.new]);
    assert.deepEqual(ada.liked, [ids.changed, ids.new]);
    const today = (await get(`/api/collections/authors/${ids.ada}`, 'editor')).body;
    assert.deepEqual(today.posts, [ids.plain, ids.changed]);
    assert.deepEqual(today.liked, [ids.other]);
    const path = `/api/collections/authors/${ids.ada}/references`;
    const pointers = async (query: string) =>
      (await get(`${path}${query}`, 'editor')).body.docs.map(({ id, field }: JsonObject) => [id, field]);
    assert.deepEqual(await pointers('?draft=true'), [
      [ids.new, 'author'],
      [ids.plain, 'author'],
      [ids.new, 'likes'],
      [ids.changed, 'likes'],
    ]);
    assert.deepEqual(await pointers(''), [
      [ids.changed, 'author'],
      [ids.plain, 'author'],
      [ids.other, 'likes'],
    ]);
  });

  it('finds drafts by their words, and changed documents by theirs alone', async () => {
    const found = async (q: string, role: Role) => {
      const { body } = await get(withDraft(`${posts}?q=${q}&sort=n`), role);
      return body.docs.map(({ id }: JsonObject) => id);
    };
    assert.deepEqual(await found('geheim', 'editor'), [ids.new, ids.foreign, ids.changed, ids.other]);
    assert.deepEqual(await found('before', 'editor'), []);
    assert.deepEqual(await found('geheim', 'own'), [ids.new, ids.changed]);
    const { body } = await get('/api/search?q=geheim&draft=true', 'editor');
    assert.equal(body.total, 6);
    const own = await get('/api/search?q=geheim&draft=true', 'own');
    assert.equal(own.body.total, 3);
  });

  it('gives other tags than what is public, and pages behind cursors of its own', async () => {
    const etag = async (path: string) => (await get(path, 'editor')).headers.get('etag');
    for (const id of [ids.plain, ids.changed]) {
      const tag = await etag(`${posts}/${id}?draft=true`);
      assert.ok(tag && tag !== (await etag(`${posts}/${id}`)), String(tag));
    }
    const seen: JsonObject[] = [];
    let next = '';
    do {
      const { body } = await get(withDraft(`${posts}?sort=n&limit=2&next=${next}`), 'editor');
      seen.push(...body.docs);
      assert.ok(seen.length < 10, 'the pages have no end');
      next = body.next ?? '';
      if (next !== '') assert.equal((await get(`${posts}?sort=n&limit=2&next=${next}`, 'editor')).status, 400);
    } while (next !== '');
    assert.deepEqual(
      seen.map(({ n }) => n),
      [1, 4, 5, 6, 20, 30],
    );
  });
});

describe('The members of publishing', () => {
  it('are in public answers only if they are selected, and only those of the public state', async () => {
    const { body } = await get(`${posts}/${ids.changed}?select=title,__publishedAt,__status`);
    assert.deepEqual(Object.keys(body), ['id', 'title', '__status', '__publishedAt']);
    assert.equal(body.__status, 'published');
    assert.match(String(body.__publishedAt), /^2026-11-20T12:00:\d\d\.\d{3}Z$/);
    assert.ok(!('__status' in (await get(`${posts}/${ids.changed}`)).body));
    const since = await get(`${posts}?where[__publishedAt][greater_than]=2020-01-01T00:00:00Z&sort=-__publishedAt`);
    assert.equal(since.body.total, 4);
    for (const name of ['__status', '__review', '__editors']) {
      const refused = await get(`${posts}?where[${name}][exists]=true`, 'editor');
      assert.equal(refused.status, 400);
      assert.match(refused.body.errors[0].message, /needs draft=true/);
    }
  });

  it('name the editors to callers with the audit scope headers alone', async () => {
    const shown = await service.call('GET', `${posts}/${ids.changed}?draft=true`);
    assert.deepEqual(shown.body.__editors, ['system']);
    const found = await service.call('GET', `${posts}?draft=true&where[__editors][contains]=system&sort=n`);
    assert.deepEqual(
      found.body.docs.map(({ id }: JsonObject) => id),
      [ids.new, ids.foreign, ids.changed, ids.other],
    );
    const other = await get(`${posts}/${ids.changed}?draft=true`, 'editor');
    assert.ok(!('__editors' in other.body));
    assert.equal((await get(withDraft(`${posts}?where[__editors][contains]=system`), 'editor')).status, 400);
  });

  it('are refused where there are no drafts', async () => {
    for (const path of [
      '/api/collections/tags',
      '/api/collections/tags/count',
      '/api/collections/tags/distinct?field=id',
    ]) {
      assert.equal((await get(withDraft(path), 'editor')).status, 400, path);
    }
    assert.equal((await get('/api/collections/tags?where[__publishedAt][exists]=true')).status, 400);
    assert.equal((await get(`${posts}?draft=yes`, 'editor')).status, 400);
  });
});
