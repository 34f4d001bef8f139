import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { JsonObject } from '../../config/schema.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer } from '../helpers/service.ts';
import { errorsOf } from '../helpers/shared.ts';
import { findingIn } from '../projections/directory.ts';

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'pages',
      fields: [
        { name: 'code', type: 'text', unique: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'meta', type: 'object', fields: [{ name: 'rank', type: 'number', unique: true }] },
        { name: 'opens', type: 'time', unique: true },
      ],
    },
    {
      slug: 'users',
      auth: { useAPIKey: true },
      fields: [{ name: 'badge', type: 'number', unique: true }],
    },
    {
      slug: 'seats',
      fields: [{ name: 'place', type: 'number', unique: true }],
      // Each document gets a value that another one has before the call.
      hooks: { beforeChange: ({ data, doc }) => (doc ? { ...data, place: (Number(doc.place) % 3) + 1 } : data) },
    },
  ],
} satisfies Config);

const bulk = (docs: JsonObject[], query = '') =>
  service.call('POST', `/api/collections/pages/bulk${query}`, { docs, upsertBy: 'code' });
const undo = (batch: string, query = '') => service.call('POST', `/api/batches/${batch}/undo${query}`, {});
const idsOf = ({ body }: Answer): string[] => body.results.map(({ id }: { id: string }) => id);
const outcomesOf = ({ body }: Answer): string[] => body.results.map(({ outcome }: { outcome: string }) => outcome);
const updated = 'document.updated';

let count = 0;
/** A text that no other test has. */
function fresh(): string {
  count += 1;
  return `v${count}`;
}

/** Makes pages with these slugs. @returns their codes. */
async function pagesOf(...slugs: (string | null)[]): Promise<string[]> {
  const codes = slugs.map(fresh);
  const { status } = await bulk(slugs.map((slug, at) => ({ code: codes[at] ?? '', slug })));
  assert.equal(status, 200);
  return codes;
}

async function slugsOf(codes: readonly string[]): Promise<unknown[]> {
  const query = `where[code][in]=${codes.join()}&sort=createdAt&limit=100`;
  const { body } = await service.call('GET', `/api/collections/pages?${query}`);
  return body.docs.map(({ slug }: JsonObject) => slug);
}

