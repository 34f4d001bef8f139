import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { before, describe, it } from 'node:test';
import { everyEntry } from '../../admin/src/service/every-page.ts';
import { createClient } from '../../client/index.ts';
import { anonymous, type LoggedIn, loggedIn, login } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey, type CallOptions } from '../helpers/service.ts';
import { eventually } from '../helpers/shared.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const url = 'https://127.0.0.1/hook';

const service = useServiceHere(`
  const isAda = ({ user }) => user?.email === 'ada@example.org';
  export default {
    bcryptCost: 4,
    rateLimit: false,
    collections: [
      { slug: 'users', auth: { useAPIKey: true }, fields: [] },
      {
        slug: 'members',
        auth: true,
        access: { create: (asked) => isAda(asked) || (asked.user !== null && asked.data.email.endsWith('@example.org')) },
        fields: [],
      },
      {
        slug: 'posts',
        access: { read: (asked) => isAda(asked) || { title: { equals: 'open' } }, update: ({ user }) => user !== null },
        fields: [{ name: 'title', type: 'text' }],
      },
    ],
    globals: [{ slug: 'site', fields: [{ name: 'title', type: 'text' }] }],
    webhooks: [
      { name: 'first', url: '${url}', secret: '${secret}', globals: ['site'] },
      { name: 'second', url: '${url}', secret: '${secret}', globals: ['site'], events: ['document.deleted'] },
      { name: 'third', url: '${url}', secret: '${secret}', collections: ['posts'], events: ['document.deleted'] },
    ],
  };`);

const password = 'correct horse battery';
let ada: LoggedIn;
let bob: LoggedIn;

