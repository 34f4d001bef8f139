import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import type { CallOptions } from '../helpers/service.ts';

const config = `
const no = () => false;
export default {
  bcryptCost: 4,
  audit: ({ user, apiKey }) => apiKey || user?.nick === 'blind' || user?.nick === 'auditor' ? true : ['headers'],
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'nick', type: 'text' }], access: { read: ({ user }) => user?.nick !== 'blind' || { id: { equals: user.id } } } },
    { slug: 'shy', auth: { useAPIKey: true }, fields: [{ name: 'nick', type: 'text', access: { read: no } }], access: { read: () => true } },
    { slug: 'posts', fields: [{ name: 'title', type: 'text' }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
};`;

type Told = { actor: { type: string; id?: string; label?: string | null } };

describe('The names of actors', () => {
  const service = useServiceHere(config);
  const users: Record<string, { as: CallOptions; id: string }> = {};
  let post: string;

  async function send(method: string, path: string, body?: unknown, options?: CallOptions) {
    const answer = await service.call(method, `/api${path}`, body, options);
    assert.ok(answer.status < 300, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  const labelsOf = (told: readonly Told[]) => told.map(({ actor }) => actor.label);
  const versions = async (query: string, options?: CallOptions) => {
    const { docs: versions } = await send('GET', `/audit/documents/posts/${post}${query}`, undefined, options);
    return labelsOf(versions);
  };

  before(async () => {
    const password = 'correct horse battery';
    for (const [slug, nick] of [
      ['users', 'Ada'],
      ['users', 'auditor'],
      ['users', 'blind'],
      ['shy', 'Shy'],
    ] as const) {
      const email = `${nick}@example.org`;
      const { id } = await send('POST', `/collections/${slug}`, { email, password, nick });
      users[nick] = { id, as: (await loggedIn(service, slug, email, password)).as };
    }
    const key = await send('POST', '/keys', {
      name: 'The importer',
      scopes: [{ collections: '*', operations: ['create', 'read', 'update'] }],
    });
    post = (await send('POST', '/collections/posts', { title: '1' }, { key: key.secret })).id;
    await send('DELETE', `/keys/${key.id}`);
    const path = `/collections/posts/${post}`;
    await send('PATCH', path, { title: '2' }, users.Ada?.as);
    await send('PATCH', `/collections/users/${users.Ada?.id}`, { nick: 'Countess' });
    await send('PATCH', path, { title: '3' }, users.Ada?.as);
    await send('PATCH', path, { title: '4' }, users.Shy?.as);
    await send('PATCH', path, { title: '5' });
  });

  it('are the titles of users at the time, and the names of keys, also of revoked ones', async () => {
    assert.deepEqual(await versions('?actors=names'), ['The importer', 'Ada', 'Countess', 'Shy', null]);
  });

  it('are there only if they are asked for', async () => {
    assert.deepEqual(await versions(''), [undefined, undefined, undefined, undefined, undefined]);
    assert.deepEqual(await versions('?actors=ids'), await versions(''));
    const { status, body } = await service.call('GET', `/api/audit/documents/posts/${post}?actors=name`);
    assert.equal(status, 400);
    assert.equal(body.message, 'actors must be one of "ids", "names", got "name"; did you mean "names"?');
  });

  it('stand in events, differences, blame and erasures', async () => {
    const { docs: events } = await send('GET', `/audit/events?stream=posts/${post}&actors=names`);
    const plain = await send('GET', `/audit/events?stream=posts/${post}`);
    assert.deepEqual(labelsOf(events.map(({ header }: { header: Told }) => header)), await versions('?actors=names'));
    for (const { header } of events) delete header.actor.label;
    assert.deepEqual(events, plain.docs);
    const { from, to } = await send('GET', `/audit/documents/posts/${post}/diff?from=0&to=2&actors=names`);
    assert.deepEqual([from, to.actor.label], [null, 'Ada']);
    const { fields } = await send('GET', `/audit/documents/posts/${post}/blame?version=3&actors=names`);
    assert.deepEqual(
      fields.map(({ field, actor }: Told & { field: string }) => [field, actor?.label]),
      [['title', 'Countess']],
    );
    const version = await send('GET', `/audit/documents/posts/${post}/versions/2?actors=names`);
    assert.equal(version.event.header.actor.label, 'Ada');
    const access = await send('GET', `/audit/documents/posts/${post}/versions/2/access?actors=names`);
    assert.equal(access.actor.label, 'Ada');
    const account = await send('GET', `/audit/accounts/users/${users.Ada?.id}/versions/1?actors=names`);
    assert.equal(account.event.header.actor.label, null);
    const gone = (await send('POST', '/collections/posts', { title: 'x' })).id;
    await send('POST', '/audit/erasures', { collection: 'posts', id: gone, reason: 'asked for' });
    const { docs: erasures } = await send('GET', '/audit/erasures?actors=names');
    assert.deepEqual(labelsOf(erasures), [null]);
    assert.deepEqual(await send('GET', `/audit/erasures/${erasures[0].position}?actors=names`), erasures[0]);
  });

  it('are for callers who may see payloads, the user and the field', async () => {
    const seen = (nick: string) => versions('?actors=names', users[nick]?.as);
    assert.deepEqual(await seen('auditor'), ['The importer', 'Ada', 'Countess', null, null]);
    assert.deepEqual(await seen('blind'), ['The importer', null, null, null, null]);
    assert.deepEqual(await seen('Ada'), [null, null, null, null, null]);
  });

  it('are gone with the user who is erased', async () => {
    await send('POST', '/audit/erasures', { collection: 'users', id: users.Ada?.id, reason: 'asked for' });
    assert.deepEqual(await versions('?actors=names'), ['The importer', null, null, 'Shy', null]);
  });
});
