import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const posts = '/api/collections/posts';

const service = useServiceHere({
  collections: [
    {
      slug: 'posts',
      drafts: { publishedAt: 'since' },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true, pattern: '[a-z-]+' },
        { name: 'stock', type: 'number', min: 0 },
        { name: 'kind', type: 'select', options: ['news', 'sale'] },
        { name: 'other', type: 'relationship', relationTo: 'posts' },
        { name: 'since', type: 'datetime' },
      ],
    },
    { slug: 'plain', fields: [{ name: 'title', type: 'text' }] },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'name', type: 'text', defaultValue: 'Site' }] }],
});

let made = 0;

/** A public document with a draft that differs in its title. */
async function changedPost() {
  made += 1;
  const values = { title: 'Public', slug: `post-${'abcdefghijklmnopqrstuvwxyz'[made]}`, stock: 1 };
  const { body } = await service.call('POST', posts, values);
  const at = `${posts}/${body.id}`;
  const draft = await service.call('PATCH', `${at}?draft=true`, { title: 'Draft' });
  assert.equal(draft.status, 200);
  return { at, id: body.id as string, published: body, draft: draft.body };
}

describe('writes of drafts', () => {
  it('a draft is not public until it is published, which makes both lines equal', async () => {
    const created = await service.call('POST', `${posts}?draft=true`, { slug: 'Not Valid', stock: -1 });
    assert.equal(created.status, 201);
    assert.equal(created.body.title, null);
    const at = `${posts}/${created.body.id}`;
    assert.equal(created.headers.get('location'), `${at}?draft=true`);
    assert.equal((await service.call('GET', at)).status, 404);
    assert.equal((await service.call('PATCH', at, { stock: 1 })).status, 404);
    assert.equal((await service.call('DELETE', at)).status, 404);
    const refused = await service.call('POST', `${at}/publish`);
    assert.equal(refused.status, 400);
    assert.deepEqual(
      refused.body.errors.map(({ field, code }: { field: string; code: string }) => [field, code]),
      [
        ['title', 'required'],
        ['slug', 'pattern'],
        ['stock', 'min'],
      ],
    );
    const published = await service.call('POST', `${at}/publish`, { data: { title: 'A', slug: 'valid', stock: 2 } });
    assert.equal(published.status, 200);
    assert.ok(Date.parse(published.body.updatedAt) - Date.parse(published.body.since) < 1000);
    const read = await service.call('GET', at);
    assert.deepEqual(read.body, published.body);
    assert.equal(read.headers.get('etag'), published.headers.get('etag'));
    const same = await service.call('PATCH', `${at}?draft=true`, {});
    assert.deepEqual(same.body, published.body);
    assert.equal(same.headers.get('etag')?.replace('draft-', ''), published.headers.get('etag'));
    const again = await service.call('POST', `${at}/publish`);
    assert.equal(again.headers.get('etag'), published.headers.get('etag'));
  });

  it('a draft holds types, options, existing ids and unique values', async () => {
    const { id } = await changedPost();
    for (const [wrong, field] of [
      [{ title: 1 }, 'title'],
      [{ kind: 'other' }, 'kind'],
      [{ other: '01a22df2-6960-7000-afc7-0930dd7ca7e0' }, 'other'],
      [{ nope: 1 }, 'nope'],
    ] as const) {
      const { status, body } = await service.call('POST', `${posts}?draft=true`, wrong);
      assert.deepEqual([status, body.errors[0].field], [400, field]);
    }
    const target = await service.call('POST', `${posts}?draft=true`, { other: id, slug: 'taken-one' });
    assert.equal(target.status, 201);
    assert.equal((await service.call('POST', `${posts}?draft=true`, { other: target.body.id })).status, 201);
    const taken = await service.call('POST', `${posts}?draft=true`, { slug: 'taken-one' });
    assert.deepEqual([taken.status, taken.body.errors[0].field], [409, 'slug']);
  });

  it('a draft may take what another gives up in its draft, and is published only once that is public', async () => {
    const one = await changedPost();
    const two = await changedPost();
    const { slug } = one.published;
    assert.equal((await service.call('PATCH', `${two.at}?draft=true`, { slug })).status, 409);
    await service.call('PATCH', `${one.at}?draft=true`, { slug: 'given-up' });
    assert.equal((await service.call('PATCH', `${two.at}?draft=true`, { slug })).status, 200);
    const refused = await service.call('POST', `${two.at}/publish`);
    assert.deepEqual([refused.status, refused.body.errors[0].field], [409, 'slug']);
    const back = await service.call('POST', `${one.at}/discard`);
    assert.deepEqual([back.status, back.body.errors[0].field], [409, 'slug']);
    assert.equal((await service.call('POST', `${one.at}/publish`)).status, 200);
    assert.equal((await service.call('POST', `${two.at}/publish`)).body.slug, slug);
  });

  it('a save of a draft changes no public byte and no public ETag', async () => {
    const { at, published } = await changedPost();
    const before = await service.call('GET', at);
    assert.deepEqual(before.body, published);
    const saved = await service.call('PATCH', `${at}?draft=true`, { stock: 5 });
    assert.notEqual(saved.headers.get('etag'), before.headers.get('etag'));
    const after = await service.call('GET', at);
    assert.deepEqual([after.body, after.headers.get('etag')], [before.body, before.headers.get('etag')]);
  });

  it('a plain PATCH publishes its fields alone, and leaves unpublished values in the draft', async () => {
    const { at } = await changedPost();
    assert.deepEqual(await valuesOf(at), { title: 'Public', stock: 1 });
    await service.call('PATCH', at, { stock: 2 });
    assert.deepEqual(await valuesOf(at), { title: 'Public', stock: 2 });
    await service.call('PATCH', at, { title: 'Corrected' });
    assert.deepEqual(await valuesOf(at), { title: 'Corrected', stock: 2 });
    const { body } = await service.call('PATCH', `${at}?draft=true`, {});
    assert.deepEqual([body.title, body.stock], ['Draft', 2]);
  });

  it('publishes the draft of a version, and takes back nothing that has become public since', async () => {
    const { at, draft } = await changedPost();
    await service.call('PATCH', at, { stock: 7 });
    await service.call('PATCH', `${at}?draft=true`, { title: 'Later', kind: 'sale' });
    const { status, body } = await service.call('POST', `${at}/publish`, { version: 2 });
    assert.equal(status, 200);
    assert.deepEqual([body.title, body.stock, body.kind], [draft.title, 7, null]);
    const left = await service.call('PATCH', `${at}?draft=true`, {});
    assert.deepEqual([left.body.title, left.body.kind], ['Later', 'sale']);
    for (const [version, expected] of [
      [99, 400],
      [0, 400],
      ['1', 400],
    ] as const)
      assert.equal((await service.call('POST', `${at}/publish`, { version })).status, expected);
    const both = await service.call('POST', `${at}/publish`, { version: 1, data: {} });
    assert.match(both.body.message, /data must not stand beside version/);
  });

  it('unpublishes and publishes again', async () => {
    const { at } = await changedPost();
    const { status, body } = await service.call('POST', `${at}/unpublish`);
    assert.deepEqual([status, body.title], [200, 'Draft']);
    assert.equal((await service.call('GET', at)).status, 404);
    assert.equal((await service.call('POST', `${at}/unpublish`)).status, 409);
    assert.equal((await service.call('POST', `${at}/discard`)).body.title, 'Public');
    assert.equal((await service.call('POST', `${at}/publish`)).status, 200);
    assert.deepEqual(await valuesOf(at), { title: 'Public', stock: 1 });
  });

  it('discards a draft, unless nothing was ever public', async () => {
    const { at, published } = await changedPost();
    const { status, body } = await service.call('POST', `${at}/discard`);
    assert.deepEqual([status, body], [200, published]);
    const never = await service.call('POST', `${posts}?draft=true`, {});
    assert.equal((await service.call('POST', `${posts}/${never.body.id}/discard`)).status, 409);
  });

  it('deletes both lines, also of a document that was never public', async () => {
    const { at, published, draft } = await changedPost();
    assert.deepEqual((await service.call('DELETE', at)).body, published);
    assert.equal((await service.call('PATCH', `${at}?draft=true`, {})).status, 404);
    const other = await changedPost();
    const removed = await service.call('DELETE', `${other.at}?draft=true`);
    assert.equal(removed.body.title, draft.title);
    assert.equal((await service.call('GET', other.at)).status, 404);
    const never = await service.call('POST', `${posts}?draft=true`, { title: 'Never' });
    assert.equal((await service.call('DELETE', `${posts}/${never.body.id}?draft=true`)).status, 200);
  });

  it('refuses the parameter where there are no drafts, and other values than true and false', async () => {
    for (const [method, path] of [
      ['POST', '/api/collections/plain?draft=true'],
      ['POST', `${posts}?draft=yes`],
      ['POST', `${posts}?draft=true&draft=true`],
    ] as const) {
      const { status, body } = await service.call(method, path, { title: 'x' });
      assert.deepEqual([status, body.errors[0].field], [400, 'draft'], path);
    }
    assert.equal((await service.call('POST', `${posts}/x/publish`, { locales: ['en'] })).status, 400);
    assert.equal((await service.call('POST', '/api/collections/plain/x/publish')).status, 404);
  });

  it('a global has a draft too, which becomes its defaults when it is discarded before it was written', async () => {
    const site = '/api/globals/site';
    assert.equal((await service.call('PATCH', `${site}?draft=true`, { name: 'New' })).body.name, 'New');
    assert.equal((await service.call('GET', site)).body.name, 'Site');
    assert.equal((await service.call('POST', `${site}/discard`)).body.name, 'Site');
    assert.equal((await service.call('PATCH', `${site}?draft=true`, { name: 'Newer' })).body.name, 'Newer');
    assert.equal((await service.call('POST', `${site}/publish`)).body.name, 'Newer');
    assert.equal((await service.call('GET', site)).body.name, 'Newer');
    assert.equal((await service.call('POST', `${site}/unpublish`)).status, 404);
  });
});

async function valuesOf(at: string) {
  const { title, stock } = (await service.call('GET', at)).body;
  return { title, stock };
}
