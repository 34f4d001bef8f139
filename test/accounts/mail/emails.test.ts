import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const service = useServiceHere({
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'contact', type: 'email' }] },
    { slug: 'posts', fields: [{ name: 'author', type: 'relationship', relationTo: 'users' }] },
  ],
});

describe('The e-mail of an account (2.2)', () => {
  before(async () => {
    const created = await service.call('POST', '/api/collections/users', {
      email: ' Ada@Example.org ',
      contact: 'Ada@Example.org',
    });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    await service.call('POST', '/api/collections/users', { email: 'bob@example.org' });
    await service.call('POST', '/api/collections/posts', { author: created.body.id });
  });

  const total = async (path: string) => (await service.call('GET', `/api/collections/${path}`)).body.total;

  it('is kept trimmed and in lower case, as no other e-mail is', async () => {
    const { body } = await service.call('GET', '/api/collections/users?sort=email&limit=1');
    assert.deepEqual([body.docs[0].email, body.docs[0].contact], ['ada@example.org', 'Ada@Example.org']);
  });

  it('is taken in every spelling', async () => {
    const { status, body } = await service.call('POST', '/api/collections/users', { email: 'ADA@example.org' });
    assert.deepEqual([status, body.errors?.[0]?.field], [409, 'email']);
  });

  it('is found in every spelling, by every operator that compares whole values', async () => {
    for (const [where, expected] of [
      ['[email][equals]=ADA@example.org', 1],
      ['[email][equals]=%20Ada@Example.org%20', 1],
      ['[email][not_equals]=ADA@example.org', 1],
      ['[email][in]=ADA@example.org,%20Bob@example.org', 2],
      ['[email][not_in]=ADA@example.org', 1],
      ['[or][0][email][equals]=BOB@example.org', 1],
      ['[contact][equals]=ADA@example.org', 0],
    ] as const) {
      assert.equal(await total(`users?where${where}`), expected, where);
    }
    assert.equal(await total(`users?where=${encodeURIComponent('{"email":{"equals":"ADA@example.org"}}')}`), 1);
    assert.equal(await total('posts?where[author.email][equals]=ADA@example.org'), 1);
  });

  it('cannot be missing or cleared', async () => {
    const { status, body } = await service.call('POST', '/api/collections/users', {});
    assert.deepEqual(
      [status, body.errors],
      [400, [{ field: 'email', in: 'body', code: 'required', message: 'email is required' }]],
    );
  });
});
