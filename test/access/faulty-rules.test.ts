import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';

const config = `
const fields = [{ name: 'title', type: 'text' }];
const admin = { searchFields: ['title'] };
export default {
  bcryptCost: 4,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    { slug: 'right', fields, admin },
    { slug: 'wrong', fields, admin, access: { read: () => 'yes' } },
    { slug: 'looking', fields, admin, access: { read: ({ doc }) => (doc ? 'yes' : true) } },
    { slug: 'links', fields: ['right', 'wrong', 'looking'].map((relationTo) => ({ name: relationTo, type: 'relationship', relationTo })) },
  ],
};`;

describe('A read rule that gives no answer', () => {
  const service = useServiceHere(config);
  const ids: Record<string, string> = {};
  let as: CallOptions;
  const get = (path: string) => service.call('GET', path, undefined, as);

  before(async () => {
    const password = 'correct horse battery';
    await service.call('POST', '/api/collections/users', { email: 'ada@example.org', password });
    as = (await loggedIn(service, 'users', 'ada@example.org', password)).as;
    for (const slug of ['right', 'wrong', 'looking']) {
      ids[slug] = (await service.call('POST', `/api/collections/${slug}`, { title: 'amber' })).body.id;
      const { id } = (await service.call('POST', `/api/collections/${slug}`, { title: 'gone' })).body;
      await service.call('DELETE', `/api/collections/${slug}/${id}`);
    }
    ids.links = (
      await service.call('POST', '/api/collections/links', { right: ids.right, wrong: ids.wrong, looking: ids.looking })
    ).body.id;
  });

  it('is a 500 of its own collection', async () => {
    for (const path of ['wrong', `wrong/${ids.wrong}`, 'wrong/count', 'looking', `looking/${ids.looking}`])
      assert.equal((await get(`/api/collections/${path}`)).status, 500, path);
  });

  it('leaves its documents out of answers about several collections', async () => {
    const { body: found } = await get('/api/search?q=amber');
    assert.deepEqual([found.docs.map(({ id }: { id: string }) => id), found.total], [[ids.right], 1]);
    const { body: counted } = await get('/api/counts');
    assert.deepEqual(counted.collections, {
      users: { total: 1 },
      right: { total: 1 },
      looking: { total: 0 },
      links: { total: 1 },
    });
    const { body: trash } = await get('/api/trash');
    assert.deepEqual(
      trash.docs.map(({ collection }: { collection: string }) => collection),
      ['right'],
    );
    const { body: link } = await get(`/api/collections/links/${ids.links}?depth=1`);
    assert.deepEqual([link.right.title, link.wrong, link.looking], ['amber', ids.wrong, ids.looking]);
  });

  it('is logged once for all of these', async () => {
    for (const path of ['/api/counts', '/api/search?q=amber', '/api/trash']) await get(path);
    const lines = service.lines().filter(({ msg }) => /leave out what it decides/.test(msg));
    assert.deepEqual(lines.map(({ err }) => err.message.split(':')[0]).sort(), [
      'the read rule of looking returned string',
      'the read rule of wrong returned string',
    ]);
  });
});
