import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { callsOf, config } from './config.ts';

const service = useServiceHere(config);
const { draft, post, edit, patch, shown, release, read, on } = callsOf({ call: (...args) => service.call(...args) });

describe('a release that is published by hand', () => {
  it('publishes and unpublishes all its documents in one append', async () => {
    const one = await draft({ title: 'One' });
    const two = await post({ title: 'Two' });
    const old = await post({ title: 'Old' });
    await edit(two, { title: 'Two, new' });
    const made = await release({ title: 'Christmas', items: [one, two, { ...old, action: 'unpublish' }] });
    assert.equal(made.status, 201);
    assert.deepEqual([made.body.state, made.body.items.length], ['open', 3]);
    assert.equal(made.headers.get('location'), `/api/releases/${made.body.id}`);
    assert.equal(await shown(one), null);
    const published = await on(made.body.id, 'publish');
    assert.equal(published.status, 200, JSON.stringify(published.body));
    assert.deepEqual(
      [(await shown(one))?.title, (await shown(two))?.title, await shown(old)],
      ['One', 'Two, new', null],
    );
    const { state, batch } = published.body;
    assert.equal(state, 'published');
    const events = await service.call('GET', `/api/audit/events?batch=${batch}`);
    assert.deepEqual(
      events.body.docs.map(({ header }: { header: { type: string } }) => header.type),
      ['release.published', 'document.published', 'document.published', 'document.unpublished'],
    );
    assert.equal(events.body.docs[1].data.release, made.body.id);
    assert.equal((await on(made.body.id, 'publish')).status, 409);
  });

  it('publishes nothing if one document cannot be', async () => {
    const one = await draft({ title: 'One' });
    const wrong = await draft({ stock: 1 });
    const { body } = await release({ title: 'x', items: [one, wrong] });
    const refused = await on(body.id, 'publish');
    assert.deepEqual([refused.status, fieldsOf(refused)], [400, ['items.1.title']]);
    assert.equal(await shown(one), null);
    assert.deepEqual((await read(body.id)).body.version, body.version);
  });

  it('is made and published in one call', async () => {
    const one = await draft({ title: 'One' });
    const made = await release({ title: 'Now', items: [one], publish: true });
    assert.deepEqual([made.status, made.body.state], [201, 'published'], JSON.stringify(made.body));
    assert.equal((await shown(one))?.title, 'One');
  });
});

describe('the version of an item', () => {
  it('is the newest when the item is set: later edits are not published', async () => {
    const one = await post({ title: 'Public', stock: 1 });
    await edit(one, { title: 'Chosen' });
    const { body } = await release({ title: 'x', items: [one] });
    await edit(one, { title: 'Half a sen' });
    const { newest, version } = (await read(body.id)).body.items[0];
    assert.ok(newest > version);
    await patch(one, { stock: 5 });
    const published = await on(body.id, 'publish');
    assert.equal(published.status, 200, JSON.stringify(published.body));
    const { title, stock } = (await shown(one)) ?? {};
    assert.deepEqual([title, stock], ['Chosen', 5]);
  });
});

describe('unique values of a release', () => {
  it('are passed from one document to another', async () => {
    const one = await post({ title: 'Sale', slug: 'sale' });
    const two = await post({ title: 'New sale', slug: 'sale-new' });
    await edit(one, { slug: 'old-sale' });
    await edit(two, { slug: 'sale' });
    const alone = await service.call('POST', `/api/collections/posts/${two.id}/publish`);
    assert.deepEqual([alone.status, fieldsOf(alone)], [409, ['slug']]);
    const { body } = await release({ title: 'swap', items: [two, one] });
    const published = await on(body.id, 'publish');
    assert.equal(published.status, 200, JSON.stringify(published.body));
    assert.deepEqual([(await shown(one))?.slug, (await shown(two))?.slug], ['old-sale', 'sale']);
  });

  it('are a 409 that names the item', async () => {
    await post({ title: 'Has it', slug: 'taken' });
    const old = await post({ title: 'Had it', slug: 'given' });
    const one = await draft({ title: 'Wants it', slug: 'wanted' });
    await edit(old, { slug: 'other' });
    const two = await draft({ title: 'Wants it too', slug: 'given' });
    const { body } = await release({ title: 'x', items: [one, two] });
    const refused = await on(body.id, 'publish');
    assert.deepEqual([refused.status, fieldsOf(refused)], [409, ['items.1.slug']]);
    assert.equal(await shown(one), null);
  });
});
