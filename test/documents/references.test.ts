import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';

const config = `
const no = () => false;
const small = ({ doc }) => doc !== null && doc.rank < 3;
const to = { type: 'relationship', relationTo: 'people' };
export default {
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    { slug: 'people', fields: [{ name: 'name', type: 'text' }, { name: 'boss', ...to }], access: { read: ({ user }) => (user ? { name: { not_equals: 'Hidden' } } : false) } },
    {
      slug: 'posts',
      admin: { useAsTitle: 'label' },
      fields: [
        { name: 'title', type: 'text', access: { read: no } },
        { name: 'label', type: 'text' },
        { name: 'rank', type: 'number' },
        { name: 'author', ...to },
        { name: 'readers', ...to, hasMany: true },
        { name: 'closed', ...to, access: { read: no } },
        { name: 'shy', ...to, hasMany: true, access: { read: small } },
        { name: 'seo', type: 'object', fields: [{ name: 'by', ...to }] },
        { name: 'links', type: 'array', fields: [{ name: 'to', ...to }, { name: 'also', type: 'array', fields: [{ name: 'all', ...to, hasMany: true }] }] },
        { name: 'parts', type: 'blocks', blocks: [
          { slug: 'card', fields: [{ name: 'who', ...to }] },
          { slug: 'quote', fields: [{ name: 'who', type: 'relationship', relationTo: 'posts' }] },
          { slug: 'list', fields: [{ name: 'who', ...to, hasMany: true, access: { read: small } }] },
        ] },
        { name: 'body', type: 'json' },
      ],
      access: { read: ({ user }) => (user ? { rank: { less_than: 4 } } : true) },
    },
    { slug: 'looked', fields: [{ name: 'rank', type: 'number' }, { name: 'to', ...to }], access: { read: small } },
    { slug: 'shut', fields: [{ name: 'to', ...to }], access: { read: no } },
    { slug: 'kept', history: 'public', fields: [{ name: 'name', type: 'text' }, { name: 'next', type: 'relationship', relationTo: 'kept' }] },
  ],
  globals: [
    { slug: 'site', fields: [{ name: 'motto', type: 'text' }, { name: 'team', ...to, hasMany: true }] },
    { slug: 'hidden', fields: [{ name: 'one', ...to }], access: { read: no } },
  ],
};`;

type Reference = { collection?: string; global?: string; id: string | null; field: string; title: string };

