import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from './embedded.ts';
import { assertRecorded, assertRefusalRecordsNothing } from './recorded.ts';

const service = useServiceHere({ collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }] });
const posts = '/api/collections/posts';
const create = () => service.call('POST', posts, { title: 'a' });

describe('assertRecorded', () => {
  it('takes the type of an event, its type and stream, or some of its members', async () => {
    const { body } = await assertRecorded(service, create, ['document.created']);
    const path = `${posts}/${body.id}`;
    await assertRecorded(service, () => service.call('PATCH', path, { title: 'b' }), [
      `document.updated posts/${body.id}`,
    ]);
    await assertRecorded(
      service,
      () => service.call('DELETE', path),
      (answer) => [
        { type: 'document.deleted', data: {}, correlationId: answer.headers.get('x-request-id') ?? 'it has one' },
      ],
    );
    await assertRecorded(service, () => service.call('DELETE', path), []);
  });

  it('fails if less is recorded, more, in another order, or something else', async () => {
    const twice = async () => [await create(), await create()];
    const fails = (run: () => Promise<unknown>, expected: Parameters<typeof assertRecorded>[2]) =>
      assert.rejects(assertRecorded(service, run, expected, 1 / 600), { code: 'ERR_ASSERTION' });
    await fails(create, []);
    await fails(async () => {}, ['document.created']);
    await fails(twice, ['document.created']);
    await fails(create, ['document.created', 'document.created']);
    await fails(create, ['document.updated']);
    await fails(create, ['document.created posts/another']);
    await fails(create, [{ type: 'document.created', actor: { type: 'anonymous' } }]);
    const { body } = await create();
    const path = `${posts}/${body.id}`;
    const change = async () => {
      await service.call('PATCH', path, { title: 'b' });
      await service.call('DELETE', path);
    };
    await fails(change, ['document.deleted', 'document.updated']);
  });
});

describe('A call of a test service', () => {
  it('fails if a refused or repeated write has recorded something', async () => {
    const answer = await create();
    const check = (status: number, headers = {}) => {
      const given = new Headers({ 'x-request-id': answer.headers.get('x-request-id') ?? '', ...headers });
      assertRefusalRecordsNothing(service.data, `POST ${posts}`, { ...answer, status, headers: given });
    };
    check(201);
    assert.throws(() => check(409), /POST \/api\/collections\/posts answered 409, and recorded this/);
    assert.throws(() => check(201, { 'idempotent-replayed': 'true' }), /and recorded this/);
    check(409, { 'x-request-id': 'of another request' });
  });
});
