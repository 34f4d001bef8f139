import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useService } from '../helpers/shared.ts';

const collections = `
  {
    slug: 'posts',
    labels: { singular: 'Post', plural: 'Posts' },
    access: { read: () => true },
    hooks: { beforeChange: () => {} },
    fields: [
      { name: 'title', type: 'text', required: true, access: { read: () => false }, hooks: { afterRead: () => {} } },
      { name: 'status', type: 'select', options: ['draft', { label: 'Live', value: 'live' }], defaultValue: 'draft' },
      { name: 'made', type: 'number', defaultValue: () => 3, admin: { description: 'secret of nobody' } },
      { type: 'row', fields: [{ name: 'author', type: 'relationship', relationTo: 'authors' }] },
      { name: 'body', type: 'blocks', blocks: [{ slug: 'quote', fields: [{ name: 'text', type: 'text' }] }] },
    ],
  },
  { slug: 'authors', fields: [{ name: 'posts', type: 'join', collection: 'posts', on: 'author' }] },`;
const globals = `{ slug: 'site', label: 'Site', fields: [] }, { slug: 'bare', fields: [] }`;

const schemas = {
  collections: [
    {
      slug: 'posts',
      labels: { singular: 'Post', plural: 'Posts' },
      fields: [
        { name: 'title', type: 'text', required: true },
        {
          name: 'status',
          type: 'select',
          options: [
            { label: 'draft', value: 'draft' },
            { label: 'Live', value: 'live' },
          ],
          defaultValue: 'draft',
        },
        { name: 'made', type: 'number', admin: { description: 'secret of nobody' } },
        { type: 'row', fields: [{ name: 'author', type: 'relationship', relationTo: 'authors' }] },
        { name: 'body', type: 'blocks', blocks: [{ slug: 'quote', fields: [{ name: 'text', type: 'text' }] }] },
      ],
      auth: false,
      upload: false,
    },
    {
      slug: 'authors',
      labels: null,
      fields: [{ name: 'posts', type: 'join', collection: 'posts', on: 'author' }],
      auth: false,
      upload: false,
    },
  ],
  globals: [
    { slug: 'site', label: 'Site', fields: [] },
    { slug: 'bare', label: null, fields: [] },
  ],
};

const path = '/api/schemas';
const anonymous = { key: null };

describe('GET /api/schemas (4.5)', () => {
  const service = useService(`export default { collections: [${collections}], globals: [${globals}] }`);

  it('answers what is configured, in one shape, without functions', async () => {
    const { status, body, headers } = await service.call('GET', path);
    assert.deepEqual([status, body], [200, schemas]);
    assert.match(headers.get('content-type') ?? '', /^application\/json/);
    for (const one of [...body.collections, ...body.globals]) assert.ok(!('access' in one) && !('hooks' in one));
  });

  it('needs a credential', async () => {
    const { status, body } = await service.call('GET', path, undefined, anonymous);
    assert.deepEqual([status, body.error], [401, 'Unauthorized']);
    assert.equal((await service.call('GET', path, undefined, { key: 'wrong' })).status, 401);
  });

  it('takes no parameters', async () => {
    const { status, body } = await service.call('GET', `${path}?depth=1`);
    assert.deepEqual([status, body.errors[0].field], [400, 'depth']);
    assert.equal((await service.call('GET', `${path}?_=1`)).status, 200);
  });

  it('answers HEAD and no other method', async () => {
    assert.equal((await service.call('HEAD', path)).status, 200);
    assert.equal((await service.call('POST', path, {})).status, 404);
    assert.equal((await service.call('GET', `${path}/posts`)).status, 404);
  });
});

describe('GET /api/schemas where publicSchema is true (4.5)', () => {
  const service = useService(`export default { publicSchema: true, globals: [${globals}] }`);

  it('is open to everybody', async () => {
    const { status, body } = await service.call('GET', path, undefined, anonymous);
    assert.deepEqual([status, body], [200, { collections: [], globals: schemas.globals }]);
  });

  it('still refuses a wrong key', async () => {
    assert.equal((await service.call('GET', path, undefined, { key: 'wrong' })).status, 401);
  });
});
