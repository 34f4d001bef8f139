import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { anonymous } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';

const service = useServiceHere(
  {
    bcryptCost: 4,
    collections: [
      { slug: 'users', auth: true, fields: [], access: { create: () => true } },
      { slug: 'posts', fields: [{ name: 'text', type: 'text' }] },
    ],
  },
  { path: '/cms' },
);
const { origin } = new URL('http://127.0.0.1');

/** The path behind the address of the service. */
function pathOf(location: string | null): string {
  assert.match(location ?? '', /^\/cms\//);
  return new URL(String(location), origin).pathname.slice('/cms'.length);
}

describe('The Location of a 201', () => {
  it('is the path of the document, the first time and again', async () => {
    const headers = { 'idempotency-key': 'one' };
    for (const replayed of [null, 'true']) {
      const made = await service.call('POST', '/api/collections/posts', { text: 'x' }, { headers });
      assert.deepEqual([made.status, made.headers.get('idempotent-replayed')], [201, replayed]);
      const found = await service.call('GET', pathOf(made.headers.get('location')));
      assert.deepEqual(found.body, made.body);
    }
  });

  it('is the path of the key and of the user', async () => {
    const key = await service.call('POST', '/api/keys', { name: 'importer', scopes: [] });
    assert.equal(pathOf(key.headers.get('location')), `/api/keys/${key.body.id}`);
    const user = { email: 'ada@example.org', password: 'correct horse battery' };
    const made = await service.call('POST', '/api/collections/users', user, anonymous);
    assert.equal(pathOf(made.headers.get('location')), `/api/collections/users/${made.body.id}`);
  });

  it('is the path of the erasure', async () => {
    const { id } = (await service.call('POST', '/api/collections/posts', {})).body;
    const erased = await service.call('POST', '/api/audit/erasures', { collection: 'posts', id, reason: 'a test' });
    const path = pathOf(erased.headers.get('location'));
    assert.equal(path, `/api/audit/erasures/${erased.body.position}`);
    assert.equal((await service.call('GET', path)).status, 200);
  });

  it('is not in the answer of a bulk call, nor in that of a change', async () => {
    const bulk = await service.call('POST', '/api/collections/posts/bulk', { docs: [{}] });
    const change = await service.call('PATCH', `/api/collections/posts/${bulk.body.results[0].id}`, { text: 'y' });
    for (const { headers } of [bulk, change]) assert.equal(headers.get('location'), null);
  });
});

describe('An OpenAPI document', () => {
  it('has a tag, and is a 304 for a caller who has it', async () => {
    const tags = new Set();
    for (const path of ['/api/openapi.json', '/api/audit/openapi.json']) {
      const first = await service.call('GET', path);
      const tag = first.headers.get('etag') ?? '';
      assert.match(tag, /^"[\w-]{16}(-\w+)?"$/);
      tags.add(tag);
      const again = await service.call('GET', path, undefined, { headers: { 'if-none-match': tag } });
      assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, null, tag]);
      const other = await service.call('GET', path, undefined, { headers: { 'if-none-match': '"x"' } });
      assert.deepEqual([other.status, other.body], [200, first.body]);
      const stranger = await service.call('GET', path, undefined, { key: null, headers: { 'if-none-match': tag } });
      assert.equal(stranger.status, 401, 'no 304 without the right');
    }
    assert.equal(tags.size, 2);
  });
});
