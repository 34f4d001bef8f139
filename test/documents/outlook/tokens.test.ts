import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { anonymous, loggedIn } from '../../helpers/accounts.ts';
import { useServiceHere } from '../../helpers/embedded.ts';
import type { CallOptions } from '../../helpers/service.ts';
import { fieldsOf } from '../../helpers/shared.ts';
import { config, releasedSite, sitePaths, withoutTimes } from './site.ts';

const service = useServiceHere(config);
const call: typeof service.call = (...args) => service.call(...args);
const people: Record<string, CallOptions> = {};
const posts = '/api/collections/posts';

before(async () => {
  for (const role of ['planner', 'writer', 'guest']) {
    const email = `${role}@example.org`;
    await call('POST', '/api/collections/staff', { email, password: 'correct horse battery', role });
    people[role] = (await loggedIn(service, 'staff', email, 'correct horse battery')).as;
  }
});

const make = (body: object, as?: CallOptions) => call('POST', '/api/preview-token', body, as);

async function tokenOf(body: object, as = people.writer): Promise<string> {
  const { status, body: made } = await make(body, as);
  assert.equal(status, 200, JSON.stringify(made));
  return made.token;
}

const withToken = (token: string): CallOptions => ({ key: null, headers: { 'annals-preview': token } });

describe('a preview token of a release', () => {
  it('shows anybody what the public will get, and nothing of a private collection', async () => {
    const { release, hidden } = await releasedSite(call);
    const token = await tokenOf({ view: { release } });
    const asked = async (as: CallOptions) => {
      const found = [];
      for (const path of sitePaths()) {
        const { status, body } = await call('GET', path, undefined, as);
        found.push([path, status, withoutTimes(body)]);
      }
      return found;
    };
    const ahead = await asked(withToken(token));
    // A credential beside it does not count.
    assert.deepEqual(
      await asked({ ...people.writer, headers: { ...people.writer?.headers, 'annals-preview': token } }),
      ahead,
    );
    for (const path of ['/api/collections/private', `/api/collections/private/${hidden}`, '/api/collections/staff'])
      assert.equal((await call('GET', path, undefined, withToken(token))).status, 401, path);
    assert.equal((await call('POST', `/api/releases/${release}/publish`)).status, 200);
    assert.deepEqual(ahead, await asked(anonymous));
  });

  it('shows only drafts that its maker may read', async () => {
    const { release, posts: ids } = await releasedSite(call);
    const token = await tokenOf({ view: { release } }, people.planner);
    const { body } = await call('GET', `${posts}/${ids.changed}?preview=${token}`, undefined, anonymous);
    assert.equal(body.title, 'Public');
    assert.equal((await call('GET', `${posts}/${ids.added}?preview=${token}`, undefined, anonymous)).status, 404);
  });
});

describe('a preview token of drafts', () => {
  it('shows the newest state of what anybody could read if it were public', async () => {
    const { posts: ids, hidden } = await releasedSite(call);
    const as = withToken(await tokenOf({ view: { draft: true } }));
    const one = await call('GET', `${posts}/${ids.changed}`, undefined, as);
    assert.deepEqual([one.body.title, one.headers.get('cache-control')], ['Half a sent', 'no-store']);
    assert.equal((await call('GET', `${posts}/${ids.added}`, undefined, as)).body.title, 'Added');
    const list = await call('GET', `${posts}?limit=100&select=title`, undefined, as);
    assert.ok(list.body.docs.some(({ id, title }: Record<string, string>) => id === ids.added && title === 'Added'));
    assert.match((await call('GET', '/api/globals/site', undefined, as)).body.name, /^Site/);
    for (const path of ['/api/collections/private', `/api/collections/private/${hidden}`])
      assert.equal((await call('GET', path, undefined, as)).status, 401, path);
    assert.ok(!('private' in (await call('GET', '/api/counts', undefined, as)).body.collections));
  });
});

describe('the tokens of a caller', () => {
  it('are listed, and a revoked one is a 401', async () => {
    const { release } = await releasedSite(call);
    const token = await tokenOf({ view: { release }, expiresIn: 60 });
    const own = await call('GET', '/api/preview-tokens?limit=1', undefined, people.writer);
    const [{ id, view, ...rest }] = own.body.docs;
    assert.deepEqual(view, { release });
    assert.deepEqual(Object.keys(rest), ['maker', 'createdAt', 'expiresAt']);
    assert.ok(!JSON.stringify(own.body).includes(token));
    assert.equal((await call('GET', '/api/preview-tokens', undefined, people.guest)).body.total, 0);
    assert.equal((await call('DELETE', `/api/preview-tokens/${id}`, undefined, people.guest)).status, 404);
    assert.equal((await call('GET', posts, undefined, withToken(token))).status, 200);
    const revoked = await call('DELETE', `/api/preview-tokens/${id}`, undefined, people.writer);
    assert.deepEqual([revoked.status, revoked.body.id], [200, id]);
    assert.equal((await call('GET', posts, undefined, withToken(token))).status, 401);
  });

  it('are refused where they would show more than they may', async () => {
    const { release, posts: ids } = await releasedSite(call);
    assert.equal((await make({ view: { draft: true } }, anonymous)).status, 401);
    assert.equal((await make({ view: { draft: true } }, people.guest)).status, 403);
    assert.equal((await make({ view: { release } }, people.guest)).status, 403);
    for (const [body, field] of [
      [{ view: { release: 'none' } }, 'view.release'],
      [{ view: {} }, 'view'],
      [{ view: { release, draft: true } }, 'view'],
      [{ view: { draft: false } }, 'view.draft'],
      [{ view: { draft: true }, expiresIn: 30 * 86_400 + 1 }, 'expiresIn'],
      [{ view: { draft: true }, collection: 'posts' }, 'collection'],
    ] as const) {
      const answer = await make(body, people.writer);
      assert.deepEqual([answer.status, fieldsOf(answer)], [400, [field]], JSON.stringify(body));
    }
    const token = await tokenOf({ view: { release } });
    const as = withToken(token);
    for (const query of ['draft=true', 'asOf=1', `release=${release}`, 'q=x', `preview=${token}`])
      assert.equal((await call('GET', `${posts}?${query}`, undefined, as)).status, 400, query);
    for (const wrong of ['x', `${token}x`, token.slice(1)])
      assert.equal((await call('GET', posts, undefined, withToken(wrong))).status, 401);
    // It admits to nothing but reads.
    for (const [method, path, body] of [
      ['PATCH', `${posts}/${ids.plain}`, { title: 'x' }],
      ['GET', `/api/releases/${release}`, undefined],
      ['GET', '/api/audit/events', undefined],
      ['GET', '/api/preview-tokens', undefined],
      ['POST', '/api/preview-token', { view: { release } }],
    ] as const)
      assert.equal((await call(method, path, body, as)).status, 401, path);
    assert.equal(
      (await call('GET', `${posts}/${ids.plain}?asOf=1&preview=${token}`, undefined, anonymous)).status,
      400,
    );
  });

  it('end with the user who made them', async () => {
    const email = 'leaving@example.org';
    await call('POST', '/api/collections/staff', { email, password: 'correct horse battery', role: 'writer' });
    const { as, id } = await loggedIn(service, 'staff', email, 'correct horse battery');
    const token = await tokenOf({ view: { draft: true } }, as);
    assert.equal((await call('GET', posts, undefined, withToken(token))).status, 200);
    assert.equal((await call('DELETE', `/api/collections/staff/${id}`, undefined, people.writer)).status, 200);
    assert.equal((await call('GET', posts, undefined, withToken(token))).status, 401);
  });
});
