import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Request } from '@hapi/hapi';
import { checkConfig } from '../../config/check.ts';
import type { JsonObject } from '../../config/schema.ts';
import type { App, Target } from '../../server/app.ts';
import { populate } from '../../server/documents/read/populate.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { errorsOf } from '../helpers/shared.ts';

// One thread, because the configuration counts in a variable.
const service = useServiceHere(
  `
let calls = 0;
const kept = {};
const open = { read: () => true };
const text = { name: 'name', type: 'text' };
const to = (name, relationTo, more) => ({ name, type: 'relationship', relationTo, ...more });
export default {
  collections: [
    { slug: 'nodes', access: open, fields: [text, to('next', 'nodes'), to('others', 'nodes', { hasMany: true }),
      { name: 'previous', type: 'join', collection: 'nodes', on: 'next' },
      { name: 'within', type: 'join', collection: 'nodes', on: 'others' }] },
    { slug: 'nested', access: open, fields: [
      { name: 'object', type: 'object', fields: [to('node', 'nodes')] },
      { name: 'array', type: 'array', fields: [to('nodes', 'nodes', { hasMany: true })] },
      { name: 'blocks', type: 'blocks', blocks: [{ slug: 'one', fields: [to('node', 'nodes')] }, { slug: 'two', fields: [text] }] },
      { type: 'row', fields: [to('inRow', 'nodes')] },
      { name: 'data', type: 'json' } ] },
    { slug: 'unruled', fields: [text] },
    { slug: 'closed', access: { read: () => false }, fields: [text] },
    { slug: 'broken', access: { read: () => { throw new Error('no'); } }, fields: [text] },
    { slug: 'some', access: { read: () => ({ name: { equals: 'shown' } }) }, fields: [text] },
    { slug: 'looked', access: { read: ({ doc }) => doc.name === 'shown' }, fields: [text] },
    { slug: 'hooked', access: open, fields: [
      { name: 'name', type: 'text', hooks: { afterRead: ({ value }) => value + '!' } },
      { name: 'secret', type: 'text', access: { read: () => false } },
      to('hidden', 'nodes', { access: { read: () => false } }) ],
      hooks: { afterRead: ({ data }) => ({ ...data, name: data.name + '?' }) } },
    { slug: 'counted', access: open, fields: [to('node', 'nodes'), to('same', 'counted', { hasMany: true }), { name: 'calls', type: 'number' },
      { name: 'kept', type: 'object', fields: [to('node', 'nodes')] }],
      hooks: { afterRead: ({ data }) => {
        calls += 1;
        if (data.node) kept.node = data.node;
        return { ...data, calls, kept };
      } } },
    { slug: 'refs', access: open, fields: [
      ...['unruled', 'closed', 'broken', 'some', 'looked'].map((slug) => to(slug, slug, { hasMany: true })), to('hooked', 'hooked') ] },
  ],
  globals: [{ slug: 'site', access: open, fields: [text, to('home', 'nodes'), { name: 'menu', type: 'array', fields: [to('node', 'nodes')] }] }],
};`,
);

