import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import type { AccessRule } from '../../config/model.ts';
import { openLined, sourceOf, writerOf } from '../documents/drafts/recorded.ts';
import { bearer, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { startHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';

const isEditor: AccessRule = ({ user }) => user?.role === 'editor';
const text = (name: string) => ({ name, type: 'text' as const });
const config: Config = {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'staff', auth: { useAPIKey: true }, fields: [text('role')] },
    {
      slug: 'posts',
      drafts: true,
      access: { read: () => true, update: isEditor, readDrafts: isEditor },
      fields: [text('title'), text('body'), { name: 'stock', type: 'number' }],
    },
    { slug: 'pages', fields: [text('title')] },
  ],
  globals: [{ slug: 'site', drafts: true, access: { read: () => true, update: isEditor }, fields: [text('motto')] }],
};

const password = 'correct horse';
const [ada, bob, cy] = ['staff/ada', 'staff/bob', 'staff/cy'];

/** A service whose log holds documents in every state; `canary` is in nothing that was ever public. */
function useLines() {
  const ids = {} as Record<'changed' | 'never' | 'gone' | 'pinned', string>;
  const service = useStarted(async (t) => {
    const data = join(temporaryFolder(t), 'data');
    const directory = openLined(data, config);
    const changed = writerOf(directory, 'posts');
    changed.draft({ title: 'canary 1', body: 'first', stock: 1 }, { by: ada, why: 'canary reason' });
    changed.save({ title: 'Sale' }, { by: bob });
    changed.publish({}, { by: cy, why: 'approved' });
    changed.save({ title: 'canary 2' }, { by: ada });
    changed.review('requested', { version: 4, note: 'canary note' }, { by: ada });
    changed.patch({ stock: 2 }, { by: bob });
    const never = writerOf(directory, 'posts');
    never.draft({ title: 'canary 3' }, { by: ada });
    const gone = writerOf(directory, 'posts');
    gone.create({ title: 'was public' }, { by: ada });
    gone.unpublish({ by: cy });
    gone.save({ title: 'canary 4' }, { by: ada });
    const pinned = writerOf(directory, 'posts');
    pinned.create({ title: 'one', body: 'b' }, { by: cy });
    const version = pinned.save({ title: 'two' }, { by: ada });
    const source = sourceOf(version, pinned.lines());
    pinned.save({ title: 'canary 5', body: 'canary 6' }, { by: bob });
    pinned.publish({ source }, { by: cy });
    const site = writerOf(directory, 'globals/site');
    site.save({ motto: 'canary 7' }, { by: ada });
    Object.assign(ids, { changed: changed.id, never: never.id, gone: gone.id, pinned: pinned.id });
    directory.close();
    return startHere(t, config as object, { data });
  });
  const users = {} as Record<'editor' | 'reader', LoggedIn>;
  before(async () => {
    for (const role of ['editor', 'reader'] as const) {
      const email = `${role}@example.org`;
      const { status } = await service.call('POST', '/api/collections/staff', { email, password, role });
      assert.equal(status, 201);
      users[role] = await loggedIn(service, 'staff', email, password);
    }
  });
  return { service, ids, users };
}

