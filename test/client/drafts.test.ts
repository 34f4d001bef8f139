import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createClient } from '../../client/index.ts';
import { defineConfig } from '../../config/define.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';

const config = defineConfig({
  collections: [
    {
      slug: 'posts',
      drafts: true,
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'seo', type: 'object', fields: [{ name: 'description', type: 'text', required: true }] },
      ],
    },
  ],
  globals: [{ slug: 'site', drafts: true, fields: [{ name: 'name', type: 'text', required: true }] }],
});

describe('the client of a service with drafts', () => {
  const service = useServiceHere(config);
  const open = () => createClient<typeof config>({ baseUrl: service.url, apiKey });

  it('saves, publishes, unpublishes, discards and restores drafts', async () => {
    const client = open();
    const posts = client.collection('posts');
    const draft = await posts.create({ seo: {} }, { draft: true });
    // A draft may lack a required value.
    const title: string | null = draft.title;
    assert.equal(title, null);
    const plan = await posts.publish(draft.id, {}, { dryRun: true });
    assert.deepEqual(
      plan.problems.map(({ field }) => field),
      ['title', 'seo.description'],
    );
    const data = { title: 'One', seo: { description: 'First' } };
    const published = await posts.publish(draft.id, { data }, { ifMatch: client.etagOf(draft) });
    const shown: string = published.title;
    assert.equal(shown, 'One');
    const changed = await posts.update(draft.id, { title: null }, { draft: true });
    assert.equal(changed.title, null);
    await assert.rejects(posts.publish(draft.id, {}, { ifMatch: client.etagOf(published) }), { status: 412 });
    assert.equal((await posts.findOne(draft.id))?.title, 'One');
    assert.equal((await posts.discard(draft.id)).title, 'One');
    await posts.update(draft.id, { title: 'Two' });
    assert.equal((await posts.restore(draft.id, { version: 3 }, { draft: true })).title, 'One');
    assert.equal((await posts.unpublish(draft.id)).title, 'One');
    assert.equal(await posts.findOne(draft.id), null);
    assert.equal((await posts.delete(draft.id, { draft: true })).title, 'One');
  });

  it('does so with globals', async () => {
    const site = open().global('site');
    await site.update({ name: 'One' }, { draft: true });
    assert.equal((await site.discard()).name, null);
    await site.update({ name: 'Two' }, { draft: true });
    assert.equal((await site.publish()).name, 'Two');
  });
});

// @ts-expect-error a required value must be given, unless a draft is saved
export const refused = () => createClient<typeof config>({ baseUrl: '/' }).collection('posts').create({});
