import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { request } from '../helpers/requests.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import type { CallOptions } from '../helpers/service.ts';
import { fieldsOf } from '../helpers/shared.ts';

const service = useServiceHere(`
const open = { read: () => true };
const text = { name: 'name', type: 'text' };
const to = (name, relationTo, more) => ({ name, type: 'relationship', relationTo, ...more });
let joins = 0;
export default {
  audit: ({ apiKey }) => apiKey !== null,
  collections: [
    { slug: 'posts', history: 'public', access: open, fields: [
      { name: 'title', type: 'text' }, { name: 'n', type: 'number' }, { name: 'flag', type: 'boolean' },
      { name: 'tags', type: 'multiSelect', options: ['a', 'b'] }, { name: 'data', type: 'json' },
      to('author', 'people'), to('editors', 'people', { hasMany: true }), to('parent', 'posts'),
      { name: 'seo', type: 'object', fields: [text, { name: 'size', type: 'number' }, to('image', 'places')] },
      { name: 'links', type: 'array', fields: [text, { name: 'url', type: 'text' }, to('post', 'posts')] },
      { name: 'parts', type: 'blocks', blocks: [
        { slug: 'one', fields: [text, to('who', 'people')] }, { slug: 'two', fields: [{ name: 'size', type: 'number' }, to('who', 'places')] } ] },
      { type: 'row', fields: [{ name: 'inRow', type: 'text' }] },
      { name: 'children', type: 'join', collection: 'posts', on: 'parent' } ] },
    { slug: 'people', history: 'public', access: open, fields: [
      text, { name: 'age', type: 'number' }, to('home', 'places'),
      { name: 'posts', type: 'join', collection: 'posts', on: 'author' } ] },
    { slug: 'places', history: 'public', access: { read: ({ user, doc }) => doc.name !== 'hidden' }, fields: [text, { name: 'area', type: 'number' }] },
    { slug: 'closed', access: { read: () => false }, fields: [{ name: 'secretField', type: 'text' }] },
    { slug: 'ruled', access: open, fields: [
      text, { name: 'never', type: 'text', access: { read: () => false } },
      { name: 'own', type: 'text', access: { read: ({ doc }) => doc.name === 'mine' } },
      { name: 'box', type: 'object', fields: [text, { name: 'never', type: 'text', access: { read: () => false } }] },
      to('closed', 'closed') ] },
    { slug: 'hooked', access: open, fields: [
      { name: 'name', type: 'text', hooks: { afterRead: ({ value }) => value + '!' } },
      { name: 'other', type: 'text' }, to('next', 'hooked', { queryable: true }),
      { name: 'befores', type: 'join', collection: 'hooked', on: 'next' } ],
      hooks: { afterRead: ({ data }) => ({ ...data, other: data.name + data.befores.length, extra: 1 }) } },
    { slug: 'files', access: open, upload: true, fields: [] },
  ],
  globals: [{ slug: 'site', access: open, fields: [text, to('home', 'posts'), { name: 'menu', type: 'array', fields: [text, to('post', 'posts')] }] }],
};`);

// biome-ignore lint/suspicious/noExplicitAny: the answers are whatever the service says
type Doc = any;