describe('A bulk call whose documents give up unique values', () => {
  it('swaps the values of two documents, and its undo swaps them back', async () => {
    const [x, y] = [fresh(), fresh()];
    const [a = '', b = ''] = await pagesOf(x, y);
    const swap = [
      { code: a, slug: y },
      { code: b, slug: x },
    ];
    const dry = await assertRecorded(service, () => bulk(swap, '?dryRun=true'), []);
    assert.deepEqual([dry.status, outcomesOf(dry)], [200, ['updated', 'updated']]);
    const swapped = await assertRecorded(service, () => bulk(swap), [updated, updated]);
    assert.deepEqual([swapped.status, await slugsOf([a, b])], [200, [y, x]]);
    const [first = '', second = ''] = idsOf(swapped);
    const rival = await service.call('PATCH', `/api/collections/pages/${second}`, { slug: y });
    assert.deepEqual([rival.status, errorsOf(rival)], [409, { slug: 'slug is taken by another document' }]);
    assert.equal((await undo(swapped.body.batch, '?dryRun=true')).status, 200);
    const undone = await assertRecorded(service, () => undo(swapped.body.batch), [updated, updated]);
    assert.deepEqual([undone.status, await slugsOf([a, b])], [200, [x, y]]);
    assert.equal((await undo(undone.body.batch)).status, 200);
    assert.deepEqual(await slugsOf([a, b]), [y, x]);
    // Each value is held once, and by the document that has it: it is free when that one gives it up.
    assert.equal((await service.call('PATCH', `/api/collections/pages/${first}`, { slug: null })).status, 200);
    assert.equal((await service.call('PATCH', `/api/collections/pages/${second}`, { slug: y })).status, 200);
  });

  it('moves values along a chain, in any order of the documents, to documents that it creates too', async () => {
    const [x, y, z] = [fresh(), fresh(), fresh()];
    const [a = '', b = '', c = ''] = await pagesOf(x, y, z);
    const created = fresh();
    const moved = await bulk([
      { code: created, slug: x },
      { code: b, slug: z },
      { code: a, slug: y },
      { code: c, slug: null },
    ]);
    assert.deepEqual([moved.status, outcomesOf(moved)], [200, ['created', 'updated', 'updated', 'updated']]);
    assert.deepEqual(await slugsOf([a, b, c, created]), [y, z, null, x]);
    // The undo deletes the document that was created, which frees the value for the one that had it.
    const undone = await undo(moved.body.batch);
    assert.deepEqual([undone.status, outcomesOf(undone)], [200, ['deleted', 'updated', 'updated', 'updated']]);
    assert.deepEqual(await slugsOf([a, b, c, created]), [x, y, z]);
    assert.deepEqual(outcomesOf(await undo(undone.body.batch)), ['restored', 'updated', 'updated', 'updated']);
    assert.deepEqual(await slugsOf([a, b, c, created]), [y, z, null, x]);
  });

  it('swaps numbers in objects, and times of day', async () => {
    const [a, b] = [fresh(), fresh()];
    const sent = (one: string, other: string) => [
      { code: one, meta: { rank: 1 }, opens: '10:00' },
      { code: other, meta: { rank: 2 }, opens: '11:30:15' },
    ];
    assert.equal((await bulk(sent(a, b))).status, 200);
    const swapped = await bulk(sent(b, a));
    assert.deepEqual([swapped.status, outcomesOf(swapped)], [200, ['updated', 'updated']]);
    const taken = await bulk([{ code: fresh(), meta: { rank: 1 }, opens: '10:00:00' }]);
    assert.deepEqual(Object.keys(errorsOf(taken)), ['docs.0.meta.rank', 'docs.0.opens']);
  });

  it('swaps the e-mails of two accounts, and each is logged in by its new one', async () => {
    const password = (badge: number) => `correct horse battery ${badge}`;
    const emails = ['ada@example.org', 'bob@example.org'];
    for (const [at, email] of emails.entries()) {
      const made = await service.call('POST', '/api/collections/users', { email, badge: at, password: password(at) });
      assert.equal(made.status, 201);
    }
    const docs = emails.toReversed().map((email, badge) => ({ badge, email }));
    const swapped = await service.call('POST', '/api/collections/users/bulk', { docs, upsertBy: 'badge' });
    assert.deepEqual([swapped.status, outcomesOf(swapped)], [200, ['updated', 'updated']]);
    for (const { email, badge } of docs) {
      const login = (from: number) =>
        service.call('POST', '/api/collections/users/login', { email, password: password(from) });
      assert.deepEqual([(await login(badge)).status, (await login(1 - badge)).status], [200, 401]);
    }
  });

  it('swaps what hooks compute', async () => {
    const docs = [1, 2, 3].map((place) => ({ place }));
    assert.equal((await service.call('POST', '/api/collections/seats/bulk', { docs })).status, 201);
    const body = { where: { id: { exists: true } }, data: {} };
    const { status } = await service.call('POST', '/api/collections/seats/bulk/update', body);
    const { body: list } = await service.call('GET', '/api/collections/seats?sort=createdAt');
    assert.deepEqual([status, list.docs.map(({ place }: JsonObject) => place)], [200, [2, 3, 1]]);
  });

  it('answers 409 naming what two of them take, or what a document outside has, and records nothing', async () => {
    const [x, y, z] = [fresh(), fresh(), fresh()];
    const codes = await pagesOf(x, y, z);
    const [a = '', b = '', c = ''] = codes;
    const twice = [
      { code: a, slug: fresh() },
      { code: b, slug: x },
      { code: fresh(), slug: y },
      { code: c, slug: x },
    ];
    const inThisCall = { 'docs.3.slug': 'docs.3.slug is taken by docs.1 in this call' };
    const outside = [
      { code: a, slug: y },
      { code: b, slug: z },
    ];
    const byAnother = { 'docs.1.slug': 'docs.1.slug is taken by another document' };
    // The document that gives a value up for another value keeps it, if it is sent with it.
    const kept = [
      { code: a, slug: x },
      { code: b, slug: x },
    ];
    for (const [docs, errors] of [
      [twice, inThisCall],
      [outside, byAnother],
      [kept, byAnother],
    ] as const) {
      for (const query of ['', '?dryRun=true']) {
        const answer = await assertRecorded(service, () => bulk([...docs], query), []);
        assert.deepEqual([answer.status, errorsOf(answer)], [409, errors]);
      }
    }
    assert.deepEqual(await slugsOf(codes), [x, y, z]);
  });

  it('leaves a log and claims that annals verify finds sound', async () => {
    const { body } = await service.call('GET', '/api/collections/pages?where[slug][exists]=true');
    assert.ok(body.total >= 2);
    assert.equal(findingIn(service.data), null);
  });
});