describe('The references to a document', () => {
  const service = useServiceHere(config);
  let as: CallOptions;
  const people: string[] = [];

  async function create(slug: string, values: object): Promise<string> {
    const { status, body } = await service.call('POST', `/api/collections/${slug}`, values);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  const pathOf = (id: string, query = '', slug = 'people') => `/api/collections/${slug}/${id}/references${query}`;

  async function referencesTo(id: string, query?: string, options?: CallOptions, slug?: string) {
    const { status, body } = await service.call('GET', pathOf(id, query, slug), undefined, options);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  before(async () => {
    const password = 'correct horse battery';
    await service.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    as = (await loggedIn(service, 'users', 'ada@example.org', password)).as;
    for (const name of ['Ada', 'Bea', 'Hidden']) people.push(await create('people', { name }));
  });

  it('name the document or global, the path of the field and a title that the caller may see', async () => {
    const name = 'Cleo';
    const id = await create('people', { name });
    const post = await create('posts', {
      title: 'secret',
      label: 'A post',
      rank: 1,
      author: id,
      parts: [{ blockType: 'card', who: id }],
      body: { author: id },
    });
    const bare = await create('posts', { title: 'secret', links: [{ to: id }], rank: 1 });
    await service.call('PATCH', '/api/globals/site', { motto: 'Ho', team: [id] });
    const { docs, ...page } = await referencesTo(id, '', as);
    assert.deepEqual(docs, [
      { collection: 'posts', id: post, field: 'author', title: 'A post' },
      { collection: 'posts', id: bare, field: 'links.to', title: bare },
      { collection: 'posts', id: post, field: 'parts.who', title: 'A post' },
      { global: 'site', id: null, field: 'team', title: 'Ho' },
    ]);
    assert.deepEqual(page, {
      total: 4,
      limit: 10,
      page: 1,
      totalPages: 1,
      hasNextPage: false,
      hasPrevPage: false,
      nextPage: null,
      prevPage: null,
    });
    await service.call('PATCH', '/api/globals/site', { team: [] });
  });

  it('are for the readers of the document', async () => {
    const [ada = '', , hidden = ''] = people;
    const statusOf = async (id: string, options?: CallOptions) => {
      return (await service.call('GET', pathOf(id), undefined, options)).status;
    };
    assert.equal(await statusOf(ada, anonymous), 401);
    assert.equal(await statusOf(ada, as), 200);
    assert.equal(await statusOf(hidden, as), 403);
    assert.equal(await statusOf(randomUUID(), as), 404);
  });

  it('refuse other parameters than those of a page', async () => {
    const { status, body } = await service.call('GET', pathOf(people[0] ?? '', '?limt=1&page=0'));
    assert.equal(status, 400);
    assert.deepEqual(
      body.errors.map(({ message }: { message: string }) => message),
      [
        'limt is not a query parameter; did you mean "limit"?; allowed: "limit", "page", "asOf"',
        'page must be one whole number from 1, got "0"',
      ],
    );
  });

  it('are as of then with asOf', async () => {
    const target = await create('kept', { name: 'One' });
    const other = await create('kept', { name: 'Two', next: target });
    const { body } = await service.call('GET', `/api/audit/documents/kept/${other}`);
    await service.call('PATCH', `/api/collections/kept/${other}`, { next: null, name: 'Too' });
    assert.equal((await referencesTo(target, '', as, 'kept')).total, 0);
    const then = await referencesTo(target, `?asOf=${body.document.position}`, as, 'kept');
    assert.deepEqual(then.docs, [{ collection: 'kept', id: other, field: 'next', title: 'Two' }]);
    const before = await service.call('GET', pathOf(target, '?asOf=1', 'kept'), undefined, as);
    assert.equal(before.status, 404);
  });

  it('are those that a look at every document finds', async () => {
    const [ada = '', bea = ''] = people;
    const one = fc.constantFrom(ada, bea, null);
    const many = fc.uniqueArray(fc.constantFrom(ada, bea));
    const post = fc.record({
      label: fc.constantFrom('x', 'y'),
      rank: fc.integer({ min: 0, max: 5 }),
      author: one,
      readers: many,
      closed: one,
      shy: many,
      seo: fc.record({ by: one }),
      links: fc.array(fc.record({ to: one, also: fc.array(fc.record({ all: many }), { maxLength: 2 }) }), {
        maxLength: 2,
      }),
      parts: fc.array(
        fc.oneof(
          fc.record({ blockType: fc.constant('card'), who: one }),
          fc.record({ blockType: fc.constant('list'), who: many }),
        ),
        { maxLength: 2 },
      ),
    });
    const looked = fc.record({ rank: fc.integer({ min: 0, max: 5 }), to: one });
    const made: { slug: string; id: string; values: { rank: number } }[] = [];
    for (const values of fc.sample(post, 15)) made.push({ slug: 'posts', id: await create('posts', values), values });
    for (const values of fc.sample(looked, 10))
      made.push({ slug: 'looked', id: await create('looked', values), values });
    for (const values of fc.sample(fc.record({ rank: fc.constant(0), to: one }), 3)) {
      made.push({ slug: 'shut', id: await create('shut', { to: values.to }), values });
    }
    await service.call('PATCH', '/api/globals/site', { team: [ada] });
    await service.call('PATCH', '/api/globals/hidden', { one: ada });

    /** The names of the references, by the rules of the configuration. */
    function expected(to: string, isUser: boolean): string[] {
      const names = made.flatMap(({ slug, id, values }) => {
        const isSmall = values.rank < 3;
        if (isUser && (slug === 'shut' || !(slug === 'posts' ? values.rank < 4 : isSmall))) return [];
        const paths = [...pathsTo(values, to)].filter((path) => {
          return !isUser || !(path === 'closed' || (path === 'shy' && !isSmall) || (path === 'list' && !isSmall));
        });
        return [...new Set(paths.map((path) => (path === 'list' ? 'parts.who' : path)))].map((path) => {
          return `${slug} ${id} ${path}`;
        });
      });
      const globals = to === ada ? ['site null team', ...(isUser ? [] : ['hidden null one'])] : [];
      return [...names, ...globals].sort();
    }

    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(ada, bea),
        fc.boolean(),
        fc.integer({ min: 5, max: 100 }),
        async (to, isUser, limit) => {
          const found: string[] = [];
          const wanted = expected(to, isUser);
          for (let page: number | null = 1; page !== null; ) {
            const answer = await referencesTo(to, `?limit=${limit}&page=${page}`, isUser ? as : undefined);
            assert.equal(answer.total, wanted.length);
            found.push(
              ...answer.docs.map(
                ({ collection, global, id, field }: Reference) => `${collection ?? global} ${id} ${field}`,
              ),
            );
            page = answer.nextPage;
          }
          assert.deepEqual(found.sort(), wanted);
        },
      ),
      { numRuns: 8 },
    );
  });
});

/** The paths of values that are an id, without places in lists; in a block of the type `list` only the name of that. */
function* pathsTo(value: unknown, id: string, path = ''): Generator<string> {
  if (value === id) yield path;
  else if (Array.isArray(value)) for (const item of value) yield* pathsTo(item, id, path);
  else if (typeof value === 'object' && value !== null) {
    const isList = 'blockType' in value && value.blockType === 'list';
    for (const [name, inside] of Object.entries(value)) {
      const below = path === '' ? name : `${path}.${name}`;
      yield* pathsTo(inside, id, isList ? 'list' : below);
    }
  }
}
