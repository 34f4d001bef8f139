import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { describeWithPostgres, type TestDatabase, useDatabase } from '../../helpers/postgres.ts';
import type { Answer, Service } from '../../helpers/service.ts';
import { useStarted } from '../../helpers/shared.ts';
import { assertClaims } from './claims.ts';
import { config, startNode } from './node.ts';

type Two = { call: Service['call']; a: Service; b: Service; database: TestDatabase };

const seats = {
  slug: 'seats',
  fields: [
    { name: 'code', type: 'text', unique: true },
    { name: 'place', type: 'number', unique: true },
  ],
};
const withSeats = { ...config, collections: [...config.collections, seats] };

describeWithPostgres('Two nodes with one log in PostgreSQL', () => {
  const make = useDatabase();
  // One of the nodes answers in threads of its own.
  const two = useStarted<Two>(async (t) => {
    const database = await make();
    const { address } = database;
    const a = await startNode(t, address, { config: withSeats });
    const b = await startNode(t, address, { config: withSeats, threads: 2 });
    return { call: a.call, a, b, database };
  });
  let calls = 0;

  /** Calls as through a balancer that gives each call to the next node. */
  function call(...args: Parameters<Service['call']>): Promise<Answer> {
    calls += 1;
    return (calls % 2 === 0 ? two.a : two.b).call(...args);
  }

  async function create(data: object): Promise<Answer> {
    const made = await call('POST', '/api/collections/posts', data);
    assert.equal(made.status, 201, JSON.stringify(made.body));
    return made;
  }

  it('answer reads and writes of what the other has acknowledged', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { body } = await create({ title: `post ${round}`, count: round });
      const path = `/api/collections/posts/${body.id}`;
      assert.deepEqual((await call('GET', path)).body, body);
      for (let count = 1; count <= 3; count += 1) {
        const changed = await call('PATCH', path, { count });
        assert.equal(changed.status, 200, JSON.stringify(changed.body));
        assert.deepEqual((await call('GET', path)).body, changed.body);
      }
      assert.equal((await call('DELETE', path)).status, 200);
      assert.equal((await call('GET', path)).status, 404);
    }
    assert.equal((await call('PATCH', '/api/globals/site', { name: 'one' })).status, 200);
    assert.equal((await call('GET', '/api/globals/site')).body.name, 'one');
  });

  it('have one version of a document: If-Match of one holds on the other', async () => {
    const made = await create({ title: 'first' });
    const path = `/api/collections/posts/${made.body.id}`;
    const read = await call('GET', path);
    const etag = String(read.headers.get('etag'));
    assert.equal((await call('PATCH', path, { title: 'second' }, { headers: { 'if-match': etag } })).status, 200);
    assert.equal((await call('PATCH', path, { title: 'third' }, { headers: { 'if-match': etag } })).status, 412);
    assert.equal((await call('GET', path)).body.title, 'second');
  });

  it('give a unique value to one of those that want it at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const body = { title: 'wanted', slug: `wanted-${round}` };
      const answers = await Promise.all(Array.from({ length: 6 }, () => call('POST', '/api/collections/posts', body)));
      const statuses = answers.map(({ status }) => status).sort();
      assert.deepEqual(statuses, [201, 409, 409, 409, 409, 409], JSON.stringify(answers.map((answer) => answer.body)));
    }
  });

  it('lose no unique value by bulk calls that swap values of the same documents at the same time', async () => {
    const codes = ['a', 'b', 'c', 'd'];
    const upsert = (node: Service, places: Map<string, number>) => {
      const docs = [...places].map(([code, place]) => ({ code, place }));
      return node.call('POST', '/api/collections/seats/bulk', { docs, upsertBy: 'code' });
    };
    assert.equal((await upsert(two.a, new Map(codes.map((code, place) => [code, place])))).status, 200);
    const statuses: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      const { body } = await call('GET', '/api/collections/seats?sort=code');
      const places: number[] = body.docs.map(({ place }: { place: number }) => place);
      assert.deepEqual(places.toSorted(), [0, 1, 2, 3]);
      const rotated = (from: number, to: number) => {
        const part = places.slice(from, to);
        return new Map(part.map((_, at) => [codes[from + at] ?? '', part[(at + 1) % part.length] ?? 0]));
      };
      const answers = await Promise.all([upsert(two.a, rotated(0, 2)), upsert(two.b, rotated(1, 4))]);
      for (const { status, body } of answers) assert.ok(status === 200 || status === 409, JSON.stringify(body));
      statuses.push(...answers.map(({ status }) => status));
    }
    assert.ok(statuses.filter((status) => status === 200).length >= 10, statuses.join());
    for (const node of [two.a, two.b]) assert.equal((await node.call('GET', '/api/collections/seats')).body.total, 4);
    await assertClaims(two.database, [two.a, two.b], { posts: ['slug'], seats: ['code', 'place'] });
  });

  it('record a write once whose key both are sent', async () => {
    const headers = { 'idempotency-key': 'the-same-on-both' };
    const answers = await Promise.all(
      [two.a, two.b].map((node) => node.call('POST', '/api/collections/posts', { title: 'once' }, { headers })),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201],
    );
    assert.equal(answers[0]?.body.id, answers[1]?.body.id);
    const found = await call('GET', '/api/collections/posts?where[title][equals]=once');
    assert.equal(found.body.total, 1);
  });

  it('lose no change of one document by writes at the same time', async () => {
    const { body } = await create({ title: 'counted', count: 0 });
    const path = `/api/collections/posts/${body.id}`;
    async function increment(node: Service): Promise<void> {
      for (;;) {
        const read = await node.call('GET', path);
        const headers = { 'if-match': String(read.headers.get('etag')) };
        const { status } = await node.call('PATCH', path, { count: read.body.count + 1 }, { headers });
        if (status === 200) return;
        assert.equal(status, 412);
      }
    }
    await Promise.all(Array.from({ length: 8 }, (_, index) => increment(index % 2 === 0 ? two.a : two.b)));
    assert.equal((await call('GET', path)).body.count, 8);
  });

  it('say the same of the past, of who did it, and prove it by the same tree', async () => {
    const made = await create({ title: 'past' });
    const path = `/api/collections/posts/${made.body.id}`;
    await call('PATCH', path, { title: 'present' });
    const then = Number(made.headers.get('annals-position'));
    const questions = [
      `${path}?asOf=${then}`,
      `/api/audit/documents/posts/${made.body.id}`,
      `/api/audit/events?limit=100`,
      `/api/collections/posts?limit=100&sort=-createdAt`,
      '/api/schemas',
      '/api/openapi.json',
    ];
    for (const question of questions) {
      const [one, other] = await Promise.all([two.a.call('GET', question), two.b.call('GET', question)]);
      assert.equal(one.status, 200, `${question}: ${JSON.stringify(one.body)}`);
      assert.deepEqual(other.body, one.body, question);
    }
    const proof = `/api/audit/proofs/${then}?format=json`;
    const [one, other] = await Promise.all([two.a.call('GET', proof), two.b.call('GET', proof)]);
    assert.equal(one.status, 200, JSON.stringify(one.body));
    const { checkpoint: _, ...rest } = one.body;
    const { checkpoint: __, ...others } = other.body;
    assert.deepEqual(others, rest);
  });

  it('tell the position of a write, from which on reads have it', async () => {
    const first = Number((await create({ title: 'position' })).headers.get('annals-position'));
    const second = Number((await create({ title: 'position' })).headers.get('annals-position'));
    assert.ok(first > 0);
    assert.equal(second, first + 1);
    assert.equal((await call('GET', '/api/collections/posts')).headers.get('annals-position'), null);
  });

  it('erase on both what one of them is told to erase', async () => {
    const { body } = await create({ title: 'to be erased', slug: 'erased' });
    const erased = await call('POST', '/api/audit/erasures', { collection: 'posts', id: body.id, reason: 'asked for' });
    assert.equal(erased.body.erases.versions, 1, JSON.stringify(erased.body));
    for (const node of [two.a, two.b]) {
      assert.equal((await node.call('GET', `/api/collections/posts/${body.id}`)).status, 404);
      await untilErased(node, Number(erased.body.position));
    }
    assert.equal((await create({ title: 'another', slug: 'erased' })).status, 201);
  });
});

/**
 * Each node clears its own files, and one of them those of PostgreSQL, some time after they were told of the erasure.
 */
async function untilErased(node: Service, position: number): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const { body } = await node.call('GET', `/api/audit/erasures/${position}`);
    if (body.finished === true) return;
    assert.ok(tries < 1200, JSON.stringify(body));
    await wait(50);
  }
}
