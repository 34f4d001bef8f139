import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';

const posts = '/api/collections/posts';

const service = useServiceHere({
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
      ],
    },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'name', type: 'text', defaultValue: 'Site' }] }],
});

/** A document with the titles `One` (public), `Two` (draft), `Three` (public). */
async function madePost() {
  const at = `${posts}/${(await service.call('POST', posts, { title: 'One' })).body.id}`;
  await service.call('PATCH', `${at}?draft=true`, { title: 'Two' });
  await service.call('PATCH', at, { title: 'Three' });
  return at;
}

async function titles(at: string) {
  const published = await service.call('GET', at);
  const draft = await service.call('PATCH', `${at}?draft=true`, {});
  return [published.body.title, draft.body.title];
}

describe('restores of documents with drafts', () => {
  it('with draft=true, change the draft alone', async () => {
    const at = await madePost();
    assert.deepEqual(await titles(at), ['Three', 'Two']);
    const before = await service.call('GET', at);
    const { status, body } = await service.call('POST', `${at}/restore?draft=true`, { version: 1 });
    assert.deepEqual([status, body.title], [200, 'One']);
    const after = await service.call('GET', at);
    assert.deepEqual([after.body, after.headers.get('etag')], [before.body, before.headers.get('etag')]);
    assert.deepEqual(await titles(at), ['Three', 'One']);
    const { body: preview } = await service.call('POST', `${at}/restore?draft=true&dryRun=true`, { version: 2 });
    assert.deepEqual(preview.diff, [{ field: 'title', before: 'One', after: 'Two' }]);
  });

  it('without it, make both lines what editors had', async () => {
    const at = await madePost();
    const { status, body } = await service.call('POST', `${at}/restore`, { version: 2 });
    assert.deepEqual([status, body.title], [200, 'Two']);
    assert.deepEqual(await titles(at), ['Two', 'Two']);
    const again = await service.call('POST', `${at}/restore`, { version: 2 });
    assert.equal(again.headers.get('etag')?.slice(0, 3), '"4-');
  });

  it('of a document that is not public are refused without draft=true', async () => {
    const { body } = await service.call('POST', `${posts}?draft=true`, { title: 'Never' });
    const at = `${posts}/${body.id}`;
    await service.call('PATCH', `${at}?draft=true`, { title: null });
    assert.equal((await service.call('POST', `${at}/restore`, { version: 1 })).status, 404);
    assert.equal((await service.call('POST', `${at}/restore?draft=true`, { version: 1 })).body.title, 'Never');
  });

  it('bring back a deleted document, as a draft or as a public document', async () => {
    const at = await madePost();
    await service.call('DELETE', at);
    const back = await service.call('POST', `${at}/restore?draft=true`, { version: 2 });
    assert.deepEqual([back.status, back.body.title], [200, 'Two']);
    assert.equal((await service.call('GET', at)).status, 404);
    assert.equal((await service.call('POST', `${at}/discard`)).status, 409);
    await service.call('DELETE', `${at}?draft=true`);
    assert.equal((await service.call('POST', `${at}/restore`, { version: 1 })).body.title, 'One');
    assert.deepEqual(await titles(at), ['One', 'One']);
  });

  it('name the document that has a unique value in its draft', async () => {
    const one = await service.call('POST', posts, { title: 'One', slug: 'same' });
    const at = `${posts}/${one.body.id}`;
    await service.call('PATCH', `${at}?draft=true`, { slug: 'other' });
    const two = await service.call('POST', `${posts}?draft=true`, { title: 'Two', slug: 'same' });
    const { status, body } = await service.call('POST', `${at}/restore?draft=true`, { version: 1 });
    assert.deepEqual([status, body.errors[0].field], [409, 'slug']);
    await service.call('DELETE', `${posts}/${two.body.id}?draft=true`);
    assert.equal((await service.call('POST', `${at}/restore?draft=true`, { version: 1 })).status, 200);
  });

  it('of a global go into its draft too', async () => {
    const site = '/api/globals/site';
    await service.call('PATCH', site, { name: 'A' });
    await service.call('PATCH', `${site}?draft=true`, { name: 'B' });
    const { body } = await service.call('POST', `${site}/restore?draft=true`, { version: 1 });
    assert.equal(body.name, 'A');
    assert.equal((await service.call('POST', `${site}/restore`, { version: 2 })).body.name, 'B');
  });
});
