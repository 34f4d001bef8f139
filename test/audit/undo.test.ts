import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { AuditScope, Hook } from '../../config/model.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { CallOptions } from '../helpers/service.ts';
import { errorsOf } from '../helpers/shared.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents of every shape
type Body = any;

const ran: string[] = [];
const note: Hook = ({ data, operation }) => {
  ran.push(`${operation} ${data.title}`);
  return data;
};

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  audit: ({ apiKey, user, req }) =>
    (req?.headers['x-scopes']?.split(' ') as AuditScope[] | undefined) ?? (apiKey !== null || user !== null),
  collections: [
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'code', type: 'text', unique: true },
        { name: 'n', type: 'number' },
        { name: 'next', type: 'relationship', relationTo: 'posts' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
      ],
    },
    {
      slug: 'hooked',
      requireReason: true,
      fields: [{ name: 'title', type: 'text' }],
      hooks: { beforeChange: note, afterChange: note, beforeDelete: note, afterDelete: note },
    },
    {
      slug: 'ruled',
      access: {
        create: ({ user }) => user !== null,
        update: ({ req }) => req?.headers['x-may'] === 'update',
        delete: ({ req }) => req?.headers['x-may'] === 'delete',
        read: ({ doc }) => doc?.title !== 'hidden',
      },
      fields: [
        { name: 'title', type: 'text' },
        { name: 'rank', type: 'text', access: { update: () => false } },
        { name: 'seal', type: 'text', access: { read: () => false, update: () => false } },
      ],
    },
    { slug: 'users', auth: true, fields: [{ name: 'name', type: 'text' }] },
  ],
} satisfies Config);

let admin: CallOptions = {};
const as = (headers: Record<string, string>): CallOptions => ({ ...admin, headers: { ...admin.headers, ...headers } });

before(async () => {
  await service.call('GET', '/health');
  const token = new URL(String(service.setupUrl)).searchParams.get('token');
  const { body } = await service.call('POST', '/api/collections/users/first-user', {
    setupToken: token,
    email: 'ada@example.org',
    password: 'correct horse battery',
  });
  admin = { key: null, headers: { authorization: `Bearer ${body.token}` } };
});

const bulk = async (path: string, body: object, options?: CallOptions): Promise<Body> => {
  const answer = await service.call('POST', `/api/collections/${path}`, body, options);
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
};
const undo = (batch: string, body?: object, options?: CallOptions, query = '') =>
  service.call('POST', `/api/batches/${batch}/undo${query}`, body, options);
const idsOf = ({ results }: Body): string[] => results.map(({ id }: Body) => id);
const read = async (slug: string, id = '', options?: CallOptions): Promise<Body> =>
  (await service.call('GET', `/api/collections/${slug}/${id}`, undefined, options)).body;
const outcomes = ({ results }: Body): unknown[] => results.map(({ version, outcome }: Body) => [version, outcome]);

let count = 0;
function fresh(): string {
  count += 1;
  return `u${count}`;
}

