import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../../helpers/embedded.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { callsOf, config } from './config.ts';

const service = useServiceHere(config);
const call: typeof service.call = (...args) => service.call(...args);
const { draft, post, edit, patch, release, read, on } = callsOf({ call });
const later = new Date(Date.now() + 3_600_000).toISOString();

/** The ids of the documents of a release. */
const idsIn = async (id: string) => (await read(id)).body.items.map((item: { id: string }) => item.id);

describe('the items of a release', () => {
  it('are set and removed, while it is not published', async () => {
    const one = await draft({ title: 'One' });
    const two = await draft({ title: 'Two' });
    await call('PATCH', '/api/globals/site?draft=true', { name: 'New name' });
    const { body } = await release({ title: 'x', items: [one] });
    const { body: more } = await on(body.id, 'items', { items: [two, { global: 'site' }, { ...one, version: 1 }] });
    assert.deepEqual(
      more.items.map(({ collection, global, id, action, version, title }: Record<string, unknown>) => [
        collection ?? global,
        id,
        action,
        version,
        title,
      ]),
      [
        ['posts', one.id, 'publish', 1, 'One'],
        ['posts', two.id, 'publish', 1, 'Two'],
        ['site', undefined, 'publish', 1, 'New name'],
      ],
    );
    const removed = await call('DELETE', `/api/releases/${body.id}/items/globals/site`);
    assert.deepEqual([removed.status, removed.body.items.length], [200, 2]);
    assert.equal((await call('DELETE', `/api/releases/${body.id}/items/posts/${crypto.randomUUID()}`)).status, 404);
    await on(body.id, 'publish');
    assert.equal((await on(body.id, 'items', { items: [] })).status, 409);
  });

  it('are documents with drafts that exist, each once', async () => {
    const one = await draft({ title: 'One' });
    for (const [item, field] of [
      [{ collection: 'notes', id: one.id }, 'items.0.collection'],
      [{ collection: 'post', id: one.id }, 'items.0.collection'],
      [{ collection: 'posts', id: crypto.randomUUID() }, 'items.0'],
      [{ collection: 'posts' }, 'items.0'],
      [{ ...one, global: 'site' }, 'items.0'],
      [{ ...one, action: 'delete' }, 'items.0.action'],
      [{ ...one, version: 0 }, 'items.0.version'],
      [{ ...one, version: 99 }, 'items.0.version'],
      [{ ...one, action: 'unpublish', version: 1 }, 'items.0'],
      [{ ...one, locales: ['de'] }, 'items.0.locales'],
      [{ global: 'site', action: 'unpublish' }, 'items.0'],
    ] as const) {
      const answer = await release({ title: 'x', items: [item] });
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, [field]], JSON.stringify(item));
    }
    assert.deepEqual(fieldsOf(await release({ title: 'x', items: [one, one] })), ['items']);
    assert.deepEqual(fieldsOf(await release({ title: ' ', publish: true, at: later })), ['title']);
    assert.deepEqual(fieldsOf(await release({ title: 'x', publish: true, at: later })), ['publish']);
  });

  it('leave the release with their documents', async () => {
    const [one, two, three] = await Promise.all(['1', '2', '3'].map((title) => draft({ title })));
    const four = await post({ title: '4' });
    assert.ok(one && two && three);
    const { body } = await release({ title: 'x', at: later, items: [one, two, three, four] });
    await call('DELETE', `/api/collections/posts/${one.id}?draft=true`);
    assert.deepEqual(await idsIn(body.id), [two.id, three.id, four.id]);
    const erased = await call('POST', '/api/audit/erasures', { ...two, reason: 'asked for' });
    assert.ok(erased.status < 300, JSON.stringify(erased.body));
    assert.deepEqual(await idsIn(body.id), [three.id, four.id]);
    await call('POST', '/api/collections/posts/bulk/delete', { ids: [four.id] });
    assert.deepEqual(await idsIn(body.id), [three.id]);
    const stream = `system/releases/${body.id}`;
    const events = await call('GET', `/api/audit/events?type=release.item.removed&stream=${stream}`);
    assert.deepEqual(
      events.body.docs.map(({ data }: { data: object }) => data),
      [
        { collection: 'posts', id: one.id },
        { collection: 'posts', id: two.id },
        { collection: 'posts', id: four.id },
      ],
    );
  });
});

