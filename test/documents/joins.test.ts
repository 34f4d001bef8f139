import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import type { CallOptions } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

/** Bounds and orders of joins; `field` is what they are over. */
const bounds = {
  all: { field: 'author' },
  first: { field: 'author', limit: 2 },
  newest: { field: 'author', limit: 2, sort: '-createdAt' },
  ranked: { field: 'author', limit: 3, sort: '-meta.rank,title' },
  sorted: { field: 'author', sort: 'title' },
  edits: { field: 'editors' },
  firstEdits: { field: 'editors', limit: 1 },
  lastEdits: { field: 'editors', limit: 2, sort: '-id' },
  titledEdits: { field: 'editors', limit: 2, sort: 'title,-n' },
} as const;
type Bound = { field: 'author' | 'editors'; limit?: number; sort?: string };
const joins: [string, Bound][] = Object.entries(bounds);

/** The readers of posts: everybody all, or what is open, by a condition or by a look at each. */
const kinds = ['free', 'where', 'row'] as const;
type Kind = (typeof kinds)[number];

const service = useServiceHere(`
const bounds = ${JSON.stringify(bounds)};
const rules = { free: () => true, where: () => ({ isOpen: { equals: true } }), row: ({ doc }) => doc.isOpen === true };
const joinsOf = (kind) => Object.entries(bounds).map(([name, { field, ...more }]) =>
  ({ name: name + '_' + kind, type: 'join', collection: 'posts_' + kind, on: field, ...more }));
export default {
  audit: ({ apiKey }) => apiKey !== null,
  collections: [
    { slug: 'authors', history: 'public', access: { read: () => true },
      fields: [{ name: 'name', type: 'text' }, ...Object.keys(rules).flatMap(joinsOf)] },
    ...Object.entries(rules).map(([kind, read]) => ({
      slug: 'posts_' + kind, history: 'public', access: { read }, fields: [
        { name: 'title', type: 'text' }, { name: 'n', type: 'number' }, { name: 'isOpen', type: 'boolean' },
        { name: 'meta', type: 'object', fields: [{ name: 'rank', type: 'number' }] },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
        { name: 'editors', type: 'relationship', relationTo: 'authors', hasMany: true },
      ] })),
  ],
  globals: [{ slug: 'site', access: { read: () => true }, fields: [{ name: 'author', type: 'relationship', relationTo: 'authors' }] }],
};`);

type Of<A> = A extends fc.Arbitrary<infer T> ? T : never;

// biome-ignore lint/suspicious/noExplicitAny: the answers are whatever the service says
type Doc = any;