async function call(method: string, path: string, body?: object, options?: CallOptions): Promise<Doc> {
  const answer = await service.call(method, `/api/${path}`, body, options);
  assert.ok(answer.status < 300, `${method} ${path} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
const create = async (slug: string, body: object) => (await call('POST', `collections/${slug}`, body)).id;
const read = (path: string) => call('GET', path, undefined, anonymous);
/** The messages of a 400 that names nothing else. */
const refused = async (path: string): Promise<string[]> => {
  const { status, body } = await service.call('GET', `/api/${path}`, undefined, anonymous);
  assert.equal(status, 400, JSON.stringify(body));
  return body.errors.map(({ field, message }: { field: string; message: string }) => {
    assert.equal(field, 'select');
    return message;
  });
};

const ids: Record<string, string[]> = { places: [], people: [], posts: [] };

before(async () => {
  for (const name of ['Rome', 'hidden', 'Oslo']) ids.places?.push(await create('places', { name, area: name.length }));
  const [rome, hidden, oslo] = ids.places ?? [];
  for (const [name, home] of [
    ['Ada', rome],
    ['Bob', hidden],
    ['Cleo', null],
  ]) {
    ids.people?.push(await create('people', { name, age: 30, home }));
  }
  const [ada, bob, cleo] = ids.people ?? [];
  for (let n = 0; n < 8; n += 1) {
    const [parent = null, other = null] = (ids.posts ?? []).toReversed();
    const id = await create('posts', {
      title: `Post ${n}`,
      n,
      flag: n % 2 === 0,
      tags: ['a'],
      data: { n, deep: [1] },
      inRow: 'x',
      author: [ada, bob, cleo, null][n % 4],
      editors: [bob, ada].slice(n % 3),
      parent,
      seo: n === 3 ? null : { name: 's', size: n, image: [rome, hidden][n % 2] },
      links: [
        { name: 'l', url: '/', post: other },
        { name: 'm', url: null, post: parent },
      ],
      parts: [
        { blockType: 'one', name: 'p', who: ada },
        { blockType: 'two', size: n, who: oslo },
      ],
    });
    ids.posts?.push(id);
  }
  await call('DELETE', `collections/people/${cleo}`);
  await call('PATCH', 'globals/site', {
    name: 'Home',
    home: ids.posts?.[0],
    menu: [{ name: 'first', post: ids.posts?.[1] }],
  });
});

/** The fields that hold something inside: a collection, or other fields; of blocks those of each type. */
type Shape = { [name: string]: { to: string; isJoin?: true } | { inside: Shape } | { blocks: Record<string, Shape> } };
const leaf = { inside: {} };
const shapes: Record<string, Shape> = {
  posts: {
    title: leaf,
    n: leaf,
    flag: leaf,
    tags: leaf,
    data: leaf,
    inRow: leaf,
    createdAt: leaf,
    id: leaf,
    author: { to: 'people' },
    editors: { to: 'people' },
    parent: { to: 'posts' },
    seo: { inside: { name: leaf, size: leaf, image: { to: 'places' } } },
    links: { inside: { name: leaf, url: leaf, post: { to: 'posts' } } },
    parts: { blocks: { one: { name: leaf, who: { to: 'people' } }, two: { size: leaf, who: { to: 'places' } } } },
    children: { to: 'posts', isJoin: true },
  },
  people: { name: leaf, age: leaf, home: { to: 'places' }, posts: { to: 'posts', isJoin: true }, updatedAt: leaf },
  places: { name: leaf, area: leaf, id: leaf },
};

/** The arguments of a model of what is left of a value. It reads documents as they are answered without `select`. */
type Kept = { world: Map<string, Doc>; depth: number; above: string[]; isFirst: boolean };

function keptOf(slug: string, doc: Doc, paths: string[][], kept: Kept): Doc {
  const result = keptMembers(shapes[slug] ?? {}, doc, paths, { ...kept, above: [...kept.above, `${slug}/${doc.id}`] });
  return { id: doc.id, ...result };
}

function keptMembers(shape: Shape, values: Doc, paths: string[][], kept: Kept): Doc {
  const isWhole = paths.some((path) => path.length === 0);
  const result: Doc = {};
  for (const [name, value] of Object.entries(values)) {
    const inside = paths.filter(([first]) => first === name).map(([, ...rest]) => rest);
    const isWholeThere = isWhole || inside.some((path) => path.length === 0);
    if (!isWhole && inside.length === 0) continue;
    const all = isWholeThere ? [...inside, []] : inside;
    result[name] = keptValue(shape[name] ?? leaf, value, all, kept);
  }
  return result;
}

function keptValue(at: Shape[string], value: Doc, paths: string[][], kept: Kept): Doc {
  if (Array.isArray(value) && at !== leaf) return value.map((one) => keptValue(at, one, paths, kept));
  if (value === null) return null;
  if ('to' in at) {
    const deeper = paths.filter((path) => path.length > 0);
    const byDepth = kept.depth > 0 && deeper.length < paths.length && (kept.isFirst || !at.isJoin);
    const key = `${at.to}/${value}`;
    const found = kept.world.get(key);
    if (!found || kept.above.includes(key) || !(byDepth || deeper.length > 0)) return value;
    const next = { ...kept, depth: kept.depth - 1, isFirst: false };
    return keptOf(at.to, found, byDepth ? paths : deeper, next);
  }
  if (typeof value !== 'object' || at === leaf) return value;
  const shape = 'blocks' in at ? (at.blocks[value.blockType] ?? {}) : at.inside;
  const isWhole = paths.some((path) => path.length === 0);
  const tag = 'blocks' in at && !isWhole ? { blockType: value.blockType } : {};
  return { ...tag, ...keptMembers(shape, value, paths, kept) };
}

/** A path of some length into a collection. */
function anyPath(shape: Shape, left: number): fc.Arbitrary<string> {
  return fc.constantFrom(...Object.keys(shape)).chain((name) => {
    const at = shape[name] as Shape[string];
    const inside =
      'to' in at
        ? (shapes[at.to] ?? {})
        : 'blocks' in at
          ? Object.assign({ blockType: leaf }, ...Object.values(at.blocks))
          : at.inside;
    if (left === 0 || Object.keys(inside).length === 0) return fc.constant(name);
    return fc.oneof(
      fc.constant(name),
      anyPath(inside, left - 1).map((rest) => `${name}.${rest}`),
    );
  });
}

describe('select', () => {
  it('is the id and what a model says of each path, in lists, documents, depth and the past', async () => {
    const worldOf = async (query: string) => {
      const world = new Map<string, Doc>();
      for (const slug of ['posts', 'people', 'places'])
        for (const doc of (await read(`collections/${slug}?limit=100${query}`)).docs)
          world.set(`${slug}/${doc.id}`, doc);
      return world;
    };
    const last = (await read('collections/posts?limit=1')).docs[0];
    const { document } = await call('GET', `audit/documents/posts/${last.id}`);
    const asOf = `&asOf=${document.position}`;
    await call('PATCH', `collections/posts/${last.id}`, { title: 'Changed', author: ids.people?.[1] });
    const worlds = { today: await worldOf(''), past: await worldOf(asOf) };
    assert.notDeepEqual(worlds.today.get(`posts/${last.id}`), worlds.past.get(`posts/${last.id}`));

    const question = fc.record({
      slug: fc.constantFrom('posts', 'posts', 'people'),
      isPast: fc.boolean(),
      depth: fc.constantFrom(0, 0, 1, 2),
      size: fc.integer({ min: 1, max: 4 }),
    });
    const counts = { through: 0 };
    await fc.assert(
      fc.asyncProperty(
        question.chain((one) =>
          fc
            .array(anyPath(shapes[one.slug] ?? {}, 4), { minLength: one.size, maxLength: one.size })
            .map((paths) => ({ ...one, paths })),
        ),
        async ({ slug, isPast, depth, paths }) => {
          const world = isPast ? worlds.past : worlds.today;
          const query = `depth=${depth}&select=${paths.join(',')}${isPast ? asOf : ''}`;
          const names = paths.map((path) => path.split('.'));
          const { docs } = await read(`collections/${slug}?limit=3&sort=-id&${query}`);
          assert.ok(docs.length > 0);
          for (const doc of docs) {
            const expected = keptOf(slug, world.get(`${slug}/${doc.id}`), names, {
              world,
              depth,
              above: [],
              isFirst: true,
            });
            assert.deepEqual(doc, expected, query);
          }
          assert.deepEqual(await read(`collections/${slug}/${docs[0].id}?${query}`), docs[0]);
          if (JSON.stringify(docs).split('"id"').length > docs.length + 1) counts.through += 1;
        },
      ),
      { numRuns: runsOf(150) },
    );
    assert.ok(counts.through >= seenOf(5, 150), JSON.stringify(counts));
  });

  it('gives every value as it is in the whole document, whatever is in it', async () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.constantFrom('"', '\\', "'", '\n', '\u2028', '😀', 'é', '/', '$.'),
        fc.string({ maxLength: 3 }),
      ),
    });
    const data = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });
    const value = fc.record({
      title: text,
      n: fc.double({ noNaN: true, noDefaultInfinity: true }),
      flag: fc.boolean(),
      data,
    });
    await fc.assert(
      fc.asyncProperty(value, async (body) => {
        const answer = await service.call('POST', '/api/collections/posts', body);
        // Some texts and numbers are refused.
        if (answer.status !== 201) return;
        const { id, title, n, flag, data } = answer.body;
        const [listed] = (await read('collections/posts?limit=1&select=title,n,flag,data')).docs;
        assert.deepEqual(listed, { id, title, n, flag, data });
        await call('DELETE', `collections/posts/${id}`);
      }),
      { numRuns: runsOf(60) },
    );
  });

  it('keeps the order of the members that documents have', async () => {
    const [post] = (await read('collections/posts?limit=1&select=seo,flag,title,n')).docs;
    assert.deepEqual(Object.keys(post), ['id', 'title', 'n', 'flag', 'seo']);
  });

  it('leaves nothing but the id if nothing else is selected', async () => {
    assert.deepEqual((await read('collections/places?select=id&sort=id')).docs, [
      { id: ids.places?.[0] },
      { id: ids.places?.[2] },
    ]);
  });

  it('works on globals, which have no id, also on one as it was before it was written', async () => {
    const [first, second] = ids.posts ?? [];
    assert.deepEqual(await read('globals/site?select=name,home.title,menu.post'), {
      name: 'Home',
      home: { id: first, title: 'Post 0' },
      menu: [{ post: second }],
    });
    assert.deepEqual(await call('GET', 'globals/site?select=name,home.title&asOf=1'), { name: null, home: null });
    assert.match(
      (await refused('globals/site?select=id'))[0] ?? '',
      /^select: "id" is not a field to select; allowed: "createdAt", /,
    );
  });

  it('leaves out what a rule that looks at the document says no to, in each document', async () => {
    for (const name of ['mine', 'yours'])
      await create('ruled', { name, own: 'o', never: 'n', box: { name: 'b', never: 'n' } });
    const { docs } = await read('collections/ruled?sort=id&select=name,own,box');
    assert.deepEqual(
      docs.map(({ id: _, ...rest }: Doc) => rest),
      [
        { name: 'mine', own: 'o', box: { name: 'b' } },
        { name: 'yours', box: { name: 'b' } },
      ],
    );
    const trusted = await call('GET', 'collections/ruled?sort=id&select=own,box.never');
    assert.deepEqual(
      trusted.docs.map(({ id: _, ...rest }: Doc) => rest),
      Array(2).fill({ own: 'o', box: { never: 'n' } }),
    );
  });

  it('of a field that the caller may not read is a 400, as of one that does not exist', async () => {
    const [never] = await refused('collections/ruled?select=never');
    assert.equal(
      never,
      'select: "never" is not a field to select; allowed: "id", "createdAt", "updatedAt", "name", "own", "box", "closed"',
    );
    assert.deepEqual(await refused('collections/ruled?select=nevei'), [never?.replace('never', 'nevei')]);
    assert.deepEqual(await refused('collections/ruled?select=box.never'), [
      'select: "never" is not a field of "box" to select; allowed: "name"',
    ]);
  });

  it('through what the caller may read nothing of is a 400 with one text for every name', async () => {
    const closed = await create('closed', { secretField: 'x' });
    const id = await create('ruled', { name: 'points', closed });
    for (const name of ['secretField', 'nothing', 'secretFiel', 'id']) {
      assert.deepEqual(await refused(`collections/ruled/${id}?select=name,closed.${name}`), [
        `select: "${name}" is not a field of "closed" to select`,
      ]);
    }
    assert.deepEqual(await read(`collections/ruled/${id}?select=name,closed`), { id, name: 'points', closed });
    assert.deepEqual(await call('GET', `collections/ruled/${id}?select=closed.secretField`), {
      id,
      closed: { id: closed, secretField: 'x' },
    });
  });

  it('is of what read hooks make of the whole document', async () => {
    const first = await create('hooked', { name: 'a' });
    const id = await create('hooked', { name: 'b', next: first });
    assert.deepEqual(await read(`collections/hooked/${id}?select=other,next.other,next.name`), {
      id,
      other: 'b!0',
      next: { id: first, name: 'a!', other: 'a!1' },
    });
    assert.match(
      (await refused('collections/hooked?select=extra'))[0] ?? '',
      /^select: "extra" is not a field to select/,
    );
  });

  it('of a path that leads nowhere is a 400 that names it, what is allowed and the nearest word', async () => {
    assert.match(
      (await refused('collections/posts?select=titel'))[0] ?? '',
      /^select: "titel" is not a field to select; did you mean "title"\?; allowed: "id", .*"children"$/,
    );
    assert.deepEqual(await refused('collections/people?select=name,home.nam,home.name.x,posts.titl'), [
      'select: "nam" is not a field of "home" to select; did you mean "name"?; allowed: "id", "createdAt", "updatedAt", "name", "area"',
      'select: "x" is not a field of "home.name" to select',
      (await refused('collections/people?select=posts.titl'))[0],
    ]);
    assert.match(
      (await refused('collections/posts?select=parts.siz'))[0] ?? '',
      /^select: "siz" is not a field of "parts" to select; did you mean "size"\?/,
    );
    for (const select of [
      '',
      ',',
      'title,',
      '.',
      'title.',
      '.title',
      ' title',
      '*',
      '__proto__',
      'constructor',
      'data.n',
    ])
      assert.equal(
        (await refused(`collections/posts?select=${encodeURIComponent(select)}`)).length,
        select === ',' ? 2 : 1,
        select,
      );
    const far = Array(7).fill('parent').join('.');
    assert.deepEqual(await refused(`collections/posts?select=${far}`), [
      'select: must not go through more than 5 relationships',
    ]);
    assert.equal((await read(`collections/posts?limit=1&select=${far.slice(7)}`)).docs.length, 1);
    assert.deepEqual(await refused(`collections/posts?select=${Array(101).fill('title')}`), [
      'select must have at most 100 paths',
    ]);
    assert.deepEqual(await refused('collections/posts?select=title&select=n'), [
      'select must be given once; several fields are separated by commas',
    ]);
  });

  it('stands beside wrong parameters in one answer, and no write takes it', async () => {
    const answer = await service.call('GET', '/api/collections/posts?select=x&limit=0&sort=y');
    assert.deepEqual(fieldsOf(answer), ['limit', 'sort', 'select']);
    const { status } = await service.call('POST', '/api/collections/places?select=name', { name: 'x' });
    assert.equal(status, 400);
  });

  it('is part of the ETag', async () => {
    const path = `/api/collections/places/${ids.places?.[0]}`;
    const tagOf = async (query: string) => (await fetch(`${service.url}${path}${query}`)).headers.get('etag') ?? '';
    const tags = await Promise.all(['', '?select=name', '?select=area', '?select=name,area'].map(tagOf));
    assert.equal(new Set(tags).size, 4);
    const [plain = '', named = ''] = tags;
    const statusOf = async (query: string, tag: string) =>
      (await fetch(`${service.url}${path}${query}`, { headers: { 'if-none-match': tag } })).status;
    assert.equal(await statusOf('?select=name', named), 304);
    assert.equal(await statusOf('?select=area', named), 200);
    assert.equal(await statusOf('?select=name', plain), 200);
    assert.equal(await statusOf('', named), 200);
    // The tag names the version, so that a change can be bound to the version that was read.
    const options = { headers: { 'if-match': named } };
    assert.equal((await service.call('PATCH', path, { area: 5 }, options)).status, 200);
    assert.equal((await service.call('PATCH', path, { area: 4 }, options)).status, 412);
  });

  it('of the url of a file leads to the bytes, of then as of then', async () => {
    const form = new FormData();
    form.append('file', new Blob(['a text']), 'a.txt');
    const { id } = (await request(service.url, 'POST', '/api/collections/files', { body: form })).body;
    const then = await call('GET', `collections/files/${id}?select=url`);
    assert.deepEqual(then, { id, url: `/api/media/files/${id}/a.txt` });
    const { document } = await call('GET', `audit/documents/files/${id}`);
    const { url } = await call('GET', `collections/files/${id}?select=url&asOf=${document.position}`);
    assert.equal(url, `${then.url}?asOf=${document.position}`);
    assert.deepEqual(await call('GET', `collections/files/${id}?select=filesize`), { id, filesize: 6 });
  });
});
