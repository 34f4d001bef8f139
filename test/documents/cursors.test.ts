import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous } from '../helpers/accounts.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runsOf } from '../helpers/runs.ts';
import type { CallOptions } from '../helpers/service.ts';
import { errorsOf } from '../helpers/shared.ts';

/** The readers of things: all, those that are open by a condition, or by a look at each. */
const kinds = ['free', 'where', 'row'] as const;

const config = `
const rules = { free: () => true, where: () => ({ isOpen: { equals: true } }), row: ({ doc }) => doc.isOpen === true };
const fields = [
  { name: 'word', type: 'text', index: true }, { name: 'plain', type: 'text' }, { name: 'body', type: 'textarea' },
  { name: 'n', type: 'number', index: true }, { name: 'm', type: 'number' },
  { name: 'flag', type: 'boolean' }, { name: 'day', type: 'date' }, { name: 'isOpen', type: 'boolean' },
  { name: 'box', type: 'object', fields: [{ name: 'n', type: 'number' }] },
  { name: 'owner', type: 'relationship', relationTo: 'owners' },
];
export default {
  audit: ({ apiKey }) => apiKey !== null,
  collections: [
    { slug: 'owners', history: 'public', access: { read: () => true }, fields: [{ name: 'name', type: 'text' }] },
    { slug: 'closed', access: { read: () => false }, fields: [] },
    ...Object.entries(rules).map(([slug, read]) => ({ slug, history: 'public', access: { read }, fields })),
  ],
};`;
const service = useServiceHere(config);

const datedConfig = `
export default {
  audit: ({ apiKey }) => apiKey !== null,
  collections: [{
    slug: 'notes', history: 'public',
    access: { read: ({ doc }) => doc.isOpen === true && { day: { less_than: '2024-03-01' } } },
    fields: [{ name: 'n', type: 'number' }, { name: 'day', type: 'date' }, { name: 'isOpen', type: 'boolean' }],
  }],
};`;

// biome-ignore lint/suspicious/noExplicitAny: the answers are whatever the service says
type Doc = any;

