import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import type { CallOptions } from '../helpers/service.ts';

const config = `
const looks = ({ doc }) => doc === null || doc.views === null || doc.views < 5;
const no = () => false;
export default {
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    { slug: 'people', fields: [{ name: 'name', type: 'text' }, { name: 'age', type: 'number' }], access: { read: ({ user }) => (user ? { age: { less_than: 50 } } : false) } },
    {
      slug: 'posts',
      fields: [
        { name: 'status', type: 'select', options: ['draft', 'live'], index: true },
        { name: 'title', type: 'text' },
        { name: 'views', type: 'number', index: true },
        { name: 'isPinned', type: 'boolean' },
        { name: 'publishedAt', type: 'datetime', index: true },
        { name: 'day', type: 'date' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b', 'c'] },
        { name: 'author', type: 'relationship', relationTo: 'people' },
        { name: 'readers', type: 'relationship', relationTo: 'people', hasMany: true },
        { name: 'seo', type: 'object', fields: [{ name: 'score', type: 'number' }] },
        { name: 'links', type: 'array', fields: [{ name: 'kind', type: 'text' }, { name: 'weight', type: 'number' }] },
        { name: 'body', type: 'json' },
        { name: 'secret', type: 'text', access: { read: no } },
        { name: 'shy', type: 'text', access: { read: looks } },
        { name: 'made', type: 'text', hooks: { afterRead: () => 'x' } },
      ],
    },
    { slug: 'looked', fields: [{ name: 'views', type: 'number' }], access: { read: looks, create: () => true } },
    { slug: 'hooked', fields: [{ name: 'title', type: 'text' }], hooks: { afterRead: () => {} } },
    { slug: 'shut', fields: [], access: { read: no } },
    { slug: 'built', fields: [{ name: 'parts', type: 'blocks', blocks: [
      { slug: 'quote', fields: [{ name: 'text', type: 'text' }, { name: 'stars', type: 'number' }] },
      { slug: 'image', fields: [{ name: 'text', type: 'text' }] },
    ] }] },
    { slug: 'kept', history: 'public', fields: [{ name: 'kind', type: 'text' }] },
  ],
};`;

type Post = { [field: string]: unknown };