const create = async (slug: string, body: object): Promise<string> => {
  const answer = await service.call('POST', `/api/collections/${slug}`, body);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
};
const anonymous = { key: null };
const read = async (path: string, options = {}) => {
  const { status, body } = await service.call('GET', `/api/${path}`, undefined, options);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
const node = (id: string, depth: number | string) => read(`collections/nodes/${id}?depth=${depth}`);

/** How many documents stand inside each other along \`next\`. */
function lengthOf({ next }: { next: JsonObject | string | null }): number {
  return next !== null && typeof next === 'object' ? 1 + lengthOf(next as never) : 0;
}

describe('depth (4.8)', () => {
  /** Sixteen nodes, each pointing at the one before it. */
  const chain: string[] = [];
  before(async () => {
    for (let n = 0; n < 16; n += 1) chain.push(await create('nodes', { name: `${n}`, next: chain.at(-1) ?? null }));
  });

  it('is 0 unless said; more than 10 is 10', async () => {
    const last = chain.at(-1) as string;
    assert.equal((await read(`collections/nodes/${last}`)).next, chain.at(-2));
    for (const [asked, got] of Object.entries({ 0: 0, 1: 1, 2: 2, 10: 10, 11: 10, 999999: 10, '01': 1 })) {
      assert.equal(lengthOf(await node(last, asked)), got, asked);
    }
  });

  it('leaves ids below its last level', async () => {
    const { next } = await node(chain[5] as string, 2);
    assert.deepEqual([next.id, next.next.id, next.next.next], [chain[4], chain[3], chain[2]]);
  });

  it('is refused when it is no whole number from 0, on lists, documents and globals', async () => {
    for (const path of ['collections/nodes', `collections/nodes/${chain[0]}`, 'globals/site']) {
      for (const query of ['-1', 'abc', '', '1.5', '1e1', '%201', '99999999999999999999', '1&depth=2']) {
        const answer = await service.call('GET', `/api/${path}?depth=${query}`);
        assert.equal(answer.status, 400, query);
        assert.match(errorsOf(answer).depth ?? '', /^depth must be one whole number from 0, got /);
      }
    }
  });

  it('is no parameter of a write', async () => {
    for (const [method, path] of [
      ['POST', 'collections/nodes'],
      ['PATCH', `collections/nodes/${chain[0]}`],
      ['DELETE', `collections/nodes/${chain[0]}`],
      ['PATCH', 'globals/site'],
    ] as const) {
      const body = method === 'DELETE' ? undefined : {};
      assert.equal((await service.call(method, `/api/${path}?depth=1`, body)).status, 400, `${method} ${path}`);
    }
  });

  it('works on lists, with every other parameter', async () => {
    const { docs, total } = await read('collections/nodes?depth=1&limit=2&sort=createdAt&where[name][in]=1,2,3');
    assert.equal(total, 3);
    assert.deepEqual(
      docs.map((one: { next: JsonObject }) => one.next.id),
      [chain[0], chain[1]],
    );
  });

  it('makes no difference if nothing is related', async () => {
    const id = await create('unruled', { name: 'x' });
    assert.deepEqual(await read(`collections/unruled/${id}?depth=3`), await read(`collections/unruled/${id}`));
  });

  it('follows single and listed relationships in objects, arrays, blocks and rows, in their order', async () => {
    const [a, b, c] = chain as [string, string, string];
    const id = await create('nested', {
      object: { node: a },
      array: [{ nodes: [b, a, c] }, { nodes: [] }],
      blocks: [
        { blockType: 'two', name: 'x' },
        { blockType: 'one', node: c },
        { blockType: 'one', node: null },
      ],
      inRow: b,
      data: { node: a, id: b },
    });
    const plain = await read(`collections/nested/${id}`);
    const whole = Object.fromEntries(await Promise.all([a, b, c].map(async (one) => [one, await node(one, 0)])));
    assert.deepEqual(await read(`collections/nested/${id}?depth=1`), {
      ...plain,
      object: { node: whole[a] },
      array: [{ nodes: [whole[b], whole[a], whole[c]] }, { nodes: [] }],
      blocks: [{ blockType: 'two', name: 'x' }, { blockType: 'one', node: whole[c] }, plain.blocks[2]],
      inRow: whole[b],
    });
    assert.deepEqual(await read(`collections/nested/${id}`), plain);
  });

  it('follows joins: ids at 0, documents at 1', async () => {
    const target = await create('nodes', { name: 'target' });
    const one = await create('nodes', { name: 'one', next: target });
    const two = await create('nodes', { name: 'two', next: target, others: [target] });
    const at0 = await node(target, 0);
    assert.deepEqual([at0.previous, at0.within], [[one, two], [two]]);
    const at1 = await node(target, 1);
    assert.deepEqual(at1.previous, [await node(one, 0), await node(two, 0)]);
    assert.deepEqual(at1.within, [await node(two, 0)]);
    const { docs } = await read('collections/nodes?limit=100');
    for (const { id, previous } of docs) assert.deepEqual(previous, (await node(id, 0)).previous);
  });

  it('leaves the joins of related documents as ids, of whatever was asked for', async () => {
    const target = await create('nodes', { name: 'target' });
    const inner = await create('nodes', { name: 'inner', next: target });
    const outer = await create('nodes', { name: 'outer', next: inner, others: [target] });
    const ofOuter = await node(outer, 3);
    assert.deepEqual([ofOuter.next.previous, ofOuter.others[0].previous], [[outer], [inner]]);
    assert.equal(ofOuter.next.next.name, 'target');
    const [listed] = (await read(`collections/nodes?where[id][equals]=${outer}&depth=3`)).docs;
    assert.deepEqual(listed, ofOuter);
    // The joins of the document itself are followed, and relationships go on behind them.
    const ofTarget = await node(target, 3);
    assert.deepEqual([ofTarget.previous[0].name, ofTarget.within[0].name], ['inner', 'outer']);
    assert.deepEqual([ofTarget.previous[0].previous, ofTarget.previous[0].next], [[outer], target]);
    assert.deepEqual([ofTarget.within[0].next.name, ofTarget.within[0].next.previous], ['inner', [outer]]);
  });

  it('works on globals, also on one that was never written', async () => {
    assert.deepEqual(await read('globals/site?depth=2'), await read('globals/site'));
    const patch = { home: chain[0], menu: [{ node: chain[1] }] };
    assert.equal((await service.call('PATCH', '/api/globals/site', patch)).status, 200);
    const { home, menu } = await read('globals/site?depth=1');
    assert.deepEqual([home.name, menu[0].node.name, menu[0].node.next], ['0', '1', chain[0]]);
    assert.ok((await read('globals/site?depth=2')).home.previous.includes(chain[1]));
  });
});

describe('Cycles', () => {
  it('are cut: a document inside itself stays its id', async () => {
    const a = await create('nodes', { name: 'a' });
    const b = await create('nodes', { name: 'b', next: a });
    await service.call('PATCH', `/api/collections/nodes/${a}`, { next: b, others: [a, b] });
    const found = await node(a, 10);
    assert.equal(found.next.name, 'b');
    assert.equal(found.next.next, a);
    assert.equal(found.others[0], a);
    assert.deepEqual([found.others[1].name, found.others[1].next, found.others[1].previous], ['b', a, [a]]);
  });

  it('are about what is above: one document in two branches is in both, each going on its own way', async () => {
    const leaf = await create('nodes', { name: 'leaf' });
    const shared = await create('nodes', { name: 'shared', next: leaf });
    const left = await create('nodes', { name: 'left', next: shared });
    await service.call('PATCH', `/api/collections/nodes/${leaf}`, { next: left });
    const top = await create('nodes', { name: 'top', others: [left, shared, shared] });
    const [one, two, three] = (await node(top, 4)).others;
    assert.deepEqual([two.next.name, three.next.name], ['leaf', 'leaf']);
    assert.deepEqual(two, three);
    // On the way through left it stands above; on the other way it does not.
    assert.deepEqual([one.next.next.name, one.next.next.next, two.next.next.name], ['leaf', left, 'left']);
  });
});

describe('Relations that stay an id', () => {
  it('is a document that is gone', async () => {
    const gone = await create('nodes', { name: 'gone' });
    const there = await create('nodes', { name: 'there' });
    const id = await create('nodes', { next: gone, others: [gone, there] });
    assert.equal((await service.call('DELETE', `/api/collections/nodes/${gone}`)).status, 200);
    const { next, others } = await node(id, 2);
    assert.deepEqual([next, others[0], others[1].name], [gone, gone, 'there']);
  });

  it('are those that the caller may not read: no rule, a no, one that throws, a where, one that looks', async () => {
    const slugs = ['unruled', 'closed', 'broken', 'some', 'looked'];
    const body: Record<string, string[]> = {};
    for (const slug of slugs) {
      body[slug] = [await create(slug, { name: 'hidden' }), await create(slug, { name: 'shown' })];
    }
    const id = await create('refs', body);
    const seen = (document: Record<string, (string | JsonObject)[]>) => {
      return Object.fromEntries(
        slugs.map((slug) => [slug, document[slug]?.map((one) => (typeof one === 'string' ? 'id' : one.name))]),
      );
    };
    const none = ['id', 'id'];
    assert.deepEqual(seen(await read(`collections/refs/${id}?depth=1`, anonymous)), {
      unruled: none,
      closed: none,
      broken: none,
      some: ['id', 'shown'],
      looked: ['id', 'shown'],
    });
    const filter = await service.call(
      'GET',
      '/api/collections/refs?where[broken.name][equals]=x',
      undefined,
      anonymous,
    );
    assert.equal(filter.status, 400);
    const all = Object.fromEntries(slugs.map((slug) => [slug, ['hidden', 'shown']]));
    assert.deepEqual(seen(await read(`collections/refs/${id}?depth=1`)), all);
  });
});

describe('A populated document', () => {
  it('goes through its hooks and its field access', async () => {
    const hidden = await create('nodes', { name: 'hidden' });
    const hooked = await create('hooked', { name: 'x', secret: 's', hidden });
    const id = await create('refs', { hooked });
    const {
      id: _id,
      createdAt: _c,
      updatedAt: _u,
      ...shown
    } = (await read(`collections/refs/${id}?depth=2`, anonymous)).hooked;
    assert.deepEqual(shown, { name: 'x!?' });
    const trusted = (await read(`collections/refs/${id}?depth=2`)).hooked;
    assert.deepEqual([trusted.name, trusted.secret, trusted.hidden.name], ['x!?', 's', 'hidden']);
  });

  it('goes through its hooks once for a request, and what they return is not changed', async () => {
    const node = await create('nodes', { name: 'node' });
    const one = await create('counted', { node });
    const two = await create('counted', { same: [one, one], node });
    const at = async (depth: number) => (await read(`collections/counted/${two}?depth=${depth}`)).same;
    const calls = async () => (await read(`collections/counted/${one}`)).calls;
    const start = await calls();
    const [left, right] = await at(2);
    // This request ran the hook for the document asked for and for the one inside, the reads of the count for
    // themselves.
    assert.equal((await calls()) - start, 3);
    assert.deepEqual([left.kept.node.name, right.kept.node.name], ['node', 'node']);
    assert.equal((await at(1))[0].kept.node, node);
    assert.equal((await read(`collections/counted/${one}`)).kept.node, node);
  });

  it('is one of at most 20 000: more are refused', async () => {
    const many: string[] = [];
    for (let n = 0; n < 30; n += 1) many.push(await create('nodes', { name: `m${n}` }));
    await Promise.all(many.map((id) => service.call('PATCH', `/api/collections/nodes/${id}`, { others: many })));
    const answer = await service.call('GET', `/api/collections/nodes/${many[0]}?depth=10`);
    assert.equal(answer.status, 400);
    assert.match(errorsOf(answer).depth ?? '', /^depth 10 puts more than 20000 documents into this answer/);
    assert.equal((await node(many[0] as string, 2)).others.length, 30);
  });
});

describe('populate', () => {
  it('asks once per collection and level, however many documents there are', async () => {
    const relation = (name: string, relationTo: string) => ({ name, type: 'relationship', relationTo }) as const;
    const access = { read: () => true };
    const model = checkConfig({
      collections: [
        {
          slug: 'posts',
          access,
          fields: [relation('author', 'people'), { ...relation('tags', 'tags'), hasMany: true }],
        },
        { slug: 'people', access, fields: [relation('tag', 'tags'), relation('home', 'places')] },
        { slug: 'tags', access, fields: [relation('place', 'places')] },
        { slug: 'places', access, fields: [] },
      ],
    });
    const calls: string[] = [];
    const stored: Record<string, (n: number) => JsonObject> = {
      people: (n) => ({ tag: `t${100 + (n % 7)}`, home: `h${n}` }),
      tags: (n) => ({ place: `h${n}` }),
      places: () => ({}),
    };
    const collections = new Map<string, Target>();
    for (const [slug, collection] of model.collections) {
      const some = (ids: readonly string[]) => {
        calls.push(slug);
        return new Map(ids.map((id) => [id, JSON.stringify({ id, ...stored[slug]?.(Number(id.slice(1))) })]));
      };
      collections.set(slug, { slug, model: collection, documents: { some } } as unknown as Target);
    }
    const app = { collections } as unknown as App;
    const request = { auth: {}, app: {} } as unknown as Request;
    const posts = Array.from({ length: 100 }, (_, n): JsonObject => {
      return { id: `p${n}`, author: `a${n}`, tags: [`t${n}`, `t${n % 3}`] };
    });
    const call = { app, request, target: collections.get('posts') as Target };
    const shown = await populate(call, posts, {
      view: { depth: 2, select: null },
      show: async (_, documents) => [...documents],
    });
    assert.deepEqual(calls, ['people', 'tags', 'tags', 'places']);
    assert.deepEqual(shown[42], {
      id: 'p42',
      author: { id: 'a42', tag: { id: 't100', place: 'h100' }, home: { id: 'h42' } },
      tags: [
        { id: 't42', place: { id: 'h42' } },
        { id: 't0', place: { id: 'h0' } },
      ],
    });
    assert.equal(posts[42]?.author, 'a42');
  });
});