/** The body of an answer that must have a status. */
async function wanted(status: number, method: string, path: string, body?: unknown, as: CallOptions = {}) {
  const answer = await service.call(method, path, body, as);
  assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

const get = (path: string, as: CallOptions = {}) => wanted(200, 'GET', path, undefined, as);

before(async () => {
  for (const name of ['ada', 'bob'])
    await wanted(201, 'POST', '/api/collections/users', { email: `${name}@example.org`, password });
  ada = await loggedIn(service, 'users', 'ada@example.org', password);
  bob = await loggedIn(service, 'users', 'bob@example.org', password);
});

/** A list of three entries: a caller who sees all of them, and the member that tells them apart, in their order. */
type List = { path: string; as: CallOptions; key: string; entries: readonly string[] };

async function assertPages({ path, as, key, entries }: List): Promise<void> {
  const [first, second, third] = entries;
  const keysOf = ({ docs }: { docs: Record<string, string>[] }) => docs.map((one) => one[key]);
  const whole = await get(path, as);
  const { docs: _, ...rest } = whole;
  assert.deepEqual(keysOf(whole), entries);
  const alone = { total: 3, limit: 10, page: 1, totalPages: 1, hasNextPage: false, hasPrevPage: false };
  assert.deepEqual(rest, { ...alone, nextPage: null, prevPage: null });
  for (const [query, page, shown] of [
    ['limit=2', { page: 1, hasNextPage: true, hasPrevPage: false, nextPage: 2, prevPage: null }, [first, second]],
    ['limit=2&page=2', { page: 2, hasNextPage: false, hasPrevPage: true, nextPage: null, prevPage: 1 }, [third]],
    ['limit=2&page=9', { page: 9, hasNextPage: false, hasPrevPage: true, nextPage: null, prevPage: 2 }, []],
  ] as const) {
    const { docs, ...others } = await get(`${path}?${query}`, as);
    assert.deepEqual(keysOf({ docs }), shown, query);
    assert.deepEqual(others, { total: 3, limit: 2, totalPages: 2, ...page }, query);
  }
  const most = await get(`${path}?limit=101&page=9007199254740991`, as);
  assert.deepEqual([most.limit, most.docs], [100, []]);
  const refused = await wanted(400, 'GET', `${path}?limit=0&page=x&pag=1`, undefined, as);
  assert.deepEqual(refused.errors.map(({ field }: { field: string }) => field).sort(), ['limit', 'pag', 'page']);
}

describe('A page of API keys, sessions, invitations, unsaved changes or webhooks (2.5, 4.8)', () => {
  it('has the members of a list of documents, for API keys', async () => {
    const entries: string[] = [];
    for (const name of ['One', 'Two', 'Three']) entries.push((await wanted(201, 'POST', '/api/keys', { name })).id);
    await wanted(200, 'DELETE', `/api/keys/${(await wanted(201, 'POST', '/api/keys', { name: 'Gone' })).id}`);
    await assertPages({ path: '/api/keys', as: {}, key: 'id', entries });
    const { docs } = await get('/api/keys?limit=1&page=2');
    await get('/api/schemas', { key: (await wanted(200, 'POST', `/api/keys/${docs[0].id}/rotate`, {})).secret });
    const used = (await get('/api/keys?limit=1&page=2')).docs[0];
    assert.ok(Date.parse(used.lastUsedAt) > 0);
    assert.deepEqual(used, { ...docs[0], lastUsedAt: used.lastUsedAt });
    const client = createClient({ baseUrl: service.url, apiKey });
    const all = await everyEntry((query) => client.keys.list({ ...query, limit: 2 }));
    assert.deepEqual(
      all.map((one) => one.id),
      entries,
      'page by page, as the admin application reads a list that it needs whole',
    );
    for (const id of entries) await wanted(200, 'DELETE', `/api/keys/${id}`);
  });

  it('has them for sessions', async () => {
    await wanted(201, 'POST', '/api/collections/users', { email: 'eve@example.org', password });
    for (const _ of [1, 2]) await login(service, 'users', 'eve@example.org', password);
    const { as } = await loggedIn(service, 'users', 'eve@example.org', password);
    const path = '/api/collections/users/sessions';
    const { docs } = await get(path, as);
    const startedAt = docs.map((one: { startedAt: string }) => one.startedAt);
    assert.deepEqual(startedAt, startedAt.toSorted());
    await assertPages({ path, as, key: 'sid', entries: docs.map(({ sid }: { sid: string }) => sid) });
    assert.equal((await get(`${path}?page=3&limit=1`, as)).docs[0].isCurrent, docs[2].isCurrent);
  });

  it('has them for invitations, of which only those count that the caller might send', async () => {
    const path = '/api/collections/members/invitations';
    const entries = ['a@example.org', 'b@example.com', 'c@example.org'];
    for (const email of entries) await wanted(200, 'POST', '/api/collections/members/invite', { email }, ada.as);
    await assertPages({ path, as: ada.as, key: 'email', entries });
    const { docs, total, totalPages } = await get(`${path}?limit=1&page=2`, bob.as);
    assert.deepEqual([docs[0].email, total, totalPages], ['c@example.org', 2, 2]);
    assert.equal((await get(`${path}?limit=1`, bob.as)).nextPage, 2);
  });

  it('has them for unsaved changes, of which only those count whose document the user may read', async () => {
    const ids: string[] = [];
    for (const title of ['open', 'closed', 'open']) {
      const { id } = await wanted(201, 'POST', '/api/collections/posts', { title });
      for (const { as } of [ada, bob])
        await wanted(200, 'PUT', `/api/drafts/posts/${id}`, { data: { title: 'x' }, version: 1 }, as);
      ids.unshift(id);
    }
    await assertPages({ path: '/api/drafts', as: ada.as, key: 'id', entries: ids });
    const page = await get('/api/drafts?limit=1&page=2', bob.as);
    assert.deepEqual([page.docs[0].id, page.total, page.nextPage], [ids[2], 2, null]);
  });

  it('has them for webhooks', async () => {
    await assertPages({ path: '/api/webhooks', as: {}, key: 'name', entries: ['first', 'second', 'third'] });
  });
});

describe('GET of one', () => {
  it('API key shows it as the list does', async () => {
    const { id, secret: own } = await wanted(201, 'POST', '/api/keys', { name: 'One' });
    const path = `/api/keys/${id}`;
    const shown = await get(path);
    assert.deepEqual([shown], (await get('/api/keys')).docs);
    assert.equal(Object.hasOwn(shown, 'secret'), false);
    await wanted(401, 'GET', path, undefined, anonymous);
    await wanted(403, 'GET', path, undefined, { key: own });
    await wanted(400, 'GET', `${path}?limit=1`);
    await wanted(200, 'DELETE', path);
    const gone = await wanted(404, 'GET', path);
    const never = await wanted(404, 'GET', `/api/keys/${'0'.repeat(16)}`);
    assert.equal(gone.message, `there is no API key "${id}"`);
    assert.deepEqual({ ...never, message: gone.message }, gone);
  });

  it('invitation shows it to those who might send it, and is a 404 to others', async () => {
    const path = '/api/collections/members/invitations';
    const { docs } = await get(path, ada.as);
    for (const one of docs) assert.deepEqual(await get(`${path}/${one.id}`, ada.as), one);
    const foreign = docs.find(({ email }: { email: string }) => email === 'b@example.com');
    const unseen = await wanted(404, 'GET', `${path}/${foreign.id}`, undefined, bob.as);
    const none = randomUUID();
    const absent = await wanted(404, 'GET', `${path}/${none}`, undefined, bob.as);
    assert.equal(absent.message.replace(none, foreign.id), unseen.message);
    await wanted(404, 'GET', `/api/collections/users/invitations/${foreign.id}`, undefined, ada.as);
    await wanted(401, 'GET', `${path}/${foreign.id}`);
    await wanted(401, 'GET', `${path}/${foreign.id}`, undefined, anonymous);
    await wanted(200, 'DELETE', `${path}/${foreign.id}`, undefined, ada.as);
    await wanted(404, 'GET', `${path}/${foreign.id}`, undefined, ada.as);
  });

  it('webhook or delivery shows it as the list does', async () => {
    await wanted(200, 'PATCH', '/api/globals/site', { title: 'a' });
    const path = '/api/webhooks/first/deliveries';
    // Later attempts are seconds away.
    await eventually(async () => (await get(path)).docs[0]?.attempts === 1);
    const [delivery] = (await get(path)).docs;
    assert.deepEqual(await get(`${path}/${delivery.id}`), delivery);
    const { position: _, ...webhook } = await get('/api/webhooks/first');
    const { position: __, ...listed } = (await get('/api/webhooks?limit=1')).docs[0];
    assert.deepEqual(webhook, listed);
    assert.deepEqual([webhook.name, webhook.waiting, webhook.origin], ['first', 1, 'https://127.0.0.1']);
    const { secret: own } = await wanted(201, 'POST', '/api/keys', { name: 'One' });
    for (const one of ['/api/webhooks/first', `${path}/${delivery.id}`]) {
      await wanted(401, 'GET', one, undefined, anonymous);
      await wanted(403, 'GET', one, undefined, { key: own });
      await wanted(400, 'GET', `${one}?limit=1`);
    }
    for (const [one, message] of [
      ['/api/webhooks/frst', 'there is no webhook "frst"; did you mean "first"?'],
      [`/api/webhooks/frst/deliveries/${delivery.id}`, 'there is no webhook "frst"; did you mean "first"?'],
      [
        `/api/webhooks/second/deliveries/${delivery.id}`,
        `there is no delivery "${delivery.id}" that is left to be made`,
      ],
      [`${path}/x`, 'there is no delivery "x" that is left to be made'],
    ] as const)
      assert.equal((await wanted(404, 'GET', one)).message, message);
  });
});
