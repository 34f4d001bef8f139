import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, bearer, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { request } from '../helpers/requests.ts';
import type { CallOptions } from '../helpers/service.ts';

/** A part of each collection is for everybody; `closed` is only for trusted code. */
const config = `
const title = { name: 'title', type: 'text', index: true };
const fields = [
  title,
  { name: 'code', type: 'text', unique: true },
  { name: 'n', type: 'number' },
  { name: 'tags', type: 'array', fields: [{ name: 'tag', type: 'text' }, { name: 'by', type: 'relationship', relationTo: 'people' }] },
  { name: 'author', type: 'relationship', relationTo: 'people' },
  { name: 'readers', type: 'relationship', relationTo: 'people', hasMany: true },
];
const isOpen = { title: { like: 'open' } };
export default {
  bcryptCost: 4,
  rateLimit: false,
  admin: { title: 'Test' },
  audit: () => false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, access: { read: () => false }, fields: [] },
    {
      slug: 'people',
      access: { read: () => isOpen, delete: () => isOpen },
      fields: [title, { name: 'papers', type: 'join', collection: 'papers', on: 'author' }, { name: 'rows', type: 'join', collection: 'rows', on: 'author' }, { name: 'closed', type: 'join', collection: 'closed', on: 'author', limit: 1 }],
      admin: { searchFields: ['title'] },
    },
    { slug: 'papers', access: { read: () => isOpen, delete: () => isOpen }, admin: { searchFields: ['title'] }, fields },
    {
      slug: 'rows',
      access: { read: ({ doc }) => /open/.test(doc?.title), delete: ({ doc }) => /open/.test(doc?.title) },
      fields,
    },
    { slug: 'closed', access: { read: () => false, delete: () => false }, fields },
  ],
};`;

const service = useServiceHere(config);

