import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AccessArgs } from '../../../config/model.ts';
import { anonymous, loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { Answer, CallOptions } from '../../helpers/service.ts';
import { errorsOf, recordedData, recordedEvents } from '../../helpers/shared.ts';

const posts = '/api/collections/posts';
const site = '/api/globals/site';
const secret = 'correct horse battery';
const isUser = ({ user }: AccessArgs) => user !== null && user.role !== 'guest';
const isChief = ({ user, editors }: AccessArgs & { editors?: readonly string[] }) => {
  return user?.role === 'chief' && !editors?.includes(`staff/${user.id}`);
};

const fields = [{ name: 'title', type: 'text', required: true }] as const;
const access = { read: () => true, create: isUser, update: isUser, publish: isChief };
const service = useServiceHere({
  bcryptCost: 4,
  collections: [
    {
      slug: 'staff',
      auth: true,
      access: { create: () => true, read: () => true },
      fields: [{ name: 'role', type: 'text' }],
    },
    { slug: 'posts', drafts: true, access, fields: [...fields] },
    { slug: 'strict', drafts: true, requireReason: true, access, fields: [...fields] },
  ],
  globals: [{ slug: 'site', drafts: true, access: { update: isUser, publish: isChief }, fields: [...fields] }],
});

const people: Record<'ada' | 'ben' | 'chief' | 'guest', CallOptions> = { ada: {}, ben: {}, chief: {}, guest: {} };
const ids: Record<string, string> = {};
before(async () => {
  for (const name of ['ada', 'ben', 'chief', 'guest'] as const) {
    const email = `${name}@example.com`;
    await service.call('POST', '/api/collections/staff', { email, password: secret, role: name });
    const { as, id } = await loggedIn(service, 'staff', email, secret);
    people[name] = as;
    ids[name] = id;
  }
});

async function draft(title: string, collection = posts): Promise<string> {
  const { body } = await service.call('POST', `${collection}?draft=true`, { title }, people.ada);
  return `${collection}/${body.id}`;
}

const post = (path: string, body: unknown, as: CallOptions): Promise<Answer> => service.call('POST', path, body, as);
const streamOf = (at: string) => at.replace('/api/collections/', '');

describe('a request for review', () => {
  it('is open until it is withdrawn, refused, or its draft is published', async () => {
    const at = await draft('A');
    const asked = await post(`${at}/review`, { to: [ids.chief, ids.ben], note: ' Please ' }, people.ada);
    assert.deepEqual([asked.status, asked.body.title, asked.body.__review], [200, 'A', 'open']);
    const named = [`staff/${ids.chief}`, `staff/${ids.ben}`];
    assert.deepEqual(recordedData(service.data, streamOf(at)).at(-1), { version: 1, to: named, note: 'Please' });
    const { body: page } = await service.call('GET', '/api/reviews', undefined, people.ben);
    assert.equal(page.total, 1);
    const { requestedAt, ...shown } = page.docs[0];
    assert.ok(Date.parse(requestedAt) > 0);
    assert.deepEqual(shown, {
      collection: 'posts',
      global: null,
      id: at.split('/').at(-1),
      title: 'A',
      version: 1,
      newest: 1,
      requestedBy: { type: 'user', id: `staff/${ids.ada}` },
      to: [ids.chief, ids.ben],
      note: 'Please',
    });
    await service.call('PATCH', `${at}?draft=true`, { title: 'B' }, people.ada);
    const newer = await service.call('GET', '/api/reviews', undefined, people.ben);
    assert.deepEqual([newer.body.docs[0].version, newer.body.docs[0].newest], [1, 3]);

    assert.equal((await post(`${at}/review/refuse`, { note: 'No' }, people.ben)).status, 403);
    const needed = await post(`${at}/review/refuse`, {}, people.chief);
    assert.deepEqual([needed.status, Object.keys(errorsOf(needed))], [400, ['note']]);
    const refused = await post(`${at}/review/refuse`, { note: 'Not yet' }, people.chief);
    assert.deepEqual([refused.status, refused.body.__review], [200, 'refused']);
    const told = { version: 1, to: [`staff/${ids.ada}`], note: 'Not yet' };
    assert.deepEqual(recordedData(service.data, streamOf(at)).at(-1), told);
    assert.equal((await post(`${at}/review/refuse`, { note: 'No' }, people.chief)).status, 409);
    const seen = await service.call('GET', `${at}?draft=true`, undefined, people.ben);
    assert.equal(seen.body.__review, 'refused');
    assert.equal((await service.call('GET', '/api/reviews', undefined, people.ben)).body.total, 0);

    await post(`${at}/review`, {}, people.ada);
    assert.equal((await service.call('DELETE', `${at}/review`, undefined, people.ben)).status, 403);
    const withdrawn = await service.call('DELETE', `${at}/review`, undefined, people.ada);
    assert.deepEqual([withdrawn.status, withdrawn.body.__review], [200, null]);
    assert.equal((await service.call('DELETE', `${at}/review`, undefined, people.ada)).status, 409);

    await post(`${at}/review`, {}, people.ada);
    assert.equal((await service.call('DELETE', `${at}/review`, undefined, people.chief)).status, 200);
    await post(`${at}/review`, {}, people.ada);
    assert.equal((await post(`${at}/publish`, undefined, people.chief)).status, 200);
    const published = await service.call('GET', `${at}?draft=true`, undefined, people.ben);
    assert.deepEqual([published.body.__status, published.body.__review], ['published', null]);
    assert.equal((await post(`${at}/review`, {}, people.ada)).status, 409);
    const types = recordedEvents(service.data, streamOf(at)).map(({ type }) => type.replace('review.', ''));
    assert.equal(types.filter((type) => type === 'withdrawn').length, 2);
  });

  it('is refused with each wrong field, and without unpublished changes', async () => {
    const at = await draft('Wrong');
    const people20 = Array.from({ length: 21 }, () => ids.ada);
    for (const [body, fields] of [
      [{ to: [ids.ada, 'no-such-user', ids.ada] }, ['to.1', 'to.2']],
      [{ to: ids.ada }, ['to']],
      [{ to: people20 }, ['to']],
      [{ note: 1 }, ['note']],
      [{ note: 'x'.repeat(2001) }, ['note']],
      [{ note: 'a\u0007b' }, ['note']],
      [{ notes: 'x' }, ['notes']],
    ] as const) {
      const answer = await post(`${at}/review`, body, people.ada);
      assert.deepEqual([answer.status, Object.keys(errorsOf(answer))], [400, fields]);
    }
    const made = await service.call(
      'POST',
      '/api/collections/strict?draft=true',
      { title: 'S' },
      {
        ...people.ada,
        headers: { ...people.ada.headers, 'x-change-reason': 'new' },
      },
    );
    const strictAt = `/api/collections/strict/${made.body.id}`;
    assert.deepEqual(Object.keys(errorsOf(await post(`${strictAt}/review`, {}, people.ada))), ['note']);
    assert.equal((await post(`${strictAt}/review`, { note: 'Ready' }, people.ada)).status, 200);
  });

  it('tells a caller without the right to drafts nothing', async () => {
    const at = await draft('Secret');
    await post(`${at}/review`, { to: [ids.guest] }, people.ada);
    const { guest } = people;
    for (const [method, path] of [
      ['POST', 'review'],
      ['DELETE', 'review'],
      ['POST', 'review/refuse'],
    ] as const) {
      const body = path === 'review' ? undefined : { note: 'No' };
      assert.equal((await service.call(method, `${at}/${path}`, body, guest)).status, 403);
      assert.equal((await service.call(method, `${at}/${path}`, body, anonymous)).status, 401);
    }
    const { body } = await service.call('GET', '/api/reviews', undefined, guest);
    assert.deepEqual(body.docs, []);
    assert.equal((await service.call('GET', '/api/reviews', undefined, anonymous)).status, 401);
  });

  it('is held against the draft that was seen, and is for globals too', async () => {
    const at = await draft('Tag');
    const seen = await service.call('GET', `${at}?draft=true`, undefined, people.ada);
    const etag = String(seen.headers.get('etag'));
    await service.call('PATCH', `${at}?draft=true`, { title: 'Tag 2' }, people.ben);
    const stale = { ...people.ada, headers: { ...people.ada.headers, 'if-match': etag } };
    assert.equal((await post(`${at}/review`, {}, stale)).status, 412);

    assert.equal((await post(`${site}/review`, {}, people.ada)).status, 409);
    await service.call('PATCH', `${site}?draft=true`, { title: 'Site' }, people.ada);
    assert.equal((await post(`${site}/review`, { note: 'Site' }, people.ada)).body.__review, 'open');
    const { body } = await service.call('GET', '/api/reviews?limit=1', undefined, people.chief);
    assert.deepEqual([body.docs[0].global, body.docs[0].id, body.docs[0].title], ['site', null, 'Site']);
    assert.ok(body.totalPages > 1 || body.total > 1);
    assert.equal((await post(`${site}/discard`, undefined, people.ada)).status, 200);
    const after = await service.call('GET', '/api/reviews?limit=1', undefined, people.chief);
    assert.equal(after.body.docs[0].global, null);
  });
});
