import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { recordedEvents } from '../helpers/shared.ts';

const service = useServiceHere(`
const yes = () => true;
const never = { read: () => false, create: () => false, update: () => false };
const open = { read: yes, create: yes, update: yes };
export default { collections: [
  { slug: 'ruled', access: open, fields: [
    { name: 'title', type: 'text' },
    { name: 'constructor', type: 'text', access: never },
    { name: 'valueOf', type: 'object', fields: [{ name: 'toString', type: 'text', access: never }, { name: 'n', type: 'number' }] },
  ] },
  { slug: 'hooked', fields: [
    { name: 'title', type: 'text' },
    { name: 'constructor', type: 'text', hooks: { beforeChange: ({ value }) => typeof value + '!', afterRead: ({ value }) => value } },
  ] },
  { slug: 'related', fields: [
    { name: 'title', type: 'text' },
    { name: 'constructor', type: 'relationship', relationTo: 'related' },
    { name: 'toString', type: 'relationship', relationTo: 'related', hasMany: true },
    { name: 'valueOf', type: 'object', fields: [{ name: 'isPrototypeOf', type: 'relationship', relationTo: 'related' }] },
    { name: 'hasOwnProperty', type: 'text', unique: true },
    { name: 'toLocaleString', type: 'number', index: true },
    { name: 'propertyIsEnumerable', type: 'array', fields: [{ name: 'constructor', type: 'boolean' }] },
  ] },
] };`);

const anonymous: CallOptions = { key: null };

async function create(slug: string, body: object, options?: CallOptions): Promise<Answer['body']> {
  const { status, body: made } = await service.call('POST', `/api/collections/${slug}`, body, options);
  assert.equal(status, 201, JSON.stringify(made));
  return made;
}

async function patch(slug: string, id: string, body: object, options?: CallOptions): Promise<Answer['body']> {
  const { status, body: changed } = await service.call('PATCH', `/api/collections/${slug}/${id}`, body, options);
  assert.equal(status, 200, JSON.stringify(changed));
  return changed;
}

describe('Fields that are named as what every object inherits', () => {
  it('count as sent only when they are, for field access', async () => {
    const made = await create('ruled', { title: 'x', valueOf: { n: 1 } }, anonymous);
    assert.deepEqual([made.title, made.valueOf], ['x', { n: 1 }]);
    assert.equal((await patch('ruled', made.id, { valueOf: { n: 2 } }, anonymous)).valueOf.n, 2);
    const refused = await service.call('POST', '/api/collections/ruled', { constructor: 'x' }, anonymous);
    assert.deepEqual([refused.status, refused.body.message], [403, 'you may not create constructor']);
  });

  it('run hooks only when they are written', async () => {
    const { id } = await create('hooked', { title: 'x' });
    assert.equal((await patch('hooked', id, { title: 'y' })).constructor, 'object!');
    assert.equal((await patch('hooked', id, { constructor: 'z' })).constructor, 'string!');
  });

  it('name documents only when they do', async () => {
    const { id } = await create('related', { valueOf: {} });
    const changed = await patch('related', id, { title: 'y', valueOf: {} });
    assert.deepEqual([changed.title, changed.constructor, changed.toString], ['y', null, []]);
    const linked = await patch('related', id, { constructor: id, toString: [id], valueOf: { isPrototypeOf: id } });
    assert.deepEqual([linked.constructor, linked.toString, linked.valueOf], [id, [id], { isPrototypeOf: id }]);
    const wrong = await service.call('PATCH', `/api/collections/related/${id}`, { constructor: 'unknown' });
    assert.equal(wrong.status, 400);
  });

  it('are filtered and sorted by, and hold unique values, as all others', async () => {
    const { id } = await create('related', { title: 'one', hasOwnProperty: 'taken', toLocaleString: 3 });
    const again = await service.call('POST', '/api/collections/related', { hasOwnProperty: 'taken' });
    assert.equal(again.status, 409);
    await patch('related', id, { constructor: id, propertyIsEnumerable: [{ constructor: true }] });
    for (const query of [
      `where[constructor][equals]=${id}&where[title][equals]=one`,
      'where[constructor.title][equals]=one&sort=constructor.title',
      'where[hasOwnProperty][equals]=taken&sort=hasOwnProperty',
      'where[toLocaleString][greater_than]=2&sort=-toLocaleString,constructor',
      'where[propertyIsEnumerable.constructor][equals]=true&depth=1',
      'where={"constructor":{"exists":true},"hasOwnProperty":{"exists":true}}',
    ]) {
      const { status, body } = await service.call('GET', `/api/collections/related?${query}`);
      assert.equal(status, 200, `${query} ${JSON.stringify(body)}`);
      assert.deepEqual(
        body.docs.map((doc: { id: string }) => doc.id),
        [id],
        query,
      );
    }
  });

  it('are not changed when they are not sent', async () => {
    const { id } = await create('related', { constructor: null });
    for (const body of [{}, { constructor: null }, { toString: [] }, { hasOwnProperty: null }]) {
      await patch('related', id, body);
    }
    assert.equal(recordedEvents(service.data, `related/${id}`).length, 1);
  });
});
