import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { CallOptions } from '../../helpers/service.ts';

const posts = '/api/collections/posts';

describe('an API key that was made at run time', () => {
  const service = useServiceHere({
    collections: [{ slug: 'posts', drafts: true, fields: [{ name: 'title', type: 'text' }] }],
  });
  const keys: Record<string, CallOptions> = {};

  before(async () => {
    for (const operations of ['read', 'create', 'update', 'delete']) {
      const scopes = [{ collections: ['posts'], operations: [operations] }];
      const { body } = await service.call('POST', '/api/keys', { name: operations, scopes });
      keys[operations] = { key: body.secret };
    }
  });

  async function statusOf(key: string, method: string, path: string, body?: unknown): Promise<number> {
    return (await service.call(method, path, body, keys[key])).status;
  }

  it('changes what is public by the operation of the write, and neither reads nor saves drafts by it', async () => {
    assert.equal(await statusOf('create', 'POST', posts, { title: 'A' }), 201);
    assert.equal(await statusOf('create', 'POST', `${posts}?draft=true`, { title: 'A' }), 403);
    const { body } = await service.call('POST', posts, { title: 'A' });
    const at = `${posts}/${body.id}`;
    assert.equal(await statusOf('update', 'PATCH', at, { title: 'B' }), 200);
    assert.equal(await statusOf('update', 'PATCH', `${at}?draft=true`, { title: 'C' }), 403);
    assert.equal(await statusOf('update', 'POST', `${at}/discard`), 403);
    assert.equal(await statusOf('update', 'POST', `${at}/publish?dryRun=true`), 403);
    assert.equal(await statusOf('update', 'POST', `${at}/publish`, { data: { title: 'C' } }), 403);
    assert.equal(await statusOf('delete', 'DELETE', `${at}?draft=true`), 403);
    assert.equal(await statusOf('delete', 'DELETE', at), 200);
  });

  it('publishes and unpublishes with the operation update alone', async () => {
    for (const key of ['read', 'create', 'delete']) {
      const { body } = await service.call('POST', `${posts}?draft=true`, { title: 'A' });
      const at = `${posts}/${body.id}`;
      assert.equal(await statusOf(key, 'POST', `${at}/publish`), 403, key);
      assert.equal(await statusOf(key, 'POST', `${at}/unpublish`), 403, key);
      assert.equal(await statusOf('update', 'POST', `${at}/publish`), 200);
      const taken = await service.call('POST', `${at}/unpublish`, undefined, keys.update);
      assert.deepEqual([taken.status, taken.body.title], [200, undefined]);
    }
  });
});
