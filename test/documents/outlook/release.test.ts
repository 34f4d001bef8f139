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

before(async () => {
  for (const role of ['planner', 'writer', 'guest']) {
    const email = `${role}@example.org`;
    await call('POST', '/api/collections/staff', { email, password: 'correct horse battery', role });
    people[role] = (await loggedIn(service, 'staff', email, 'correct horse battery')).as;
  }
});

describe('a read with release', () => {
  it('answers everywhere what the public gets after publishing, but for times', async () => {
    const { release } = await releasedSite(call);
    const paths = sitePaths();
    const asked = async (query: string) => {
      const found = [];
      for (const path of paths) {
        const asked = `${path}${path.includes('?') ? '&' : '?'}${query}`;
        const { status, body } = await call('GET', asked, undefined, people.writer);
        found.push([path, status, withoutTimes(body)]);
      }
      return found;
    };
    const today = await asked('');
    const ahead = await asked(`release=${release}`);
    assert.notDeepEqual(ahead, today);
    assert.equal((await call('POST', `/api/releases/${release}/publish`)).status, 200);
    const published = await asked('');
    assert.deepEqual(ahead, published);
    // It is published: the preview is the site.
    assert.deepEqual(await asked(`release=${release}`), published);
  });

  it('reads cursors, and one document, which no cache may keep', async () => {
    const { release, posts } = await releasedSite(call);
    const all: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const page = `/api/collections/posts?limit=2&sort=title&next=${encodeURIComponent(next)}&release=${release}`;
      const { body, status } = await call('GET', page);
      assert.equal(status, 200, JSON.stringify(body));
      all.push(...body.docs.map(({ title }: { title: string }) => title));
      next = body.next;
    }
    assert.deepEqual(all, all.toSorted());
    const one = await call('GET', `/api/collections/posts/${posts.added}?release=${release}`);
    assert.deepEqual([one.status, one.body.title], [200, 'Added']);
    assert.equal(one.headers.get('cache-control'), 'no-store');
    assert.match(one.headers.get('annals-position') ?? '', /^\d+$/);
    const gone = await call('GET', `/api/collections/posts/${posts.removed}?release=${release}`);
    assert.equal(gone.status, 404);
    assert.equal((await call('GET', `/api/collections/posts/${posts.added}`)).status, 404);
  });

  it('shows what is published meanwhile', async () => {
    const { release, posts } = await releasedSite(call);
    const read = () => call('GET', `/api/collections/posts/${posts.changed}?release=${release}`);
    assert.deepEqual([(await read()).body.title, (await read()).body.stock], ['Changed', 1]);
    await call('PATCH', `/api/collections/posts/${posts.changed}`, { stock: 7 });
    assert.deepEqual([(await read()).body.title, (await read()).body.stock], ['Changed', 7]);
  });

  it('is refused where it cannot be', async () => {
    const { release, posts } = await releasedSite(call);
    const list = '/api/collections/posts';
    for (const [path, fields] of [
      [`${list}?release=${release}&draft=true`, ['draft']],
      [`${list}?release=${release}&asOf=1`, ['asOf']],
      [`${list}?release=${release}&q=word`, ['q']],
      [`${list}?release=`, ['release']],
      [`${list}/${posts.changed}?release=${release}&proven=true`, ['proven']],
      [`${list}/aggregate?release=${release}`, ['release']],
      [`/api/search?q=word&release=${release}`, ['release']],
    ] as const) {
      const answer = await call('GET', path);
      assert.equal(answer.status, 400, `${path} ${JSON.stringify(answer.body)}`);
      assert.deepEqual(fieldsOf(answer), fields, path);
    }
    assert.equal((await call('GET', `${list}?release=none`)).status, 404);
    await call('DELETE', `/api/releases/${release}`);
    assert.equal((await call('GET', `${list}?release=${release}`)).status, 409);
  });
});

describe('the rights to a read with release', () => {
  it('are those to releases, and to each draft', async () => {
    const { release, posts } = await releasedSite(call);
    const found = async (as: CallOptions = {}) => {
      const path = `/api/collections/posts?limit=100&select=title&sort=id&release=${release}`;
      const { status, body } = await call('GET', path, undefined, as);
      if (status !== 200) return status;
      const titles = new Map(body.docs.map(({ id, title }: { id: string; title: string }) => [id, title]));
      return [posts.added, posts.changed, posts.removed].map((id) => titles.get(id) ?? null);
    };
    assert.equal(await found(anonymous), 401);
    assert.equal(await found(people.guest), 403);
    assert.deepEqual(await found(people.writer), ['Added', 'Changed', null]);
    // Plans releases, and may read no draft: each member stays as it is in public.
    assert.deepEqual(await found(people.planner), [null, 'Public', 'Removed']);
    const hidden = await call(
      'GET',
      `/api/collections/posts/${posts.added}?release=${release}`,
      undefined,
      people.planner,
    );
    assert.equal(hidden.status, 404);
  });
});