describe('Groups of documents', () => {
  const service = useServiceHere(config);
  const posts = '/api/collections/posts';
  let as: CallOptions;

  async function groups(query: string, options?: CallOptions, path = posts) {
    const { status, body } = await service.call('GET', `${path}/aggregate${query}`, undefined, options);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  }

  async function problem(query: string, options?: CallOptions, path = posts) {
    const { status, body } = await service.call('GET', `${path}${query}`, undefined, options);
    return [
      status,
      ...(body.errors ?? []).map(({ field, message }: { field: string; message: string }) => `${field} | ${message}`),
    ];
  }

  async function create(slug: string, values: object): Promise<string> {
    const { status, body } = await service.call('POST', `/api/collections/${slug}`, values);
    assert.equal(status, 201, JSON.stringify(body));
    return body.id;
  }

  let people: string[] = [];

  before(async () => {
    const password = 'correct horse battery';
    await service.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    as = (await loggedIn(service, 'users', 'ada@example.org', password)).as;
    people = [await create('people', { name: 'Ada', age: 36 }), await create('people', { name: 'Old', age: 80 })];
    await create('posts', {
      status: 'draft',
      title: 'One',
      views: 1,
      isPinned: true,
      publishedAt: '2026-11-23T23:30:00-01:00',
      day: '2026-02-03',
      tags: ['a', 'b'],
      author: people[0],
      readers: people,
      seo: { score: 2 },
      links: [
        { kind: 'x', weight: 1 },
        { kind: 'y', weight: 2 },
      ],
    });
    await create('posts', {
      status: 'live',
      title: 'two',
      views: 2.5,
      isPinned: false,
      publishedAt: '2026-11-01T00:00:00Z',
      day: '2026-02-03',
      tags: ['b'],
      author: people[1],
      links: [{ kind: 'x', weight: 3 }],
    });
    await create('posts', { status: 'live', views: 4 });
  });

  it('are counted, the largest first', async () => {
    assert.deepEqual(await groups('?groupBy=status'), {
      groups: [
        { key: { status: 'live' }, count: 2 },
        { key: { status: 'draft' }, count: 1 },
      ],
      total: 2,
    });
    assert.deepEqual(await groups(''), { groups: [{ key: {}, count: 3 }], total: 1 });
    const none = await groups('?where[title][equals]=none&sum=views&min=publishedAt');
    assert.deepEqual(none.groups, [{ key: {}, count: 0, sum: { views: null }, min: { publishedAt: null } }]);
  });

  it('have sums, means, and the least and the greatest, by the paths that were asked for', async () => {
    const { groups: all } = await groups(
      '?groupBy=status&sum=views,seo.score&avg=views&min=views,day&max=publishedAt&sort=status',
    );
    assert.deepEqual(all, [
      {
        key: { status: 'draft' },
        count: 1,
        sum: { views: 1, 'seo.score': 2 },
        avg: { views: 1 },
        min: { views: 1, day: '2026-02-03' },
        max: { publishedAt: '2026-11-24T00:30:00.000Z' },
      },
      {
        key: { status: 'live' },
        count: 2,
        sum: { views: 6.5, 'seo.score': null },
        avg: { views: 3.25 },
        min: { views: 2.5, day: '2026-02-03' },
        max: { publishedAt: '2026-11-01T00:00:00.000Z' },
      },
    ]);
  });

  it('are by the parts of times too, in UTC', async () => {
    const { groups: months } = await groups('?groupBy=publishedAt.month,day.year');
    assert.deepEqual(months, [
      { key: { 'publishedAt.month': '2026-11', 'day.year': '2026' }, count: 2 },
      { key: { 'publishedAt.month': null, 'day.year': null }, count: 1 },
    ]);
    const days = await groups('?groupBy=publishedAt.day&sort=-publishedAt.day');
    assert.deepEqual(
      days.groups.map(({ key }: { key: object }) => Object.values(key)[0]),
      ['2026-11-24', '2026-11-01', null],
    );
    const [made] = (await groups('?groupBy=createdAt.day&max=createdAt')).groups;
    assert.equal(made.key['createdAt.day'], new Date().toISOString().slice(0, 10));
    assert.match(made.max.createdAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  });

  it('count a document once for each item of a list, and the items of one list together', async () => {
    const { groups: tags } = await groups('?groupBy=tags&sort=tags');
    assert.deepEqual(
      tags.map(({ key, count }: { key: { tags: string }; count: number }) => [key.tags, count]),
      [
        ['a', 1],
        ['b', 2],
        [null, 1],
      ],
    );
    const { groups: links } = await groups('?groupBy=links.kind,links.weight&sort=links.kind,links.weight');
    assert.deepEqual(
      links.map(({ key, count }: { key: object; count: number }) => [...Object.values(key), count]),
      [
        ['x', 1, 1],
        ['x', 3, 1],
        ['y', 2, 1],
        [null, null, 1],
      ],
    );
  });

  it('are about the same item of blocks, whichever of its types have the field', async () => {
    await create('built', {
      parts: [
        { blockType: 'quote', text: 'a', stars: 5 },
        { blockType: 'image', text: 'b' },
      ],
    });
    await create('built', { parts: [] });
    const built = async (groupBy: string) => {
      const { groups: found } = await groups(`?groupBy=${groupBy}&sort=${groupBy}`, {}, '/api/collections/built');
      return found.map(({ key, count }: { key: object; count: number }) => [...Object.values(key), count]);
    };
    assert.deepEqual(await built('parts.blockType,parts.text'), [
      ['image', 'b', 1],
      ['quote', 'a', 1],
      [null, null, 1],
    ]);
    assert.deepEqual(await built('parts.text,parts.stars'), [
      ['a', 5, 1],
      ['b', null, 1],
      [null, null, 1],
    ]);
    assert.deepEqual(await built('parts.stars'), [
      [5, 1],
      [null, 2],
    ]);
  });

  it('go through relationships as far as the caller may read what is related', async () => {
    const names = async (options?: CallOptions) =>
      (await groups('?groupBy=author.name&sort=author.name', options)).groups.map(
        ({ key, count }: { key: object; count: number }) => [...Object.values(key), count],
      );
    assert.deepEqual(await names(), [
      ['Ada', 1],
      ['Old', 1],
      [null, 1],
    ]);
    assert.deepEqual(await names(as), [
      ['Ada', 1],
      [null, 2],
    ]);
    const readers = await groups('?groupBy=readers.name&sort=readers.name', as);
    assert.deepEqual(
      readers.groups.map(({ key, count }: { key: object; count: number }) => [...Object.values(key), count]),
      [
        ['Ada', 1],
        [null, 3],
      ],
    );
    const ids = await groups('?groupBy=readers');
    assert.equal(ids.total, 3);
    const both = await groups('?groupBy=readers,readers.name&sort=readers.name&where[readers.name][exists]=true');
    assert.deepEqual(
      both.groups.map(({ key, count }: { key: object; count: number }) => [...Object.values(key), count]),
      [
        [people[0], 'Ada', 1],
        [people[1], 'Old', 1],
      ],
    );
  });

  it('are limited, and counted in all', async () => {
    const { groups: first, total } = await groups('?groupBy=id&limit=2');
    assert.deepEqual([first.length, total], [2, 3]);
    assert.equal((await groups('?groupBy=id&limit=100000')).groups.length, 3);
  });

  it('are of the documents that the caller may see, also by a rule that looks at each', async () => {
    for (const views of [1, 2, 9]) await create('looked', { views });
    const looked = '/api/collections/looked';
    assert.equal((await groups('', {}, looked)).groups[0].count, 3);
    assert.deepEqual((await groups('?sum=views', as, looked)).groups, [{ key: {}, count: 2, sum: { views: 3 } }]);
    assert.deepEqual((await groups('?where[views][equals]=2', as, looked)).groups, [{ key: {}, count: 1 }]);
    assert.equal((await service.call('GET', '/api/collections/shut/aggregate', undefined, as)).status, 403);
    assert.equal((await service.call('GET', `${posts}/aggregate`, undefined, anonymous)).status, 401);
  });

  it('are refused by a field that the caller may not read in each document, or that a hook makes', async () => {
    for (const field of ['secret', 'shy', 'made']) {
      const [status, message] = await problem(`/aggregate?groupBy=${field}`, as);
      assert.equal(status, 400);
      assert.match(String(message), new RegExp(`^groupBy \\| groupBy: "${field}" is not a field`));
      assert.equal((await problem(`/distinct?field=${field}`, as))[0], 400);
    }
    assert.equal((await groups('?groupBy=secret')).total, 1);
    assert.equal((await problem('/aggregate?groupBy=made'))[0], 400);
    assert.equal((await problem('/distinct?field=title', {}, '/api/collections/hooked'))[0], 400);
    assert.equal((await groups('', {}, '/api/collections/hooked')).groups[0].count, 0);
  });

  it('are of fields with rules too, if another thread groups them', async () => {
    const { groups: found } = await groups('?groupBy=tags,links.kind,secret&sort=tags,links.kind');
    assert.deepEqual(found[0], { key: { tags: 'a', 'links.kind': 'x', secret: null }, count: 1 });
  });

  it('say what is wrong with a request', async () => {
    assert.deepEqual(await problem('/aggregate?groupBy=statu'), [
      400,
      'groupBy | groupBy: "statu" is not a field to filter or sort by; did you mean "status"?; allowed: "id", "createdAt", "updatedAt", "status", "title", "views", "isPinned", "publishedAt", "day", "tags", "author", "readers", "seo", "links", "body", "secret", "shy"',
    ]);
    assert.deepEqual(await problem('/aggregate?groupBy=publishedAt.mont'), [
      400,
      'groupBy | groupBy: "mont" is not a part of "publishedAt"; did you mean "month"?; allowed: "year", "month", "day"',
    ]);
    assert.deepEqual(await problem('/aggregate?groupBy=a,b,c,d'), [
      400,
      'groupBy | groupBy must have at most 3 paths, got 4',
    ]);
    assert.deepEqual(await problem('/aggregate?groupBy=status,status'), [
      400,
      'groupBy | groupBy names "status" twice',
    ]);
    assert.deepEqual(await problem('/aggregate?groupBy=body'), [
      400,
      'groupBy | groupBy: "body" is of type json, which has no value to group by',
    ]);
    assert.deepEqual(await problem('/aggregate?sum=title,day,links.weight&min=status'), [
      400,
      'sum | sum: "title" is of type text; the types that it takes: "number"',
      'sum | sum: "day" is of type date; the types that it takes: "number"',
      'sum | sum: "links.weight" has no single value',
      'min | min: "status" is of type select; the types that it takes: "number", "date", "datetime", "time"',
    ]);
    assert.deepEqual(await problem('/aggregate?groupBy=status&sum=views&sort=-sum.view'), [
      400,
      'sort | sort: "sum.view" is not something to sort groups by; did you mean "sum.views"?; allowed: "count", "sum.views", "status"',
    ]);
    assert.deepEqual(await problem('/aggregate?page=2&where[statu][equals]=x&limit=0'), [
      400,
      'page | page is not a query parameter; allowed: "groupBy", "sum", "min", "max", "avg", "where", "sort", "limit", "asOf"',
      'limit | limit must be one whole number from 1, got "0"',
      'where[statu] | where[statu]: "statu" is not a field to filter or sort by; did you mean "status"?; allowed: "id", "createdAt", "updatedAt", "status", "title", "views", "isPinned", "publishedAt", "day", "tags", "author", "readers", "seo", "links", "body", "secret", "shy"',
    ]);
    assert.equal((await problem('/aggregate?groupBy='))[0], 400);
    assert.equal((await problem('/aggregate?groupBy=__proto__'))[0], 400);
    assert.deepEqual(await problem('/distinct'), [
      400,
      'field | field must be given once and not be empty, it is missing',
    ]);
    assert.equal((await problem('/distinct?field=title&field=status'))[0], 400);
  });

  it('tell the values of one field, the most frequent first', async () => {
    const { body } = await service.call('GET', `${posts}/distinct?field=isPinned`);
    assert.deepEqual(body, {
      values: [
        { value: false, count: 1 },
        { value: true, count: 1 },
        { value: null, count: 1 },
      ],
      total: 3,
    });
    const { body: live } = await service.call(
      'GET',
      `${posts}/distinct?field=status&where[views][greater_than]=2&limit=1`,
    );
    assert.deepEqual(live, { values: [{ value: 'live', count: 2 }], total: 1 });
  });

  it('are as of a moment, with what was deleted since', async () => {
    const kept = '/api/collections/kept';
    const ids = [await create('kept', { kind: 'x' }), await create('kept', { kind: 'y' })];
    const { headers } = await service.call('GET', `${kept}?asOf=${new Date().toISOString()}`);
    const moment = headers.get('annals-position') ?? assert.fail('no position');
    await service.call('DELETE', `${kept}/${ids[0]}`);
    await service.call('PATCH', `${kept}/${ids[1]}`, { kind: 'z' });
    const kinds = async (query: string) =>
      (await groups(`?groupBy=kind&sort=kind${query}`, {}, kept)).groups.map(
        ({ key }: { key: { kind: string } }) => key.kind,
      );
    assert.deepEqual(await kinds(''), ['z']);
    assert.deepEqual(await kinds(`&asOf=${moment}`), ['x', 'y']);
  });
});

describe('Groups of any documents', () => {
  const service = useServiceHere(config);

  it('are those of a simple model', async () => {
    const nullable = <T>(values: fc.Arbitrary<T>) => fc.option(values, { nil: null });
    const names = new Map<string, string>();
    for (const name of ['Ada', 'Bea', 'Bea']) {
      const { body } = await service.call('POST', '/api/collections/people', { name });
      names.set(body.id, name);
    }
    const post = fc.record({
      status: nullable(fc.constantFrom('draft', 'live')),
      title: nullable(fc.constantFrom('a', 'A', 'ä', 'z')),
      views: nullable(fc.constantFrom(0, 1, 2.5, -3)),
      isPinned: nullable(fc.boolean()),
      day: nullable(fc.constantFrom('2025-12-31', '2026-01-01', '2026-01-02')),
      tags: fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
      links: fc.array(fc.record({ kind: nullable(fc.constantFrom('x', 'y')), weight: fc.constantFrom(1, 2) }), {
        maxLength: 3,
      }),
      readers: fc.uniqueArray(fc.constantFrom(...names.keys())),
    });
    const made: Post[] = [];
    for (const values of fc.sample(post, 40)) {
      const { status, body } = await service.call('POST', '/api/collections/posts', values);
      assert.equal(status, 201, JSON.stringify(body));
      made.push(values);
    }
    const paths = ['status', 'title', 'views', 'isPinned', 'day', 'day.month', 'tags'];
    const inLists = ['links.kind', 'links.weight', 'readers', 'readers.name'];
    const asked = fc.record({
      by: fc.uniqueArray(fc.constantFrom(...paths, ...inLists), { maxLength: 3 }),
      least: nullable(fc.constantFrom(-3, 1)),
    });
    await fc.assert(
      fc.asyncProperty(asked, async ({ by, least }) => {
        const where = least === null ? '' : `&where[views][greater_than_equal]=${least}`;
        const groupBy = by.length > 0 ? `&groupBy=${by.join(',')}` : '';
        const { status, body } = await service.call(
          'GET',
          `/api/collections/posts/aggregate?sum=views&max=views&limit=1000${groupBy}${where}`,
        );
        assert.equal(status, 200, JSON.stringify(body));
        const wanted = groupsIn(
          made.filter(({ views }) => least === null || (views !== null && Number(views) >= least)),
          by,
          names,
        );
        const found = body.groups.map((group: { key: object; count: number; sum: Post; max: Post }) => [
          JSON.stringify(Object.values(group.key)),
          [group.count, group.sum.views, group.max.views],
        ]);
        assert.deepEqual(new Map(found), wanted);
        assert.equal(body.total, wanted.size);
      }),
      { numRuns: runsOf(40) },
    );
  });
});

/** The groups by their keys, as JSON: how many, the sum and the greatest of `views`. */
function groupsIn(
  documents: readonly Post[],
  by: readonly string[],
  names: ReadonlyMap<string, string>,
): Map<string, unknown[]> {
  const groups = new Map<string, (number | null)[]>(by.length === 0 ? [['[]', []]] : []);
  for (const document of documents) {
    let items: Post[] = [{}];
    for (const list of new Set(by.map((path) => path.split('.')[0] as string)))
      items = items.flatMap((one) => itemsOf(document[list]).map((item) => ({ ...one, [list]: item })));
    const keys = items.map((chosen) => by.map((path) => valueAt(chosen, path, names)));
    for (const key of keys) {
      const text = JSON.stringify(key);
      groups.set(text, [...(groups.get(text) ?? []), document.views as number | null]);
    }
  }
  return new Map(
    [...groups].map(([key, views]) => {
      const numbers = views.filter((one) => one !== null);
      const sum = numbers.reduce((all, one) => all + one, 0);
      return [key, [views.length, numbers.length > 0 ? sum : null, numbers.length > 0 ? Math.max(...numbers) : null]];
    }),
  );
}

/** The items of a list, null for an empty one; another value is its own only item. */
function itemsOf(value: unknown): unknown[] {
  if (!Array.isArray(value)) return [value];
  return value.length > 0 ? value : [null];
}

/** The value of a path in a document with one item in the place of each list. */
function valueAt(chosen: Post, path: string, names: ReadonlyMap<string, string>): unknown {
  if (path === 'day.month') return chosen.day === null ? null : String(chosen.day).slice(0, 7);
  const [list = '', member] = path.split('.');
  if (!member) return chosen[list];
  if (list === 'readers') return names.get(chosen.readers as string) ?? null;
  return (chosen[list] as Post | null)?.[member] ?? null;
}
