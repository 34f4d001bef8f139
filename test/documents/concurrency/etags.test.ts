import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const service = useServiceHere(`export default {
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
    {
      slug: 'notes',
      access: { read: () => true, create: () => true },
      fields: [{ name: 'post', type: 'relationship', relationTo: 'posts' }, { name: 'seenBy', type: 'text' }],
      hooks: { afterRead: ({ data, req }) => ({ ...data, seenBy: req.headers['x-who'] ?? 'unknown' }) },
    },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text', defaultValue: 'My site' }] }],
}`);

describe('ETag', () => {
  const create = async (body: object) => {
    const { body: made, headers } = await service.call('POST', '/api/collections/posts', body);
    return { path: `/api/collections/posts/${made.id}`, etag: headers.get('etag') ?? '', id: made.id as string };
  };

  it('is the same for every answer with one version of a document, and another for the next', async () => {
    const { path, etag } = await create({ title: 'a' });
    assert.match(etag, /^"1-[0-9a-f]+"$/);
    assert.equal((await service.call('GET', path)).headers.get('etag'), etag);
    const unchanged = await service.call('PATCH', path, { title: 'a' });
    assert.equal(unchanged.headers.get('etag'), etag);
    const changed = await service.call('PATCH', path, { title: 'b' });
    assert.match(changed.headers.get('etag') ?? '', /^"2-/);
    assert.equal((await service.call('GET', path)).headers.get('etag'), changed.headers.get('etag'));
    assert.equal((await service.call('DELETE', path)).headers.get('etag'), null);
  });

  it('changes with what else stands in an answer: related documents, joins and what hooks make', async () => {
    const { id } = await create({ title: 'a' });
    const { body: note } = await service.call('POST', '/api/collections/notes', { post: id });
    const path = `/api/collections/notes/${note.id}`;
    const tags = async (query = '') => (await service.call('GET', path + query)).headers.get('etag');
    const [plain, deep] = [await tags(), await tags('?depth=1')];
    assert.notEqual(plain, deep);
    await service.call('PATCH', `/api/collections/posts/${id}`, { title: 'b' });
    assert.equal(await tags(), plain);
    assert.notEqual(await tags('?depth=1'), deep);
    // A hook that knows the caller makes this value.
    const anonymous = await service.call('GET', path, undefined, { key: null });
    assert.deepEqual([anonymous.status, anonymous.body.seenBy], [200, 'unknown']);
    assert.equal((await service.call('GET', path, undefined, { headers: { 'x-who': 'ada' } })).body.seenBy, 'ada');
    assert.notEqual(
      await tags(),
      (await service.call('GET', path, undefined, { headers: { 'x-who': 'ada' } })).headers.get('etag'),
    );
  });

  it('answers 304 without a body to If-None-Match, whatever a proxy made of the tag', async () => {
    const { path, etag: compressed } = await create({ title: 'a'.repeat(5000) });
    const etag = compressed.replace('-gzip', '');
    const tags = [etag, `W/${etag}`, `"x", ${etag}`, '*', compressed];
    for (const tag of tags) {
      const answer = await service.call('GET', path, undefined, { headers: { 'if-none-match': tag } });
      const named = answer.headers.get('etag')?.replace('-gzip', '');
      assert.deepEqual([answer.status, answer.body, named], [304, null, etag], tag);
      assert.equal(answer.headers.get('vary'), 'accept-encoding,authorization,cookie,x-api-key');
      assert.equal(answer.headers.get('cache-control'), 'private, no-cache');
    }
    assert.equal((await service.call('GET', path, undefined, { headers: { 'if-none-match': '"1-x"' } })).status, 200);
    assert.equal((await service.call('HEAD', path, undefined, { headers: { 'if-none-match': etag } })).status, 304);
    // fetch asks for gzip, and a compressed answer has a tag of its own.
    const whole = await service.call('GET', path);
    assert.deepEqual([whole.headers.get('etag'), compressed === etag], [compressed, false]);
    const site = await service.call('GET', '/api/globals/site');
    const known = { 'if-none-match': site.headers.get('etag') ?? '' };
    assert.equal((await service.call('GET', '/api/globals/site', undefined, { headers: known })).status, 304);
    // A caller who may not read it is not told that it is still the same.
    const closed = await service.call('GET', path, undefined, { key: null, headers: { 'if-none-match': '*' } });
    assert.equal(closed.status, 401);
  });
});