async function created(slug: string, values: object): Promise<string> {
  const { status, body } = await service.call('POST', `/api/collections/${slug}`, values);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

const lists = [
  ...[
    '',
    '?limit=1',
    '?count=none&limit=1',
    '?next=&limit=2&sort=title',
    '?q=word',
    '?q=wor&limit=1&page=2',
    '?q=word&sort=title',
  ],
  ...[
    '?sort=author.title',
    '?where[author.title][exists]=true',
    '?where[author][exists]=true',
    '?select=title,author.title',
  ],
  ...[
    '?select=readers.title,tags.by.title&depth=1',
    '?depth=2',
    '?where[tags.by.title][like]=e',
    '?where[title][like]=word',
  ],
];
const groups = [
  'groupBy=title',
  'groupBy=author.title',
  'groupBy=readers.title,n',
  'groupBy=tags.by.title',
  'groupBy=tags.tag',
  'sum=n&max=n',
];

function paths(open: { [slug: string]: string }): string[] {
  return [
    ...['papers', 'rows', 'closed'].flatMap((slug) => [
      ...lists.map((query) => `/api/collections/${slug}${query}`),
      ...groups.map((query) => `/api/collections/${slug}/aggregate?${query}`),
      ...['title', 'author.title', 'readers', 'tags.tag'].map(
        (field) => `/api/collections/${slug}/distinct?field=${field}`,
      ),
      ...['', '?q=word', '?where[title][like]=hid'].map((query) => `/api/collections/${slug}/count${query}`),
    ]),
    ...['', '?limit=1', '?limit=1&page=2'].flatMap((query) => [
      ...['papers', 'rows', 'closed', 'people'].map((slug) => `/api/collections/${slug}/trash${query}`),
      `/api/trash${query}`,
      `/api/collections/people/${open.people}/references${query}`,
    ]),
    ...['', '?depth=1', '?select=papers.title,rows,closed.title'].map(
      (query) => `/api/collections/people/${open.people}${query}`,
    ),
    ...[
      '/api/search?q=word',
      '/api/search?q=w&limit=2',
      '/api/search?q=hidden',
      '/api/counts',
      '/api/schemas',
      '/api/drafts',
    ],
    ...[
      '/api/search?q=word&collections=papers,rows',
      '/api/admin/boot',
      '/api/keys',
      '/api/webhooks',
      '/api/preferences',
    ],
    '/api/audit/events?limit=100',
  ];
}

/** The callers to whom documents are hidden. */
const names = ['user', 'anonymous', 'key'] as const;
type Answers = Map<string, unknown>;

describe('documents that a caller may not read', () => {
  const befores = new Map<string, Answers>();
  const callers: { [name: string]: CallOptions } = { anonymous };
  const open: { [slug: string]: string } = {};

  async function answersTo(name: string): Promise<Answers> {
    const found: Answers = new Map();
    for (const path of paths(open)) {
      const { status, headers, body } = await request(service.url, 'GET', path, callers[name]);
      // A cursor is another each time.
      if (typeof body?.next === 'string') body.next = 'one';
      found.set(path, { status, etag: headers.get('etag'), body });
    }
    return found;
  }

  before(async () => {
    const credentials = { email: 'eve@example.org', password: 'correct horse battery' };
    await created('users', credentials);
    callers.user = bearer((await loggedIn(service, 'users', credentials.email, credentials.password)).token);
    const scopes = [{ collections: ['people'], operations: ['read', 'delete'] }];
    callers.key = { key: (await service.call('POST', '/api/keys', { name: 'a test', scopes })).body.secret };

    const person = await created('people', { title: 'open word' });
    open.people = person;
    const pointing = { n: 1, tags: [{ tag: 'a', by: person }], author: person, readers: [person] };
    for (const slug of ['papers', 'rows']) {
      for (const count of [1, 2, 3])
        await created(slug, { title: `open word ${count}`, code: `${count}`, ...pointing });
      const gone = await created(slug, { title: 'open, gone', ...pointing });
      assert.equal((await service.call('DELETE', `/api/collections/${slug}/${gone}`)).status, 200);
    }
    for (const name of names) befores.set(name, await answersTo(name));

    const hidden = await created('people', { title: 'hidden word' });
    for (const slug of ['papers', 'rows', 'closed']) {
      for (const [title, ...rest] of [
        ['hidden word', 'x'],
        ['word hidden', 'y'],
        ['hidden, gone', 'z', 'gone'],
      ] as const) {
        const id = await created(slug, { title, code: rest[0], ...pointing, readers: [hidden, person], n: 100 });
        if (rest.length > 1) assert.equal((await service.call('DELETE', `/api/collections/${slug}/${id}`)).status, 200);
      }
    }
  });

  // A key reads all documents of the collections in its scopes, and nothing of others.
  const isOpenTo = (name: string, path: string) => name === 'key' && /\/(people|search|counts|trash)/.test(path);
  for (const name of names) {
    it(`change no answer to it: ${name}`, async () => {
      const before = befores.get(name) ?? assert.fail();
      const after = await answersTo(name);
      for (const [path, answer] of before) if (!isOpenTo(name, path)) assert.deepEqual(after.get(path), answer, path);
    });
  }

  it('are looked for by requests that are answered', () => {
    const statuses = [...befores.values()].flatMap((answers) =>
      [...answers.values()].map((one) => (one as { status: number }).status),
    );
    assert.ok(statuses.filter((status) => status === 200).length > 150);
  });
});

const secretConfig = `
const no = () => false;
export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, access: { read: () => false }, fields: [] },
    { slug: 'people', access: { read: () => true }, fields: [
      { name: 'name', type: 'text' },
      { name: 'pay', type: 'number', access: { read: no } },
      { name: 'letters', type: 'join', collection: 'letters', on: 'to' },
      { name: 'all', type: 'join', collection: 'letters', on: 'all', limit: 1 },
      { name: 'open', type: 'join', collection: 'letters', on: 'maybe' },
    ] },
    { slug: 'letters', access: { read: () => true, delete: () => true }, admin: { useAsTitle: 'secret', searchFields: ['secret', 'looked', 'masked', 'inside.secret', 'plain'] }, fields: [
      { name: 'secret', type: 'text', index: true, unique: true, access: { read: no } },
      { name: 'looked', type: 'text', index: true, access: { read: ({ doc }) => doc?.plain === 'never' } },
      { name: 'masked', type: 'text', index: true, hooks: { afterRead: () => 'masked' } },
      { name: 'inside', type: 'object', access: { read: no }, fields: [{ name: 'secret', type: 'text' }, { name: 'to', type: 'relationship', relationTo: 'people' }] },
      { name: 'plain', type: 'text', index: true },
      { name: 'to', type: 'relationship', relationTo: 'people', access: { read: no } },
      { name: 'all', type: 'relationship', relationTo: 'people', hasMany: true, access: { read: ({ doc }) => doc?.plain === 'never' } },
      { name: 'maybe', type: 'relationship', relationTo: 'people', access: { read: ({ doc }) => doc?.plain === 'plain' } },
      { name: 'parts', type: 'blocks', blocks: [
        { slug: 'open', fields: [{ name: 'text', type: 'text' }, { name: 'to', type: 'relationship', relationTo: 'people' }] },
        { slug: 'shut', fields: [{ name: 'text', type: 'text', access: { read: no } }, { name: 'to', type: 'relationship', relationTo: 'people', access: { read: no } }] },
      ] },
    ] },
  ],
  globals: [{ slug: 'site', access: { read: () => true }, fields: [{ name: 'title', type: 'text' }, { name: 'to', type: 'relationship', relationTo: 'people', access: { read: no } }] }],
};`;

describe('values', () => {
  const service = useServiceHere(secretConfig);

  it('that a caller may not read change no answer to it', async () => {
    const make = async (slug: string, values: object) => {
      const { status, body } = await service.call('POST', `/api/collections/${slug}`, values);
      assert.equal(status, 201, JSON.stringify(body));
      return body.id;
    };
    const lineOf = async (word: string, pay: number, own: boolean) => {
      const person = await make('people', { name: 'one', pay });
      const to = own ? person : null;
      const hidden = { secret: word, looked: word, inside: { secret: word, to }, to, all: own ? [person] : [] };
      const parts = [
        { blockType: 'open', text: 'x' },
        { blockType: 'shut', text: word, to },
      ];
      const letter = await make('letters', { plain: 'plain', masked: word, ...hidden, parts });
      const gone = await make('letters', { plain: 'gone', masked: word, ...hidden, secret: `${word} gone`, parts });
      assert.equal((await service.call('DELETE', `/api/collections/letters/${gone}`)).status, 200);
      return { person, letter, gone };
    };
    const one = await lineOf('alpha', 1, true);
    const other = await lineOf('omega', 9, false);
    await service.call('PATCH', '/api/globals/site', { to: one.person });

    // A rule may show in some documents what it hides in others.
    await service.call('PATCH', `/api/collections/letters/${one.letter}`, { maybe: one.person });
    const { body } = await service.call('GET', `/api/collections/people/${one.person}`, undefined, anonymous);
    assert.deepEqual([body.letters, body.all, body.open], [[], [], [one.letter]]);
    await service.call('PATCH', `/api/collections/letters/${one.letter}`, { maybe: null });

    const pairs = (of: typeof one, word: string) => [
      `/api/collections/people/${of.person}`,
      `/api/collections/people/${of.person}?depth=2`,
      `/api/collections/people/${of.person}?select=letters.plain`,
      `/api/collections/people/${of.person}/references`,
      `/api/collections/letters/${of.letter}`,
      `/api/collections/letters/${of.letter}?depth=1&select=all.name,parts`,
      `/api/collections/letters?q=${word}`,
      `/api/collections/letters?q=${word}&sort=plain`,
      `/api/collections/letters/count?q=${word}`,
      `/api/search?q=${word}`,
      `/api/search?q=${word.slice(0, 3)}`,
      `/api/collections/letters?where[parts.text][equals]=${word}`,
      `/api/collections/letters/count?where[parts.to][equals]=${of.person}`,
      `/api/collections/letters?where[secret][equals]=${word}`,
      `/api/collections/letters?where[looked][like]=${word}`,
      `/api/collections/letters/count?where[inside.secret][equals]=${word}`,
      `/api/collections/people?where[pay][equals]=${of === one ? 1 : 9}`,
      '/api/collections/people?sort=pay',
      `/api/collections/letters/aggregate?groupBy=plain&where[id][equals]=${of.letter}`,
      ...[
        'secret',
        'looked',
        'masked',
        'inside.secret',
        'to',
        'to.name',
        'all',
        'all.name',
        'parts.text',
        'parts.to',
      ].flatMap((field) => [
        `/api/collections/letters/distinct?field=${field}&where[id][equals]=${of.letter}`,
        `/api/collections/letters/aggregate?groupBy=${field}&where[id][equals]=${of.letter}`,
      ]),
      `/api/collections/letters?where[id][equals]=${of.letter}&select=looked,all`,
      `/api/collections/letters/trash`,
    ];
    const [left, right] = [pairs(one, 'alpha'), pairs(other, 'omega')];
    const plain = (text: string) => {
      let result = text;
      for (const [name, id] of [...Object.entries(one), ...Object.entries(other)]) result = result.replaceAll(id, name);
      return result
        .replaceAll('alpha', 'word')
        .replaceAll('omega', 'word')
        .replaceAll('omeg', 'word')
        .replaceAll(/"(created|updated|deleted)At":"[^"]*"/g, '');
    };
    for (const [index, path] of left.entries()) {
      const [a, b] = await Promise.all(
        [path, right[index] ?? ''].map((one) => request(service.url, 'GET', one, anonymous)),
      );
      const [x, y] = [a, b].map((answer) => plain(JSON.stringify([answer?.status, answer?.body])));
      assert.equal(x, y, path);
    }
  });
});
