import assert from 'node:assert/strict';
import { it } from 'node:test';
import { anonymous, bearer, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';

/** Of each collection a part is for everybody; `closed` is for nobody but trusted code. */
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
    '?after=&limit=2&sort=title',
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
    '/api/audit/events',
  ];
}

it('documents that a caller may not read change no answer to it', async () => {
  const credentials = { email: 'eve@example.org', password: 'correct horse battery' };
  await created('users', credentials);
  const user = await loggedIn(service, 'users', credentials.email, credentials.password);
  const scopes = [{ collections: ['people'], operations: ['read', 'delete'] }];
  const { body: key } = await service.call('POST', '/api/keys', { name: 'a test', scopes });
  const callers: { [name: string]: CallOptions } = { user: bearer(user.token), anonymous, key: { key: key.secret } };

  const open: { [slug: string]: string } = { people: await created('people', { title: 'open word' }) };
  const pointing = { n: 1, tags: [{ tag: 'a', by: open.people }], author: open.people, readers: [open.people] };
  for (const slug of ['papers', 'rows']) {
    for (const count of [1, 2, 3]) await created(slug, { title: `open word ${count}`, code: `${count}`, ...pointing });
    const gone = await created(slug, { title: 'open, gone', ...pointing });
    assert.equal((await service.call('DELETE', `/api/collections/${slug}/${gone}`)).status, 200);
  }

  async function answers(): Promise<Map<string, unknown>> {
    const found = new Map<string, unknown>();
    for (const [name, as] of Object.entries(callers)) {
      for (const path of paths(open)) {
        const { status, headers, body } = await service.call('GET', path, undefined, as);
        // A cursor is another each time.
        if (body?.nextCursor) body.nextCursor = 'one';
        found.set(`${name} ${path}`, { status, etag: headers.get('etag'), body });
      }
    }
    return found;
  }

  const before = await answers();
  const hidden = await created('people', { title: 'hidden word' });
  for (const slug of ['papers', 'rows', 'closed']) {
    for (const [title, ...rest] of [
      ['hidden word', 'x'],
      ['word hidden', 'y'],
      ['hidden, gone', 'z', 'gone'],
    ] as const) {
      const id = await created(slug, { title, code: rest[0], ...pointing, readers: [hidden, open.people], n: 100 });
      if (rest.length > 1) assert.equal((await service.call('DELETE', `/api/collections/${slug}/${id}`)).status, 200);
    }
  }
  const after = await answers();
  // A key reads all documents of the collections in its scopes, and nothing of others.
  const isOpenTo = (name: string) => /^key .*\/(people|search|counts|trash)/.test(name);
  for (const [name, answer] of before) if (!isOpenTo(name)) assert.deepEqual(after.get(name), answer, name);
  const statuses = [...before.values()].map((answer) => (answer as { status: number }).status);
  assert.ok(statuses.filter((status) => status === 200).length > 150);
});