describe('The history of documents with drafts', () => {
  const { service, ids, users } = useLines();
  const path = (id: string) => `/api/audit/documents/posts/${id}`;
  const get = (url: string, user?: LoggedIn) => service.call('GET', url, undefined, user ? bearer(user.token) : {});

  it('has the newest state beside the public one at each version', async () => {
    const titles = [];
    for (const version of [1, 2, 3, 4, 6]) {
      const { body } = await get(`${path(ids.changed)}/versions/${version}`);
      titles.push([body.document.title, body.published?.title ?? null]);
    }
    const draft = [
      ['canary 1', null],
      ['Sale', null],
      ['Sale', 'Sale'],
      ['canary 2', 'Sale'],
      ['canary 2', 'Sale'],
    ];
    assert.deepEqual(titles, draft);
    const { body } = await get(path(ids.changed));
    assert.deepEqual(
      body.docs.map(({ type, changed }: { type: string; changed: string[] }) => [type, changed]),
      [
        ['document.draft.created', ['title', 'body', 'stock']],
        ['document.draft.updated', ['title']],
        ['document.published', ['title', 'body', 'stock']],
        ['document.draft.updated', ['title']],
        ['review.requested', []],
        ['document.updated', ['stock']],
      ],
    );
  });

  it('compares the draft with what is public', async () => {
    const { body } = await get(`${path(ids.changed)}/diff?from=published&to=draft`);
    assert.deepEqual(body.fields, [{ field: 'title', before: 'Sale', after: 'canary 2' }]);
    assert.deepEqual([body.from.version, body.to.version], [6, 6]);
    const never = await get(`${path(ids.never)}/diff?from=published&to=draft`);
    assert.deepEqual([never.body.from, never.body.to.version], [null, 1]);
    const wrong = await get(`${path(ids.changed)}/diff?from=publishd`);
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.errors[0].message, /must be a version or one of .*did you mean/);
  });

  it('names who wrote a value and who made it public', async () => {
    const blame = async (id: string, query = '') => {
      const { body } = await get(`${path(id)}/blame${query}`);
      return Object.fromEntries(
        // biome-ignore lint/suspicious/noExplicitAny: an answer
        body.fields.map(({ field, value, actor, published }: any) => [
          field,
          [value, actor?.id, published?.actor.id ?? null],
        ]),
      );
    };
    assert.deepEqual(await blame(ids.changed), {
      title: ['canary 2', ada, null],
      body: ['first', ada, cy],
      stock: [2, bob, bob],
    });
    assert.deepEqual(await blame(ids.changed, '?version=published'), {
      title: ['Sale', bob, cy],
      body: ['first', ada, cy],
      stock: [2, bob, bob],
    });
    assert.deepEqual((await blame(ids.pinned, '?version=published')).title, ['two', ada, cy]);
    assert.deepEqual((await blame(ids.pinned)).title, ['canary 5', bob, null]);
  });

  it('shows a caller without readDrafts nothing that was never public, by whatever route', async () => {
    const urls = [
      '/api/audit/events?limit=1000',
      '/api/audit/feed?limit=1000',
      '/api/audit/globals/site',
      '/api/audit/bundles/globals/site',
      ...['/versions/1', '/diff?from=published&to=draft', '/blame'].map((one) => `/api/audit/globals/site${one}`),
    ];
    for (const id of Object.values(ids)) {
      urls.push(path(id), ...[1, 2, 3, 4, 5, 6].map((version) => `${path(id)}/versions/${version}`));
      urls.push(`${path(id)}/versions/1/access`, `/api/audit/bundles/posts/${id}`);
      for (const ends of ['from=0&to=1', 'from=published&to=draft', 'from=1&to=4'])
        urls.push(`${path(id)}/diff?${ends}`);
      for (const version of ['1', '4', 'published', 'draft']) urls.push(`${path(id)}/blame?version=${version}`);
    }
    for (const url of urls) {
      const { status, body } = url.includes('/bundles/') ? await bundle(url) : await get(url, users.reader);
      assert.doesNotMatch(JSON.stringify(body), /canary/, url);
      assert.ok([200, 400, 403, 404].includes(status), `${url}: ${status}`);
    }

    async function bundle(url: string) {
      const answer = await fetch(service.url + url, { headers: { authorization: `Bearer ${users.reader.token}` } });
      assert.equal(answer.status, 403, url);
      return { status: answer.status, body: await answer.text() };
    }
  });

  it('shows that caller what was public, and all to a caller who may read drafts', async () => {
    const { body: seen } = await get(`${path(ids.changed)}/versions/4`, users.reader);
    assert.deepEqual([seen.document.title, seen.published.title, seen.event.withheld], ['Sale', 'Sale', true]);
    const { body: list } = await get(path(ids.changed), users.reader);
    assert.deepEqual(
      list.docs.map(({ withheld, reason }: { withheld?: true; reason?: string }) => withheld ?? reason ?? null),
      [true, true, 'approved', true, true, null],
    );
    const { body: blamed } = await get(`${path(ids.changed)}/blame`, users.reader);
    assert.deepEqual(blamed.fields[0].actor.id, cy);
    const { body: all } = await get(`${path(ids.changed)}/versions/4`, users.editor);
    assert.deepEqual([all.document.title, all.published.title], ['canary 2', 'Sale']);
    assert.equal((await get(`${path(ids.never)}/versions/1`, users.editor)).body.document.title, 'canary 3');
    assert.equal((await get(`${path(ids.never)}/versions/1`, users.reader)).status, 403);
  });
});
