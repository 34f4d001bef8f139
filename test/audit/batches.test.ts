import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { CallOptions } from '../helpers/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Body = any;

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
    {
      slug: 'ruled',
      access: {
        read: ({ user, doc }) => user?.collection === 'users' || doc?.title !== 'hidden',
        delete: ({ user }) => user?.collection === 'users',
      },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'seal', type: 'text', access: { read: () => false } },
      ],
    },
    { slug: 'sealed', fields: [{ name: 'name', type: 'text', access: { read: ({ user }) => user !== null } }] },
    { slug: 'users', auth: true, fields: [] },
    { slug: 'readers', auth: true, access: { read: () => true }, fields: [] },
  ],
} satisfies Config);

const anybody: CallOptions = { key: null };
let admin: CallOptions = {};

before(async () => {
  await service.call('GET', '/health');
  const setupToken = new URL(String(service.setupUrl)).searchParams.get('token');
  const first = { setupToken, email: 'ada@example.org', password: 'correct horse battery' };
  const { body } = await service.call('POST', '/api/collections/users/first-user', first);
  admin = { key: null, headers: { authorization: `Bearer ${body.token}` } };
});

async function bulk(path: string, body: object, options?: CallOptions): Promise<Body> {
  const answer = await service.call('POST', `/api/collections/${path}`, body, options);
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}
const create = (slug: string, ...titles: string[]) =>
  bulk(`${slug}/bulk`, { docs: titles.map((title) => ({ title })) });
const idsOf = ({ results }: Body): string[] => results.map(({ id }: Body) => id);
const ask = (batch: string, options?: CallOptions, query = '') =>
  service.call('GET', `/api/batches/${batch}${query}`, undefined, options);
const read = async (batch: string, options?: CallOptions, query = ''): Promise<Body> => {
  const { status, body } = await ask(batch, options, query);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
};
async function undo(batch: string, body?: object, options?: CallOptions): Promise<string> {
  const answer = await service.call('POST', `/api/batches/${batch}/undo`, body, options);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.batch;
}
const titlesIn = ({ docs }: Body) => docs.map(({ title }: Body) => title);
const none = { created: 0, updated: 0, deleted: 0, restored: 0 };

