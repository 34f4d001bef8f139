import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { CallOptions } from '../../helpers/service.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { config, releasedSite } from './site.ts';

const service = useServiceHere(config);
const call: typeof service.call = (...args) => service.call(...args);
const posts = '/api/collections/posts';
const people: Record<string, CallOptions> = {};
const day = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * day).toISOString();

before(async () => {
  for (const role of ['writer', 'guest']) {
    const email = `${role}@example.org`;
    await call('POST', '/api/collections/staff', { email, password: 'correct horse battery', role });
    people[role] = (await loggedIn(service, 'staff', email, 'correct horse battery')).as;
  }
});

describe('a read as of a time to come', () => {
  it('shows what is planned until then, in its order', async () => {
    const { posts: ids } = await releasedSite(call, { at: inDays(2) });
    const later = { collection: 'posts', id: ids.added, action: 'unpublish' };
    assert.equal((await call('POST', '/api/releases', { title: 'Later', at: inDays(4), items: [later] })).status, 201);
    const shown = async (days: number, as?: CallOptions) => {
      const path = `${posts}?limit=100&select=title&asOf=${encodeURIComponent(inDays(days))}`;
      const { status, body } = await call('GET', path, undefined, as);
      assert.equal(status, 200, JSON.stringify(body));
      const titles = new Map(body.docs.map(({ id, title }: { id: string; title: string }) => [id, title]));
      return [ids.added, ids.changed, ids.removed].map((id) => titles.get(id) ?? null);
    };
    assert.deepEqual(await shown(1), [null, 'Public', 'Removed']);
    assert.deepEqual(await shown(3, people.writer), ['Added', 'Changed', null]);
    assert.deepEqual(await shown(5), [null, 'Changed', null]);
    const one = await call('GET', `${posts}/${ids.added}?asOf=${inDays(3).slice(0, 10)}`);
    assert.deepEqual([one.status, one.body.title, one.headers.get('cache-control')], [200, 'Added', 'no-store']);
    for (const path of ['/api/counts', `${posts}/count`, '/api/globals/site'])
      assert.equal((await call('GET', `${path}?asOf=${inDays(3)}`)).status, 200, path);
    const { body } = await call('POST', '/api/preview-token', { view: { asOf: inDays(3) } }, people.writer);
    const seen = await call('GET', `${posts}/${ids.added}?preview=${body.token}`, undefined, anonymous);
    assert.deepEqual([seen.status, seen.body.title], [200, 'Added'], JSON.stringify(body));
  });

  it('is a 400 for who may read no draft, and after 5 years', async () => {
    for (const [path, as] of [
      [`${posts}?asOf=${inDays(3)}`, people.guest],
      [`${posts}?asOf=${inDays(6 * 365)}`, people.writer],
      [`${posts}?draft=true&asOf=${inDays(3)}`, people.writer],
      [`${posts}/aggregate?asOf=${inDays(3)}`, people.writer],
    ] as const) {
      const answer = await call('GET', path, undefined, as);
      assert.equal(answer.status, 400, path);
    }
    assert.equal((await call('GET', `${posts}?asOf=${inDays(3)}`, undefined, anonymous)).status, 401);
    const past = await call('POST', '/api/preview-token', { view: { asOf: inDays(-1) } });
    assert.deepEqual([past.status, fieldsOf(past)], [400, ['view.asOf']]);
  });
});
