import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AccessArgs, Hook } from '../../../config/model.ts';
import type { JsonObject } from '../../../config/schema.ts';
import { anonymous, loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';
import { recordedEvents } from '../../helpers/shared.ts';

const posts = '/api/collections/posts';
const secret = 'correct horse battery';
/** The hooks that ran, in their order. */
const ran: string[] = [];
const note =
  (what: string): Hook =>
  ({ data }) => {
    ran.push(`${what} ${data.title}`);
  };
const isUser = ({ user }: AccessArgs) => user !== null;
const isChief = ({ user, doc }: AccessArgs) => user?.role === 'chief' && doc?.title !== 'locked';

const service = useServiceHere({
  bcryptCost: 4,
  collections: [
    {
      slug: 'staff',
      auth: true,
      access: { create: () => true, read: () => true },
      fields: [{ name: 'role', type: 'text' }],
    },
    {
      slug: 'posts',
      drafts: { publishedAt: 'since' },
      access: {
        read: () => true,
        create: isUser,
        update: isUser,
        delete: isUser,
        publish: isChief,
      },
      hooks: { afterChange: [note('changed')], beforePublish: [note('publishing')], afterPublish: [note('published')] },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'stock', type: 'number', min: 0 },
        { name: 'since', type: 'datetime' },
      ],
    },
    { slug: 'plain', fields: [{ name: 'title', type: 'text' }] },
  ],
});

const people: Record<'editor' | 'chief', CallOptions> = { editor: {}, chief: {} };
before(async () => {
  for (const name of ['editor', 'chief'] as const) {
    const email = `${name}@example.com`;
    const data = { email, password: secret, role: name };
    const { body } = await service.call('POST', '/api/collections/staff', data, anonymous);
    assert.ok(body.id);
    people[name] = (await loggedIn(service, 'staff', email, secret)).as;
  }
});

const call = (path: string, body: JsonObject, options: CallOptions = {}) =>
  service.call('POST', `${posts}/bulk${path}`, body, options);
const read = async (id: string, view = '') => (await service.call('GET', `${posts}/${id}${view}`)).body;
const outcomes = ({ body }: Answer): string[] => body.results.map(({ outcome }: { outcome: string }) => outcome);
const codesOf = ({ body }: Answer): unknown[] => body.errors.map(({ field, code }: JsonObject) => [field, code]);
let made = 0;

/** Drafts that are not public. @returns their ids. */
async function drafts(...docs: JsonObject[]): Promise<string[]> {
  const { status, body } = await call('?draft=true', { docs });
  assert.equal(status, 201, JSON.stringify(body));
  return body.results.map(({ id }: { id: string }) => id);
}

async function publicPosts(count: number): Promise<string[]> {
  made += 1;
  const docs = Array.from({ length: count }, (_, index) => ({ title: `p${index}`, slug: `p-${made}-${index}` }));
  const { body } = await call('', { docs });
  return body.results.map(({ id }: { id: string }) => id);
}