describe('POST /api/batches/{batch}/undo', () => {
  it('deletes what the call created, and a second undo restores it', async () => {
    const codes = [fresh(), fresh()];
    const made = await bulk('posts/bulk', { docs: codes.map((code) => ({ title: code, code, tags: ['a'] })) });
    const [a, b] = idsOf(made);
    const { status, body } = await assertRecorded(service, () => undo(made.batch), [
      `document.deleted posts/${a}`,
      `document.deleted posts/${b}`,
    ]);
    assert.deepEqual(
      [status, body],
      [
        200,
        {
          matched: 2,
          changed: 2,
          results: [
            { index: 0, collection: 'posts', id: a, version: 2, outcome: 'deleted' },
            { index: 1, collection: 'posts', id: b, version: 2, outcome: 'deleted' },
          ],
          batch: body.batch,
        },
      ],
    );
    assert.notEqual(body.batch, made.batch);
    const back = await assertRecorded(service, () => undo(body.batch), ['document.restored', 'document.restored']);
    assert.deepEqual(outcomes(back.body), [
      [3, 'restored'],
      [3, 'restored'],
    ]);
    const { title, code, tags } = await read('posts', a);
    assert.deepEqual({ title, code, tags }, { title: codes[0], code: codes[0], tags: ['a'] });
    // A restore of deleted documents is undone by a delete.
    assert.deepEqual(outcomes((await undo(back.body.batch)).body), [
      [4, 'deleted'],
      [4, 'deleted'],
    ]);
    const { body: events } = await service.call('GET', `/api/audit/events?batch=${back.body.batch}`);
    assert.deepEqual(
      events.docs.map(({ header, data }: Body) => [header.stream, data.source.version]),
      [
        [`posts/${a}`, 1],
        [`posts/${b}`, 1],
      ],
    );
  });

  it('gives changed fields the values from before, and undoes an upsert in each of its parts', async () => {
    const [one, two, three] = [fresh(), fresh(), fresh()];
    const made = await bulk('posts/bulk', {
      docs: [
        { title: 'a', code: one, n: 1, tags: ['b'] },
        { title: 'b', code: two },
      ],
    });
    const [a = '', b = ''] = idsOf(made);
    const docs = [
      { code: one, title: 'x', tags: [], n: null },
      { code: two, title: 'b', next: a },
      { code: three, title: 'c' },
    ];
    const changed = await bulk('posts/bulk', { docs, upsertBy: 'code' });
    const c = idsOf(changed)[2];
    await bulk('posts/bulk/delete?dryRun=true', { ids: [c] });
    const { body } = await assertRecorded(service, () => undo(changed.batch), [
      `document.updated posts/${a}`,
      `document.updated posts/${b}`,
      `document.deleted posts/${c}`,
    ]);
    assert.deepEqual(outcomes(body), [
      [3, 'updated'],
      [3, 'updated'],
      [2, 'deleted'],
    ]);
    const { title, n, tags } = await read('posts', a);
    assert.deepEqual({ title, n, tags }, { title: 'a', n: 1, tags: ['b'] });
    assert.equal((await read('posts', b)).next, null);
    const { body: events } = await service.call('GET', `/api/audit/events?batch=${body.batch}`);
    assert.deepEqual(
      events.docs.map(({ context }: Body) => context.rule),
      ['apiKey', 'apiKey', 'apiKey'],
    );
  });

  it('answers 409 naming documents that have gone on since, unless it is forced', async () => {
    const made = await bulk('posts/bulk', { docs: ['a', 'b', 'c', 'd'].map((title) => ({ title, n: 1 })) });
    const ids = idsOf(made);
    const [a, b, c, d] = ids;
    const changed = await bulk('posts/bulk/update', { ids, data: { title: 'x' } });
    await service.call('PATCH', `/api/collections/posts/${a}`, { n: 2 });
    await service.call('PATCH', `/api/collections/posts/${b}`, { title: 'y' });
    await service.call('DELETE', `/api/collections/posts/${c}`);
    for (const [body, query] of [[undefined], [{ force: false }], [{}, '?dryRun=true']] as const) {
      const answer = await assertRecorded(service, () => undo(changed.batch, body, {}, query), []);
      assert.equal(answer.status, 409);
      assert.partialDeepStrictEqual(answer.body.errors, [{ in: 'body', code: 'changed_since' }]);
      assert.deepEqual(errorsOf(answer), {
        [`posts/${a}`]: `posts/${a} is at version 3, the call made 2`,
        [`posts/${b}`]: `posts/${b} is at version 3, the call made 2`,
        [`posts/${c}`]: `posts/${c} is at version 3, the call made 2`,
      });
    }
    const dry = await assertRecorded(service, () => undo(changed.batch, { force: true }, {}, '?dryRun=true'), []);
    const expected = [
      [4, 'updated'],
      [4, 'updated'],
      [3, 'unchanged'],
      [3, 'updated'],
    ];
    assert.deepEqual([outcomes(dry.body), dry.body.changed, dry.body.batch], [expected, 3, null]);
    const forced = await assertRecorded(service, () => undo(changed.batch, { force: true }), [
      `document.updated posts/${a}`,
      `document.updated posts/${b}`,
      `document.updated posts/${d}`,
    ]);
    assert.deepEqual(outcomes(forced.body), expected);
    const shown = await Promise.all([a, b, d].map((id) => read('posts', id)));
    // Later changes of other fields stay.
    assert.deepEqual(
      shown.map(({ title, n }) => [title, n]),
      [
        ['a', 2],
        ['b', 1],
        ['d', 1],
      ],
    );
    const gone = await bulk('posts/bulk/delete', { ids: [a, b] });
    await service.call('POST', `/api/collections/posts/${a}/restore`, { version: 1 });
    const { body } = await undo(gone.batch, { force: true });
    assert.deepEqual(
      body.results.map(({ outcome }: Body) => outcome),
      ['unchanged', 'restored'],
    );
    const all = await undo(made.batch, { force: true });
    assert.deepEqual(
      all.body.results.map(({ outcome }: Body) => outcome),
      ['deleted', 'deleted', 'unchanged', 'deleted'],
    );
    const nothing = await assertRecorded(service, () => undo(made.batch, { force: true }), []);
    assert.deepEqual([nothing.body.changed, nothing.body.batch], [0, null]);
  });

  it('answers 409 for unique values that others have by now, and for what was erased', async () => {
    const code = fresh();
    const made = await bulk('posts/bulk', { docs: [{ title: 'a', code }, { title: 'b' }] });
    const [a, b] = idsOf(made);
    const gone = await bulk('posts/bulk/delete', { ids: [a, b] });
    const rival = await bulk('posts/bulk', { docs: [{ title: 'c', code }] });
    for (const query of ['?dryRun=true', '']) {
      const answer = await assertRecorded(service, () => undo(gone.batch, {}, {}, query), []);
      assert.equal(answer.status, 409);
      assert.deepEqual(errorsOf(answer), { [`posts/${a}.code`]: `posts/${a}.code is taken by another document` });
    }
    await undo(rival.batch);
    const erased = { collection: 'posts', id: b, reason: 'asked for' };
    const erasure = await service.call('POST', '/api/audit/erasures', erased);
    assert.ok(erasure.status === 201 || erasure.status === 202);
    const answer = await assertRecorded(service, () => undo(gone.batch, { force: true }), []);
    assert.deepEqual([answer.status, answer.body.message], [409, `posts/${b} was erased: what it was is not known`]);
  });

  it('keeps the id of a document that is gone since', async () => {
    const made = await bulk('posts/bulk', { docs: [{ title: 'a' }, { title: 'b' }] });
    const [a, b] = idsOf(made);
    await service.call('PATCH', `/api/collections/posts/${a}`, { next: b });
    const changed = await bulk('posts/bulk/update', { ids: [a], data: { next: null } });
    await service.call('DELETE', `/api/collections/posts/${b}`);
    assert.equal((await undo(changed.batch)).status, 200);
    assert.equal((await read('posts', a)).next, b);
  });

  it('needs the scope payloads, and the right to each step', async () => {
    const made = await bulk('ruled/bulk', { docs: [{ title: 'a', rank: '1' }, { title: 'b' }] }, admin);
    const [a, b] = idsOf(made);
    assert.equal((await undo(made.batch, {}, { key: null })).status, 401);
    assert.equal((await undo(made.batch, {}, as({ 'x-scopes': 'headers' }))).status, 403);
    const refused = await assertRecorded(service, () => undo(made.batch, {}, as({ 'x-may': 'update' })), []);
    assert.equal(refused.status, 403);
    assert.deepEqual(errorsOf(refused), {
      [`ruled/${a}`]: `you may not delete ruled/${a}`,
      [`ruled/${b}`]: `you may not delete ruled/${b}`,
    });
    const changed = await bulk('ruled/bulk/update', { ids: [a], data: { title: 'x', rank: '2' } });
    const field = await assertRecorded(service, () => undo(changed.batch, {}, as({ 'x-may': 'update' })), []);
    assert.deepEqual(errorsOf(field), { [`ruled/${a}.rank`]: `ruled/${a}: you may not update rank` });
    const sealed = await bulk('ruled/bulk/update', { ids: [a], data: { seal: 'x' } });
    const unseen = await assertRecorded(service, () => undo(sealed.batch, {}, as({ 'x-may': 'update' })), []);
    assert.deepEqual(
      [unseen.status, errorsOf(unseen)],
      [403, { [`ruled/${a}`]: `ruled/${a}: you may not update a field that you may not read` }],
    );
    const hidden = await bulk('ruled/bulk', { docs: [{ title: 'hidden' }] }, admin);
    const shown = await bulk('ruled/bulk/update', { ids: idsOf(hidden), data: { title: 'x' } });
    const past = await assertRecorded(service, () => undo(shown.batch, {}, as({ 'x-may': 'update' })), []);
    assert.equal(past.status, 403);
    const gone = await bulk('ruled/bulk/delete', { ids: idsOf(hidden) });
    // The document was visible when it was deleted.
    const back = await undo(gone.batch, {}, admin);
    assert.deepEqual([back.status, back.body.results[0].outcome], [200, 'restored']);
    const { body } = await undo(made.batch, { force: true }, as({ 'x-may': 'delete' }));
    assert.equal(body.changed, 2);
    const { body: events } = await service.call('GET', `/api/audit/events?batch=${body.batch}`);
    assert.equal(events.docs[0].context.rule, 'ruled.delete');
  });

  it('is closed to keys if accounts are, and deletes accounts with their sessions', async () => {
    const docs = [{ email: 'grace@example.org' }, { email: 'joan@example.org' }];
    const made = await bulk('users/bulk', { docs }, admin);
    const [grace] = idsOf(made);
    const password = 'correct horse battery';
    await service.call('PATCH', `/api/collections/users/${grace}`, { password }, admin);
    assert.equal((await undo(made.batch)).status, 403);
    const { status, body } = await undo(made.batch, {}, admin);
    assert.deepEqual([status, body.changed], [200, 2]);
    const login = { email: 'grace@example.org', password };
    assert.equal((await service.call('POST', '/api/collections/users/login', login)).status, 401);
  });

  it('runs the hooks of each document, and wants a reason if the collection does', async () => {
    const because = { headers: { 'x-change-reason': 'why' } };
    const made = await bulk('hooked/bulk', { docs: [{ title: 'a' }, { title: 'b' }] }, because);
    const answer = await undo(made.batch);
    assert.equal(answer.status, 400);
    assert.match(errorsOf(answer)['x-change-reason'] ?? '', /is required/);
    ran.length = 0;
    const dry = await undo(made.batch, {}, because, '?dryRun=true');
    assert.deepEqual([dry.status, ran], [200, []]);
    const gone = await undo(made.batch, {}, because);
    assert.deepEqual(ran, ['delete a', 'delete b', 'delete a', 'delete b']);
    ran.length = 0;
    await undo(gone.body.batch, {}, because);
    assert.deepEqual(ran, ['create a', 'create b', 'create a', 'create b']);
    const { body } = await service.call('GET', `/api/audit/events?batch=${gone.body.batch}`);
    assert.deepEqual(
      body.docs.map(({ context }: Body) => context.reason),
      ['why', 'why'],
    );
  });

  it('is done once for each Idempotency-Key', async () => {
    const made = await bulk('posts/bulk', { docs: [{ title: 'a' }, { title: 'b' }] });
    const options = { headers: { 'idempotency-key': fresh() } };
    const first = await undo(made.batch, {}, options);
    const again = await assertRecorded(service, () => undo(made.batch, {}, options), []);
    assert.deepEqual([again.status, again.body], [200, first.body]);
    assert.equal((await undo(made.batch, { force: true }, options)).status, 422);
    assert.equal((await undo(made.batch, {}, options, '?dryRun=true')).status, 400);
  });

  it('answers 404 for an unknown batch, 400 for a body that is otherwise, and for If-Match', async () => {
    assert.equal((await undo(randomUUID())).status, 404);
    assert.equal((await undo('x')).status, 404);
    const made = await bulk('posts/bulk', { docs: [{ title: 'a' }] });
    const wrong: [body: object, field: string, message: RegExp][] = [
      [{ forced: true }, 'forced', /did you mean "force"/],
      [{ force: 'yes' }, 'force', /^force must be true or false, got "yes"$/],
      [{ dryRun: true }, 'dryRun', /^dryRun belongs in the query, not in the body: \?dryRun=true$/],
      [[], '', /^the body must be a JSON object$/],
    ];
    for (const [body, field, message] of wrong) {
      const answer = await undo(made.batch, body);
      assert.equal(answer.status, 400);
      assert.match(errorsOf(answer)[field] ?? '', message);
    }
    assert.equal((await undo(made.batch, {}, { headers: { 'if-match': '*' } })).status, 400);
    const query = await service.call('POST', `/api/batches/${made.batch}/undo?force=true`, {});
    assert.match(errorsOf(query).force ?? '', /is not a query parameter/);
  });
});