async function call(method: string, path: string, body?: object, options?: CallOptions): Promise<Doc> {
  const answer = await service.call(method, `/api/${path}`, body, options);
  assert.ok(answer.status < 300, `${method} ${path} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const authors: string[] = [];
/** The existing posts of each kind, as they are answered. */
type World = Record<Kind, Map<string, Doc>>;
const world: World = { free: new Map(), where: new Map(), row: new Map() };
const worlds = new Map<number, World>();

function remember(): void {
  const copy = kinds.map((kind) => [kind, new Map(world[kind])] as const);
  worlds.set(recordedEvents(service.data).length, Object.fromEntries(copy) as World);
}

before(async () => {
  for (const name of ['Ada', 'Grace', 'Mary']) authors.push((await call('POST', 'collections/authors', { name })).id);
});

/** The contents of a join of an author, for readers of all posts, or of open ones. */
function expected(then: World, kind: Kind, author: string, bound: Bound, seesAll: boolean): Doc[] {
  const { field, limit = Number.POSITIVE_INFINITY, sort = 'id' } = bound;
  const found = [...then[kind].values()].filter((post) => {
    const points = field === 'author' ? post.author === author : post.editors.includes(author);
    return points && (seesAll || kind === 'free' || post.isOpen === true);
  });
  const keys = sort.split(',').map((key) => ({ name: key.replace('-', ''), sign: key.startsWith('-') ? -1 : 1 }));
  const keyOf = (post: Doc, name: string) => {
    if (name === 'createdAt') return post.id;
    const value = name.split('.').reduce((at, part) => at?.[part] ?? null, post);
    return typeof value === 'string' && name === 'title' ? value.toUpperCase() : value;
  };
  const order = (a: Doc, b: Doc) => {
    for (const { name, sign } of keys) {
      const [left, right] = [keyOf(a, name), keyOf(b, name)];
      if (left === right) continue;
      if (left === null || right === null) return left === null ? 1 : -1;
      return left < right ? -sign : sign;
    }
    return (a.id < b.id ? -1 : 1) * (keys[0]?.sign ?? 1);
  };
  return found.sort(order).slice(0, limit);
}

describe('A join with a limit and a sort', () => {
  it('holds the first readable documents in its order, today and in the past, as ids and with depth', async () => {
    const word = fc.constantFrom('a', 'B', 'c', 'D', null);
    const step = fc.record({
      kind: fc.constantFrom('create' as const, 'create' as const, 'update' as const, 'delete' as const),
      of: fc.constantFrom(...kinds),
      pick: fc.nat(),
      values: fc.record({
        title: word,
        n: fc.integer({ min: 0, max: 2 }),
        isOpen: fc.boolean(),
        rank: fc.option(fc.integer({ min: 0, max: 2 }), { nil: null }),
        author: fc.constantFrom(0, 0, 1, null),
        editors: fc.uniqueArray(fc.nat(2)),
      }),
    });
    const question = fc.record({ when: fc.nat(), depth: fc.nat(1) });
    const counts = { cut: 0, hidden: 0, past: 0 };

    async function act({ kind, of, pick, values: { rank, author, editors, ...rest } }: Of<typeof step>) {
      const posts = world[of];
      const id = [...posts.keys()][pick % (posts.size || 1)];
      const people = { author: author === null ? null : authors[author], editors: editors.map((one) => authors[one]) };
      const body = { ...rest, meta: { rank }, ...people };
      const path = `collections/posts_${of}`;
      if (kind === 'delete' && id !== undefined) {
        await call('DELETE', `${path}/${id}`);
        posts.delete(id);
      } else if (kind === 'update' && id !== undefined) posts.set(id, await call('PATCH', `${path}/${id}`, body));
      else {
        const made = await call('POST', path, body);
        posts.set(made.id, made);
      }
      remember();
    }

    // Few runs may make no post that is open.
    const open: Of<typeof step>['values'] = { title: 'a', n: 0, isOpen: true, rank: 1, author: 0, editors: [0, 1] };
    for (const of of [...kinds, ...kinds, ...kinds]) await act({ kind: 'create', of, pick: 0, values: open });

    const session = fc.record({
      steps: fc.array(step, { minLength: 15, maxLength: 20 }),
      questions: fc.array(question, { minLength: 4, maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(session, async ({ steps, questions }) => {
        for (const one of steps) await act(one);
        const positions = [...worlds.keys()];
        for (const [index, { when, depth }] of questions.entries()) {
          const [isPast, isKey] = [index < 2, index % 2 === 0];
          const position = isPast ? positions[when % positions.length] : positions.at(-1);
          const then = worlds.get(position as number) as World;
          const query = `limit=100&sort=id&depth=${depth}${isPast ? `&asOf=${position}` : ''}`;
          const { docs } = await call('GET', `collections/authors?${query}`, undefined, isKey ? undefined : anonymous);
          const one = await call(
            'GET',
            `collections/authors/${authors[0]}?${query.replace('limit=100&sort=id&', '')}`,
            undefined,
            isKey ? undefined : anonymous,
          );
          assert.deepEqual(one, docs[0]);
          for (const [index, author] of authors.entries()) {
            for (const kind of kinds) {
              for (const [name, bound] of joins) {
                // A reader without the audit right sees today's documents, and may be shown them as they are.
                const seen = (post: Doc) => {
                  const today = world[kind].get(post.id);
                  return isKey || !isPast || (today && (kind === 'free' || today.isOpen === true));
                };
                const all = expected(then, kind, author, { ...bound, limit: Number.POSITIVE_INFINITY }, isKey).filter(
                  seen,
                );
                const wanted = all.slice(0, (bound as Bound).limit);
                const shown = docs[index][`${name}_${kind}`];
                const what = `${author} ${name}_${kind} ${query} key=${isKey}`;
                assert.deepEqual(
                  shown.map((post: Doc) => (depth > 0 ? post.id : post)),
                  wanted.map(({ id }) => id),
                  what,
                );
                if (depth > 0) assert.deepEqual(shown, wanted, what);
                if (wanted.length < all.length) counts.cut += 1;
                if (!isKey && kind !== 'free' && wanted.length > 0) counts.hidden += 1;
                if (isPast && wanted.length > 0) counts.past += 1;
              }
            }
          }
        }
      }),
      { numRuns: runsOf(40), endOnFailure: true },
    );
    // A case that never came up was not tested.
    for (const [name, count] of Object.entries(counts)) assert.ok(count >= seenOf(800, 40), `${name}: ${count}`);
  });

  it('is bounded in related documents too, whose joins stay ids, and in a global', async () => {
    const author = (await call('POST', 'collections/authors', { name: 'Jean' })).id;
    const posts: string[] = [];
    for (const title of ['a', 'b', 'c'])
      posts.push((await call('POST', 'collections/posts_free', { title, author })).id);
    const post = await call('GET', `collections/posts_free/${posts[0]}?depth=3`);
    assert.deepEqual([post.author.first_free, post.author.all_free], [posts.slice(0, 2), posts]);
    await call('PATCH', 'globals/site', { author });
    assert.deepEqual((await call('GET', 'globals/site?depth=3')).author.newest_free, posts.slice(1).toReversed());
    const { total } = await call('GET', `collections/posts_free?where[author][equals]=${author}&sort=id`);
    assert.equal(total, 3);
  });

  it('does not multiply with depth: a list of a hundred that share a large join is answered', async () => {
    const author = (await call('POST', 'collections/authors', { name: 'Prolific' })).id;
    await call('POST', 'collections/posts_free/bulk', { docs: Array.from({ length: 210 }, (_, n) => ({ n, author })) });
    const { docs } = await call('GET', `collections/posts_free?where[author][equals]=${author}&limit=100&depth=2`);
    assert.deepEqual([docs.length, docs[0].author.all_free.length, docs[0].author.first_free.length], [100, 210, 2]);
    const { all_free: followed } = await call('GET', `collections/authors/${author}?depth=2`);
    assert.deepEqual([followed.length, followed[0].author], [210, author]);
  });
});
