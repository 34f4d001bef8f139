import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { bearer } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import { assertRecorded } from '../../helpers/recorded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';

const service = useServiceHere(`export default {
  bcryptCost: 4,
  collections: [
    { slug: 'people', auth: true, fields: [] },
    {
      slug: 'posts',
      access: { create: ({ req }) => req.headers['x-may'] !== 'no', update: ({ doc }) => doc.title !== 'locked', delete: () => ({ title: { equals: 'own' } }) },
      fields: [{ name: 'title', type: 'text' }, { name: 'n', type: 'number' }],
    },
  ],
}`);
const posts = '/api/collections/posts';
let ada: CallOptions;

/** A call under an idempotency key. */
const named = (key: string, as: CallOptions = {}, headers: Record<string, string> = {}): CallOptions => ({
  ...as,
  headers: { ...as.headers, ...headers, 'idempotency-key': key },
});
const isReplayed = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true';

describe('An idempotency key', () => {
  before(async () => {
    const setupToken = new URL(service.setupUrl ?? '').searchParams.get('token');
    const first = { setupToken, email: 'ada@example.org', password: 'correct horse' };
    const { body } = await service.call('POST', '/api/collections/people/first-user', first, { key: null });
    ada = bearer(body.token);
  });

  it('stands for one body, reason and condition: another one is a 422, and records nothing', async () => {
    const { body, headers } = await service.call('POST', posts, { title: 'a', n: 1 }, named('made'));
    const again = await assertRecorded(
      service,
      () => service.call('POST', posts, { n: 1, title: 'a' }, named('made')),
      [],
    );
    assert.deepEqual([again.status, again.body, isReplayed(again)], [201, body, true]);
    const path = `${posts}/${body.id}`;
    const etag = headers.get('etag') ?? '';
    const changed = await service.call('PATCH', path, { title: 'b' }, named('changed', {}, { 'if-match': etag }));
    assert.equal(changed.status, 200);
    const others: [method: string, path: string, body: object, options: CallOptions][] = [
      ['POST', posts, { title: 'a', n: 2 }, named('made')],
      ['POST', posts, { title: 'a' }, named('made')],
      ['POST', posts, { title: 'a', n: 1 }, named('made', {}, { 'x-change-reason': 'so' })],
      ['PATCH', path, { title: 'b' }, named('changed')],
      ['PATCH', path, { title: 'b' }, named('changed', {}, { 'if-match': '*' })],
    ];
    for (const [method, at, sent, options] of others) {
      const { status } = await assertRecorded(service, () => service.call(method, at, sent, options), []);
      assert.equal(status, 422, JSON.stringify([method, sent, options]));
    }
  });

  it('is of its caller, and of its route', async () => {
    const first = await service.call('POST', posts, { title: 'a' }, named('k'));
    const byAda = await service.call('POST', posts, { title: 'a' }, named('k', ada));
    assert.deepEqual([first.status, byAda.status, isReplayed(byAda)], [201, 201, false]);
    assert.notEqual(byAda.body.id, first.body.id);
    const elsewhere = await service.call('PATCH', `${posts}/${first.body.id}`, { title: 'a' }, named('k'));
    assert.deepEqual([elsewhere.status, isReplayed(elsewhere)], [200, false]);
  });

  it('gives the first answer to no caller who may not do it any more', async () => {
    const created = await service.call('POST', posts, { title: 'a' }, named('create', ada));
    const path = `${posts}/${created.body.id}`;
    const create = () => service.call('POST', posts, { title: 'a' }, named('create', ada, { 'x-may': 'no' }));
    const update = () => service.call('PATCH', path, { n: 1 }, named('update', ada));
    const end = () => service.call('DELETE', path, undefined, named('end', ada));
    assert.deepEqual([(await create()).status, (await update()).status, (await update()).status], [403, 200, 200]);
    await service.call('PATCH', path, { title: 'locked' });
    assert.deepEqual([(await update()).status, (await end()).status], [403, 403]);
    await service.call('PATCH', path, { title: 'own' });
    const [gone, again] = [await end(), await end()];
    assert.deepEqual([gone.status, again.status, again.body, isReplayed(again)], [200, 200, gone.body, true]);
  });
});