describe('bulk calls about drafts', () => {
  it('save drafts and publish them in one batch, with the hooks and the time of each', async () => {
    const ids = await drafts({ slug: 'one' }, { title: 'Two', stock: -1 });
    assert.equal((await service.call('GET', `${posts}/${ids[0]}`)).status, 404);
    const updated = await call('/update?draft=true', { ids, data: { stock: 1 } });
    assert.deepEqual([updated.status, outcomes(updated)], [200, ['updated', 'updated']]);
    const refused = await call('/publish', { ids });
    assert.equal(refused.status, 400);
    assert.deepEqual(codesOf(refused), [['ids.0.title', 'required']]);
    await call('/update?draft=true', { ids: [ids[0] as string], data: { title: 'One' } });
    ran.length = 0;
    const dry = await call('/publish?dryRun=true', { ids });
    assert.deepEqual([outcomes(dry), dry.body.batch, ran], [['published', 'published'], null, []]);
    const published = await call('/publish', { ids });
    assert.deepEqual([published.body.changed, outcomes(published)], [2, ['published', 'published']]);
    assert.deepEqual(ran, ['publishing One', 'publishing Two', 'published One', 'published Two']);
    const one = await read(String(ids[0]));
    assert.equal(one.title, 'One');
    assert.ok(Date.parse(one.since) > 0);
    assert.equal((await read(String(ids[0]), '?draft=true')).__status, 'published');
    const recorded = recordedEvents(service.data).filter(({ batch }) => batch === published.body.batch);
    const types = ['document.draft.updated', 'document.published'];
    assert.deepEqual(
      recorded.map(({ type }) => type),
      [...types, ...types],
    );
    const again = await call('/publish', { ids });
    assert.deepEqual([outcomes(again), again.body.batch], [['unchanged', 'unchanged'], null]);
  });

  it('publish, unpublish and discard all or none, and name what is in the way', async () => {
    const [one = '', two = ''] = await publicPosts(2);
    const [never = ''] = await drafts({ title: 'Never' });
    await call('/update?draft=true', { ids: [one, two], data: { title: 'New' } });
    assert.equal((await read(one)).title, 'p0');
    const refused = await call('/discard', { ids: [one, never] });
    assert.deepEqual([refused.status, codesOf(refused)], [409, [['ids.1', 'invalid']]]);
    assert.match(refused.body.message, /^ids\.1: the document was never public/);
    assert.equal((await read(one, '?draft=true')).title, 'New');
    const missing = await call('/publish', { ids: [one, 'no-such-id'] });
    assert.deepEqual([missing.status, codesOf(missing)], [404, [['ids.1', 'reference_not_found']]]);
    assert.deepEqual(outcomes(await call('/discard', { ids: [one] })), ['discarded']);
    assert.deepEqual(await read(one, '?draft=true&select=title'), { id: one, title: 'p0' });
    assert.equal((await call('/unpublish', { ids: [two, never] })).status, 409);
    assert.deepEqual(outcomes(await call('/unpublish', { ids: [one, two] })), ['unpublished', 'unpublished']);
    assert.equal((await service.call('GET', `${posts}/${two}`)).status, 404);
    assert.equal((await read(two, '?draft=true')).title, 'New');
    assert.equal((await call('/delete', { ids: [two] })).status, 404);
    assert.deepEqual(outcomes(await call('/delete?draft=true', { ids: [two, never] })), ['deleted', 'deleted']);
    assert.equal((await service.call('GET', `${posts}/${never}?draft=true`)).status, 404);
  });

  it('choose by a condition what they are about: drafts, or what is public', async () => {
    const [one = '', two = ''] = await publicPosts(2);
    await call('/update?draft=true', { ids: [one], data: { title: 'Chosen' } });
    const [three = ''] = await drafts({ title: 'Chosen', slug: 'chosen-three' });
    const where = { title: { equals: 'Chosen' } };
    assert.equal((await call('/unpublish?dryRun=true', { where })).body.matched, 0);
    assert.equal((await call('/update', { where, data: { stock: 3 } })).body.matched, 0);
    const drafted = await call('/update?draft=true', { where, data: { stock: 4 } });
    assert.deepEqual(new Set(drafted.body.results.map(({ id }: { id: string }) => id)), new Set([one, three]));
    const key = { headers: { 'idempotency-key': 'publish-chosen' } };
    const changed = { and: [where, { __status: { in: ['changed', 'draft'] } }] };
    const first = await call('/publish', { where: changed }, key);
    assert.deepEqual([first.status, first.body.changed], [200, 2]);
    const again = await call('/publish', { where: changed }, key);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    assert.deepEqual(again.body, first.body);
    assert.deepEqual([(await read(one)).stock, (await read(three)).stock, (await read(two)).stock], [4, 4, null]);
  });

  it('find drafts by their unique values', async () => {
    const [id = ''] = await drafts({ title: 'First', slug: 'by-slug' });
    const docs = [
      { slug: 'by-slug', stock: 5 },
      { slug: 'by-slug-2', title: 'Other' },
    ];
    const done = await call('?draft=true', { docs, upsertBy: 'slug' });
    assert.deepEqual(outcomes(done), ['updated', 'created']);
    assert.equal(done.body.results[0].id, id);
    assert.equal((await read(id, '?draft=true')).stock, 5);
    const swapped = await call('/update?draft=true', { ids: [id, done.body.results[1].id], data: { slug: 'same' } });
    assert.deepEqual([swapped.status, codesOf(swapped)], [409, [['data.slug', 'unique']]]);
  });

  it('ask the rule publish about each document that becomes public, or is so', async () => {
    const { editor, chief } = people;
    const docs = [{ title: 'Mine' }, { title: 'locked' }];
    const plain = await call('', { docs }, editor);
    assert.equal(plain.status, 403);
    assert.match(plain.body.message, /send draft=true/);
    const saved = await call('?draft=true', { docs }, editor);
    assert.equal(saved.status, 201);
    const ids = saved.body.results.map(({ id }: { id: string }) => id);
    assert.equal((await call('/publish', { ids }, editor)).status, 403);
    const refused = await call('/publish', { ids }, chief);
    assert.deepEqual([refused.status, codesOf(refused)], [403, [['ids.1', 'forbidden_document']]]);
    assert.equal((await call('/publish', { ids: ids.slice(0, 1) }, chief)).status, 200);
    const update = await call('/update', { ids: ids.slice(0, 1), data: { title: 'locked' } }, chief);
    assert.deepEqual([update.status, codesOf(update)], [403, [['ids.0', 'forbidden_document']]]);
    assert.match(update.body.message, /^you may not publish 1 of 1 document: ids\.0; send draft=true to save drafts$/);
    assert.equal((await call('/delete', { ids: ids.slice(0, 1) }, editor)).status, 403);
    assert.equal((await call('/discard', { ids: ids.slice(0, 1) }, anonymous)).status, 401);
  });

  it('are no calls of a collection without drafts', async () => {
    const { status } = await service.call('POST', '/api/collections/plain/bulk/publish', { ids: [] });
    assert.equal(status, 404);
    const asked = await service.call('POST', '/api/collections/plain/bulk?draft=true', { docs: [] });
    assert.equal(asked.status, 400);
    assert.equal((await call('/publish?draft=true', { ids: [] })).status, 400);
  });
});