describe('a release', () => {
  it('is changed at the version that If-Match names', async () => {
    const made = await release({ title: 'x' });
    const path = `/api/releases/${made.body.id}`;
    const headers = { 'if-match': made.headers.get('etag') ?? '' };
    const changed = await call('PATCH', path, { title: 'y', description: 'z' }, { headers });
    assert.deepEqual([changed.status, changed.body.title, changed.body.description], [200, 'y', 'z']);
    const stale = await call('PATCH', path, { title: 'w' }, { headers });
    assert.deepEqual([stale.status, stale.body.code, stale.body.version], [412, 'stale', 2]);
    assert.equal((await on(made.body.id, 'publish', undefined, { headers })).status, 412);
    assert.equal((await call('DELETE', path)).body.state, 'archived');
    assert.equal((await call('PATCH', path, { title: 'w' })).status, 409);
  });

  it('is made and published once for an Idempotency-Key', async () => {
    const one = await draft({ title: 'One' });
    for (const publish of [false, true]) {
      const options = { headers: { 'idempotency-key': `make-${publish}` } };
      const first = await release({ title: 'x', items: [one], publish }, options);
      const again = await release({ title: 'x', items: [one], publish }, options);
      assert.deepEqual([again.status, again.body.id], [201, first.body.id]);
      assert.equal(again.headers.get('idempotent-replayed'), 'true');
    }
    const { body } = await release({ title: 'x', items: [one] });
    const options = { headers: { 'idempotency-key': 'publish' } };
    const first = await on(body.id, 'publish', undefined, options);
    const again = await on(body.id, 'publish', undefined, options);
    assert.deepEqual([again.status, again.body], [200, first.body]);
  });

  it('is listed by state and time', async () => {
    const { body } = await release({ title: 'listed', at: '2030-03-01T12:00:00+01:00' });
    const list = async (query: string) => (await call('GET', `/api/releases?${query}`)).body;
    const found = await list('state=scheduled&from=2030-03-01T11:00:00Z&to=2030-03-01T11:00:00Z');
    assert.deepEqual([found.total, found.docs[0].id, found.docs[0].itemCount], [1, body.id, 0]);
    assert.equal((await list('state=published,failed&from=2030-01-01T00:00:00Z')).total, 0);
    for (const query of ['state=sheduled', 'from=tomorrow', 'limit=0', 'sort=title']) {
      assert.equal((await call('GET', `/api/releases?${query}`)).status, 400, query);
    }
  });
});

describe('a check of a release', () => {
  it('tells the problems, the values that are replaced, links that readers do not see, and other releases', async () => {
    const author = await call('POST', '/api/collections/authors?draft=true', { name: 'Ada' });
    const one = await post({ title: 'One', stock: 1 });
    await edit(one, { stock: 2, author: author.body.id });
    await patch(one, { stock: 3 });
    const wrong = await draft({ stock: 1 });
    const taken = await draft({ title: 'Taken', slug: 'has' });
    const holder = await post({ title: 'Holder', slug: 'had' });
    await edit(holder, { slug: 'free' });
    await edit(taken, { slug: 'had' });
    const other = await release({ title: 'Other', items: [one] });
    const { body } = await release({ title: 'x', items: [one, wrong, taken] });
    const { status, body: check } = await on(body.id, 'check');
    assert.equal(status, 200, JSON.stringify(check));
    assert.deepEqual(
      check.problems.map(({ field, code }: Record<string, string>) => [field, code]),
      [
        ['items.1.title', 'required'],
        ['items.2.slug', 'unique'],
      ],
    );
    // biome-ignore lint/suspicious/noThenProperty: the answer is never awaited
    assert.deepEqual(check.overwritten, [{ field: 'items.0.stock', now: 3, then: 1 }]);
    assert.deepEqual(check.notPublished, [
      { field: 'items.0.author', collection: 'authors', id: author.body.id, title: 'Ada' },
    ]);
    assert.deepEqual(check.releases, [{ field: 'items.0', id: other.body.id, title: 'Other' }]);
    await on(body.id, 'items', { items: [{ collection: 'authors', id: author.body.id }] });
    assert.deepEqual((await on(body.id, 'check')).body.notPublished, []);
    assert.equal((await read(body.id)).body.state, 'open');
  });
});