describe('GET /api/batches/{batch}', () => {
  it('tells who made a call, when, why, and what became of each document', async () => {
    const because = { headers: { 'x-change-reason': 'from the old site' } };
    const made = await bulk('posts/bulk', { docs: [{ title: 'a' }, { title: 'b' }, { title: 'c' }] }, because);
    const found = await read(made.batch);
    const [a, b] = idsOf(made);
    const { recordedAt, actor, docs, ...rest } = await read(made.batch, {}, '?limit=2');
    assert.ok(Math.abs(Date.now() - Date.parse(recordedAt)) < 60_000);
    assert.equal(actor.type, 'apiKey');
    assert.deepEqual(docs, [
      { collection: 'posts', id: a, title: 'a', version: 1, outcome: 'created' },
      { collection: 'posts', id: b, title: 'b', version: 1, outcome: 'created' },
    ]);
    assert.deepEqual(rest, {
      batch: made.batch,
      call: 'create',
      reason: 'from the old site',
      collections: ['posts'],
      outcomes: { ...none, created: 3 },
      undoes: null,
      undoneBy: null,
      total: 3,
      limit: 2,
      page: 1,
      totalPages: 2,
      hasNextPage: true,
      hasPrevPage: false,
      nextPage: 2,
      prevPage: null,
    });
    assert.deepEqual(titlesIn(await read(made.batch, {}, '?limit=2&page=2')), ['c']);
    assert.deepEqual(titlesIn(found), ['a', 'b', 'c']);
    await assertRecorded(service, () => read(made.batch), []);
  });

  it('tells an update and a deletion, and which call undid which', async () => {
    const made = await create('posts', 'a', 'b');
    const changed = await bulk('posts/bulk/update', { ids: idsOf(made), data: { title: 'x' } });
    const first = await undo(changed.batch);
    const updated = await read(changed.batch);
    assert.deepEqual([updated.call, updated.outcomes, updated.undoneBy], ['update', { ...none, updated: 2 }, first]);
    const gone = await bulk('posts/bulk/delete', { ids: idsOf(made) });
    const back = await undo(gone.batch);
    const again = await undo(back);
    const [deletion, restoring, deleting] = [await read(gone.batch), await read(back), await read(again)];
    assert.deepEqual([deletion.call, deletion.outcomes, deletion.undoneBy], ['delete', { ...none, deleted: 2 }, back]);
    assert.deepEqual(
      [restoring.call, restoring.outcomes, restoring.undoes, restoring.undoneBy],
      ['undo', { ...none, restored: 2 }, gone.batch, again],
    );
    assert.deepEqual(
      [deleting.call, deleting.outcomes, deleting.undoes, deleting.undoneBy],
      ['undo', { ...none, deleted: 2 }, back, null],
    );
    assert.equal((await read(made.batch)).undoneBy, null);
  });

  it('finds an undoing that was forced after later changes', async () => {
    const made = await create('posts', 'a', 'b');
    const [id] = idsOf(made);
    const changed = await bulk('posts/bulk/update', { ids: idsOf(made), data: { title: 'x' } });
    for (const title of ['y', 'z']) await service.call('PATCH', `/api/collections/posts/${id}`, { title });
    await bulk('posts/bulk/update', { ids: idsOf(made), data: { title: 'w' } });
    assert.equal((await read(changed.batch)).undoneBy, null);
    const forced = await undo(changed.batch, { force: true });
    assert.equal((await read(changed.batch)).undoneBy, forced);
  });

  it('counts erased documents, and does not list them; the others still tell of the call', async () => {
    const made = await create('posts', 'a', 'b');
    const [a, b] = idsOf(made);
    const undone = await undo(made.batch);
    await undo(undone);
    const erasure = { collection: 'posts', id: a, reason: 'asked for' };
    assert.ok((await service.call('POST', '/api/audit/erasures', erasure)).status < 300);
    const { outcomes, total, docs, call, undoneBy } = await read(made.batch);
    assert.deepEqual([call, outcomes, total, undoneBy], ['create', { ...none, created: 2 }, 1, undone]);
    assert.equal(docs[0].id, b);
  });

  it('tells a reader only what follows from the documents that the reader may read', async () => {
    const because = { headers: { 'x-change-reason': 'a secret' } };
    const docs = [{ title: 'shown', seal: 's' }, { title: 'hidden' }, { title: 'shown too' }];
    const made = await bulk('ruled/bulk', { docs }, because);
    const seen = await read(made.batch, anybody);
    assert.deepEqual(
      [titlesIn(seen), seen.total, seen.outcomes, seen.actor, seen.reason],
      [['shown', 'shown too'], 2, { ...none, created: 2 }, null, null],
    );
    const all = await read(made.batch, admin);
    assert.deepEqual([all.total, all.outcomes.created, all.actor.type, all.reason], [3, 3, 'apiKey', 'a secret']);
    // A deleted document is shown to those alone who may see the trash.
    const [shown] = idsOf(made);
    await service.call('DELETE', `/api/collections/ruled/${shown}`);
    assert.deepEqual(titlesIn(await read(made.batch, anybody)), ['shown too']);
    assert.equal((await read(made.batch, admin)).total, 3);
  });

  it('does not name a call of whose documents the reader may read none', async () => {
    const made = await create('ruled', 'shown', 'hidden');
    const [shown] = idsOf(made);
    const changed = await bulk('ruled/bulk/update', { ids: idsOf(made), data: { seal: 'x' } });
    // So the undoing changes only the hidden document.
    await service.call('PATCH', `/api/collections/ruled/${shown}`, { seal: null });
    const back = await undo(changed.batch, { force: true });
    assert.deepEqual(titlesIn(await read(changed.batch, anybody)), ['shown']);
    assert.equal((await read(changed.batch, anybody)).undoneBy, null);
    assert.equal((await read(changed.batch, admin)).undoneBy, back);
    assert.equal((await ask(back, anybody)).status, 404);
  });

  it('is the same 404 for a call that the caller may not know, and for none', async () => {
    const made = await create('ruled', 'hidden', 'hidden');
    const none = randomUUID();
    for (const [batch, options] of [
      [made.batch, anybody],
      [none, anybody],
      [none, {}],
      ['odd', {}],
    ] as const) {
      const { status, body } = await ask(batch, options);
      assert.deepEqual(
        [status, body],
        [404, { statusCode: 404, error: 'Not Found', message: `there is no bulk call "${batch}"`, code: 'not_found' }],
      );
    }
    const { body: key } = await service.call('POST', '/api/keys', {
      name: 'posts only',
      scopes: [{ collections: ['posts'], operations: ['read'] }],
    });
    assert.equal((await ask(made.batch, { key: key.secret })).status, 404);
    const { body: headers } = await service.call('POST', '/api/keys', { name: 'h', scopes: [], audit: ['headers'] });
    const told = await read(made.batch, { key: headers.secret });
    assert.deepEqual([told.outcomes.created, told.total, told.docs, told.reason], [2, 0, [], null]);
    assert.equal((await ask(made.batch, { key: 'wrong' })).status, 401);
  });

  it('shows no title that the rules of fields hide', async () => {
    const made = await bulk('sealed/bulk', { docs: [{ name: 'for users' }] });
    const { body: key } = await service.call('POST', '/api/keys', {
      name: 'reads',
      scopes: [{ collections: ['sealed'], operations: ['read'] }],
    });
    for (const [options, title] of [
      [{ key: key.secret }, 'for users'],
      [admin, 'for users'],
    ] as const) {
      assert.deepEqual(titlesIn(await read(made.batch, options)), [title]);
    }
    assert.equal((await ask(made.batch, anybody)).status, 404);
  });

  it('refuses parameters that it does not have', async () => {
    const { batch } = await create('posts', 'a');
    for (const [query, message] of [
      ['?page=0', 'page must be'],
      ['?asOf=1', 'asOf is not a query parameter'],
      ['?pag=1', 'did you mean "page"'],
    ] as const) {
      const { status, body } = await ask(batch, {}, query);
      assert.equal(status, 400, query);
      assert.ok(body.errors[0].message.includes(message), JSON.stringify(body));
    }
  });
});