async function call(method: string, path: string, body?: object, options?: CallOptions): Promise<Doc> {
  const answer = await service.call(method, `/api/${path}`, body, options);
  assert.ok(answer.status < 300, `${method} ${path} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
const read = (path: string, options: CallOptions = anonymous) => call('GET', path, undefined, options);
const list = (slug: string, query: string, options?: CallOptions) => read(`collections/${slug}?${query}`, options);

/** All answers of a walk; `between` runs between two of them. */
async function walk(
  slug: string,
  query: string,
  { limit = 3, between = async () => {} }: { limit?: number; between?: () => Promise<unknown> } = {},
  options?: CallOptions,
) {
  const pages: Doc[] = [];
  for (let after: string | null = ''; after !== null; ) {
    const page: Doc = await list(slug, `${query}&limit=${limit}&next=${after}`, options);
    pages.push(page);
    after = page.next;
    assert.ok(pages.length < 200, query);
    await between();
  }
  return { pages, docs: pages.flatMap(({ docs }) => docs) };
}

/** Documents of each kind, by their ids, as a model keeps them. */
const world: Record<string, Map<string, Doc>> = { free: new Map(), where: new Map(), row: new Map() };
const owners: Doc[] = [];
const word = fc.option(fc.constantFrom('a', 'A', 'b', 'ß', 'SS', 'Z', '', 'é', '😀', 'long '.repeat(30)), {
  nil: null,
});
const small = fc.option(fc.constantFrom(0, 1, -1, 0.1, 0.30000000000000004, 5e-324, 2 ** 53 - 1), { nil: null });
const values = fc.record({
  word,
  plain: word,
  body: word,
  n: small,
  m: small,
  flag: fc.option(fc.boolean(), { nil: null }),
  day: fc.option(fc.constantFrom('2024-02-29', '2020-01-01'), { nil: null }),
  isOpen: fc.boolean(),
  box: fc.option(fc.record({ n: small }), { nil: null }),
  owner: fc.option(fc.nat(2), { nil: null }),
});
type Values = typeof values extends fc.Arbitrary<infer T> ? T : never;

async function make(slug: string, { owner, ...rest }: Values): Promise<Doc> {
  const made = await call('POST', `collections/${slug}`, { ...rest, owner: owner === null ? null : owners[owner].id });
  world[slug]?.set(made.id, made);
  return made;
}

before(async () => {
  for (const name of ['Ada', 'bob', null]) owners.push(await call('POST', 'collections/owners', { name }));
  const some = fc.sample(values, { numRuns: 45, seed: 5 });
  for (const [index, one] of some.entries()) await make(kinds[index % 3] as string, one);
});

const keys = [
  'word',
  'plain',
  'body',
  'n',
  'm',
  'flag',
  'day',
  'box.n',
  'owner',
  'owner.name',
  'createdAt',
  'updatedAt',
  'id',
];
const sort = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...keys), fc.boolean()), {
    minLength: 1,
    maxLength: 4,
    selector: ([key]) => key,
  })
  .map((some) => some.map(([key, isDescending]) => `${isDescending ? '-' : ''}${key}`).join());
const filters = [
  '',
  'where[n][exists]=true',
  'where[isOpen][equals]=true',
  'where[or][0][word][equals]=a&where[or][1][m][less_than]=1',
  'where[owner.name][like]=b',
  'where[word][equals]=none',
];
const question = fc.record({
  slug: fc.constantFrom(...kinds),
  sort,
  filter: fc.constantFrom(...filters),
  limit: fc.integer({ min: 1, max: 7 }),
  isNone: fc.boolean(),
  isKey: fc.boolean(),
  isPast: fc.boolean(),
});

describe('A walk by cursor', () => {
  it('gives each document of the pages once, in order: any sort, direction, nulls, ties, filters, rules', async () => {
    const then = await call('POST', 'collections/owners', { name: 'last' });
    const { document } = await call('GET', `audit/documents/owners/${then.id}`);
    for (const slug of kinds)
      for (const id of [...(world[slug]?.keys() ?? [])].slice(0, 3))
        await call('PATCH', `collections/${slug}/${id}`, { n: 7, word: 'Q', plain: null });
    const counts = { walked: 0, long: 0 };
    await fc.assert(
      fc.asyncProperty(question, async ({ slug, sort, filter, limit, isNone, isKey, isPast }) => {
        const options = isKey ? {} : anonymous;
        const query = `${filter}&sort=${sort}${isPast ? `&asOf=${document.position}` : ''}`;
        const whole = await list(slug, `${query}&limit=100`, options);
        const { pages, docs } = await walk(slug, `${query}${isNone ? '&count=none' : ''}`, { limit }, options);
        assert.deepEqual(docs, whole.docs, query);
        for (const [index, page] of pages.entries()) {
          const isLast = index === pages.length - 1;
          const { docs: shown, next, ...rest } = page;
          assert.equal(shown.length, isLast ? whole.total - limit * index : limit, query);
          assert.equal(next === null, isLast);
          assert.deepEqual(rest, {
            total: isNone ? null : whole.total,
            limit,
            page: null,
            totalPages: null,
            hasNextPage: !isLast,
            hasPrevPage: index > 0,
            nextPage: null,
            prevPage: null,
          });
        }
        counts.walked += 1;
        if (pages.length > 3) counts.long += 1;
      }),
      { numRuns: Number(process.env.TEST_RUNS ?? 60) },
    );
    assert.ok(counts.long > counts.walked / 10, JSON.stringify(counts));
  });

  it('is stable while others write: what matches throughout and keeps its sort values comes exactly once', async () => {
    const change = fc.record({ kind: fc.constantFrom('create', 'update', 'delete'), pick: fc.nat(), values });
    const session = fc.record({
      slug: fc.constantFrom(...kinds),
      sort,
      limit: fc.integer({ min: 1, max: 4 }),
      changes: fc.array(change, { minLength: 8, maxLength: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(session, async ({ slug, sort, limit, changes }) => {
        const { docs: before } = await list(slug, 'limit=100');
        const touched = new Set<string>();
        const left = [...changes];
        const { docs } = await walk(slug, `sort=${sort}`, {
          limit,
          between: async () => {
            const next = left.pop();
            if (!next) return;
            const victim = before[next.pick % before.length];
            if (next.kind === 'create' || !victim || before.length - touched.size < 8) {
              touched.add((await make(slug, next.values)).id);
              return;
            }
            if (touched.has(victim.id)) return;
            touched.add(victim.id);
            const { owner: _, ...rest } = next.values;
            await call(
              next.kind === 'update' ? 'PATCH' : 'DELETE',
              `collections/${slug}/${victim.id}`,
              next.kind === 'update' ? rest : undefined,
            );
          },
        });
        const seen = docs.map(({ id }: Doc) => id).filter((id: string) => !touched.has(id));
        assert.equal(new Set(seen).size, seen.length, sort);
        assert.deepEqual(
          seen.sort(),
          before
            .map(({ id }: Doc) => id)
            .filter((id: string) => !touched.has(id))
            .sort(),
          sort,
        );
      }),
      { numRuns: runsOf(15) },
    );
  });

  it('goes on as of the position that it began at, also of a date that is still today', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const count = (await list('owners', `limit=1&asOf=${today}`)).total;
    const { docs } = await walk('owners', `sort=name&asOf=${today}`, {
      limit: 1,
      between: () => call('POST', 'collections/owners', { name: 'later' }),
    });
    assert.equal(docs.length, count);
  });

  it('as of a moment gives what one page gives, under a rule that looks at the document and answers with a condition on a date', async (t) => {
    const dated = await startHere(t, datedConfig);
    const write = async (method: string, path: string, body?: object): Promise<Doc> => {
      const answer = await dated.call(method, `/api/collections/${path}`, body);
      assert.ok(answer.status < 300, JSON.stringify(answer.body));
      return answer.body;
    };
    const ids: string[] = [];
    for (const [index, day] of ['2024-01-01', '2024-02-01', '2024-02-29', '2024-03-01', '2024-04-01'].entries())
      for (const isOpen of [true, true, false]) ids.push((await write('POST', 'notes', { n: index, day, isOpen })).id);
    const { body } = await dated.call('GET', '/api/audit/events?collection=notes&limit=100');
    const then = body.docs.at(-1).header.position;
    // Until today: closed, opened, put off, brought forward, deleted, and new ones.
    await write('PATCH', `notes/${ids[0]}`, { isOpen: false });
    await write('PATCH', `notes/${ids[2]}`, { isOpen: true });
    await write('PATCH', `notes/${ids[3]}`, { day: '2024-05-01' });
    await write('PATCH', `notes/${ids[9]}`, { day: '2024-01-01' });
    await write('DELETE', `notes/${ids[4]}`);
    const seen = [1, 6, 7].map((index) => ids[index]);
    for (const asOf of [String(then), new Date().toISOString().slice(0, 10)]) {
      const page = async (query: string) => {
        const { status, body } = await dated.call(
          'GET',
          `/api/collections/notes?sort=n,id&asOf=${asOf}&${query}`,
          undefined,
          anonymous,
        );
        assert.equal(status, 200, JSON.stringify(body));
        return body;
      };
      const whole = (await page('limit=100')).docs;
      const docs: Doc[] = [];
      for (let after: string | null = ''; after !== null; ) {
        const { docs: more, next } = await page(`limit=1&next=${after}`);
        docs.push(...more);
        assert.ok(docs.length <= whole.length, asOf);
        after = next;
        // A date of today would name a later position with each page.
        await write('POST', 'notes', { n: 9, day: '2024-01-01', isOpen: true });
      }
      assert.deepEqual(docs, whole);
      if (asOf === String(then))
        assert.deepEqual(
          docs.map(({ id }) => id),
          seen,
        );
      else assert.ok(docs.length > seen.length);
    }
  });

  it('may change its limit and its count on the way', async () => {
    const first = await list('owners', 'sort=id&limit=1&next=');
    const rest = await list('owners', `sort=id&limit=100&count=none&next=${first.next}`);
    assert.deepEqual([...first.docs, ...rest.docs], (await list('owners', 'sort=id&limit=100')).docs);
  });

  it('of an empty list ends at once', async () => {
    const answer = await list('free', 'where[word][equals]=nowhere&next=');
    assert.deepEqual(answer, {
      docs: [],
      total: 0,
      limit: 10,
      page: null,
      totalPages: null,
      hasNextPage: false,
      hasPrevPage: false,
      nextPage: null,
      prevPage: null,
      next: null,
    });
  });

  it('sorts by long texts that fit an address, and answers 400 on sort if they do not', async () => {
    for (const length of [2000, 2001, 6000])
      await call('POST', 'collections/where', { plain: 'x'.repeat(length), isOpen: true, day: '1999-01-01' });
    const answer = await service.call(
      'GET',
      '/api/collections/where?where[day][equals]=1999-01-01&sort=plain&limit=2&next=',
    );
    assert.equal(answer.status, 200);
    const refused = await service.call(
      'GET',
      '/api/collections/where?where[day][equals]=1999-01-01&sort=-plain&limit=1&next=',
    );
    assert.match(
      errorsOf(refused).sort ?? '',
      /^sort leads through texts that are too long for a cursor, of more than 4096 bytes: sort by other/,
    );
  });
});

describe('A cursor', () => {
  const refusal =
    'next must be empty, or the next of an answer to the same list: with the same sort, where, q, select, depth and asOf';
  const refuses = async (slug: string, query: string) => {
    const answer = await service.call('GET', `/api/collections/${slug}?${query}`, undefined, anonymous);
    assert.equal(answer.status, 400, `${query}: ${JSON.stringify(answer.body)}`);
    assert.deepEqual(errorsOf(answer), { next: refusal });
  };

  it('is of one list: with another collection, sort, filter, select, depth or asOf it is a 400', async () => {
    const own = 'sort=word&where[id][exists]=true&select=word&depth=1&asOf=45';
    const { next: after } = await list('free', `${own}&limit=1&next=`);
    assert.equal((await list('free', `${own}&next=${after}`)).hasPrevPage, true);
    await refuses('where', `${own}&next=${after}`);
    for (const [from, to] of [
      ['=word', '=-word'],
      ['sort=word&', ''],
      ['true', 'false'],
      ['[id]', '[word]'],
      ['where[id][exists]=true&', ''],
      ['select=word', 'select=n'],
      ['select=word&', ''],
      ['depth=1', 'depth=2'],
      ['asOf=45', 'asOf=46'],
      ['&asOf=45', ''],
    ] as const) {
      await refuses('free', `${own.replace(from, to)}&next=${after}`);
    }
  });

  it('that was altered, in any of its characters, or is of another service, is a 400', async (t) => {
    const { next: after } = await list('owners', 'sort=name&limit=1&next=');
    for (let at = 0; at < after.length; at += 1) {
      await refuses(
        'owners',
        `sort=name&next=${after.slice(0, at)}${after[at] === 'A' ? 'B' : 'A'}${after.slice(at + 1)}`,
      );
    }
    for (const wrong of [
      after.slice(1),
      after.slice(0, -1),
      `${after}A`,
      `${after}=`,
      `${after}%20`,
      'x',
      '0',
      '[null,["x"]]',
      `${after}${after}`,
      '%00',
      'A'.repeat(4000),
    ])
      await refuses('owners', `sort=name&next=${wrong}`);
    const other = await startHere(t, config);
    for (const name of ['x', 'y']) await other.call('POST', '/api/collections/owners', { name });
    const { body } = await other.call('GET', '/api/collections/owners?sort=name&limit=1&next=');
    await refuses('owners', `sort=name&next=${body.next}`);
  });

  it('does not tell the values that it holds, and never the same text twice', async () => {
    await call('POST', 'collections/owners', { name: 'zz-secret-zz' });
    const query = 'sort=-name&limit=1&next=';
    const texts = [(await list('owners', query)).next, (await list('owners', query)).next];
    assert.notEqual(texts[0], texts[1]);
    for (const text of texts) assert.doesNotMatch(Buffer.from(text, 'base64url').toString('latin1'), /secret/i);
  });

  it('gives no more than the rules of its caller', async () => {
    const { next: after } = await list('row', 'sort=word&limit=1&next=', {});
    const { docs } = await list('row', `sort=word&limit=100&next=${after}`);
    assert.ok(docs.every(({ isOpen }: Doc) => isOpen));
  });

  it('beside page, or given twice, is a 400', async () => {
    for (const [query, message] of [
      ['page=1&next=', 'next must not stand beside page: it takes its place'],
      ['next=&next=', 'next must be given once'],
    ]) {
      const answer = await service.call('GET', `/api/collections/owners?${query}`);
      assert.deepEqual(errorsOf(answer), { next: message });
    }
    const former = await service.call('GET', '/api/collections/owners?after=');
    assert.deepEqual([former.status, errorsOf(former)], [400, { after: 'after is called next' }]);
  });
});

describe('count', () => {
  it('none leaves the totals null, and tells whether there is a next page', async () => {
    for (const slug of kinds) {
      for (const filter of ['', 'where[n][exists]=true&', 'where[word][equals]=nowhere&']) {
        for (const page of [1, 2, 3, 50]) {
          const exact = await list(slug, `${filter}limit=4&page=${page}`);
          const none = await list(slug, `${filter}limit=4&page=${page}&count=none`);
          assert.deepEqual(none, { ...exact, total: null, totalPages: null }, `${slug} ${filter} ${page}`);
        }
      }
    }
    const answer = await service.call('GET', '/api/collections/owners?count=non');
    assert.deepEqual(errorsOf(answer), {
      count: 'count must be one of "exact", "none", got "non"; did you mean "none"?',
    });
  });

  it('of a collection is the total of its list, by filter, rule, and as of then', async () => {
    for (const slug of kinds) {
      for (const query of [...filters, 'asOf=20', 'where[n][exists]=true&asOf=40']) {
        for (const options of [anonymous, {}]) {
          const { total } = await list(slug, `limit=1&${query}`, options);
          assert.deepEqual(await read(`collections/${slug}/count?${query}`, options), { total }, `${slug} ${query}`);
        }
      }
    }
  });

  it('of a collection is refused as its list is, and takes no other parameter', async () => {
    const statusOf = async (path: string, options?: CallOptions) =>
      (await service.call('GET', `/api/${path}`, undefined, options)).status;
    assert.equal(await statusOf('collections/closed/count', anonymous), 401);
    assert.equal(await statusOf('collections/nothing/count'), 404);
    assert.equal(await statusOf('collections/free/count?where[nothing][equals]=1'), 400);
    const answer = await service.call('GET', '/api/collections/free/count?limit=1&whre=x');
    assert.deepEqual(errorsOf(answer), {
      limit: 'limit is not a query parameter; allowed: "where", "q", "asOf"',
      whre: 'whre is not a query parameter; did you mean "where"?; allowed: "where", "q", "asOf"',
    });
    assert.equal(await statusOf('collections/closed/count?asOf=1', anonymous), 401);
  });

  it('of all collections has those that the caller may read, with what the caller may see of them', async () => {
    for (const options of [anonymous, {}]) {
      const { collections } = await read('counts', options);
      const slugs = options === anonymous ? ['owners', ...kinds] : ['owners', 'closed', ...kinds];
      assert.deepEqual(Object.keys(collections), slugs);
      for (const slug of slugs)
        assert.equal(collections[slug].total, (await list(slug, 'limit=1', options)).total, slug);
      const past = await read('counts?asOf=20', options);
      for (const slug of slugs) {
        if (slug !== 'closed')
          assert.equal(past.collections[slug].total, (await list(slug, 'limit=1&asOf=20', options)).total, slug);
      }
    }
    assert.deepEqual(errorsOf(await service.call('GET', '/api/counts?where=x')), {
      where: 'where is not a query parameter; allowed: "asOf"',
    });
  });
});
