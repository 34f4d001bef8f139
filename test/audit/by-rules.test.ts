import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { Config, FieldConfig } from '../../config/define.ts';
import { anonymous, bearer, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { type Answer, type CallOptions, temporaryFolder } from '../helpers/service.ts';
import { unzip } from '../helpers/unzip.ts';

const config = `
const isAdmin = ({ user }) => user?.role === 'admin';
const own = ({ user }) => isAdmin({ user }) || (user ? { id: { equals: user.id } } : false);
const text = (name, more = {}) => ({ name, type: 'text', ...more });
const closed = { access: { read: () => false } };
const fieldsOfPosts = [
  text('title'),
  text('hidden', closed),
  text('hooked', { hooks: { afterRead: () => 'as shown' } }),
  // Everyone may read this field while the post is open.
  text('whileOpen', { access: { read: ({ doc }) => doc.open === true } }),
  { name: 'open', type: 'boolean' },
  { name: 'seo', type: 'object', fields: [text('about'), text('inner', closed)] },
];
export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    {
      slug: 'staff',
      auth: { useAPIKey: true },
      access: { create: () => true, delete: isAdmin, read: own, update: own },
      fields: [text('role'), text('name')],
    },
    { slug: 'posts', access: { read: ({ user }) => user && { title: { not_equals: 'secret' } }, delete: isAdmin }, fields: fieldsOfPosts },
    { slug: 'pages', fields: [text('title')] },
    { slug: 'masked', hooks: { afterRead: ({ data }) => ({ ...data, title: 'as shown' }) }, fields: [text('title')] },
  ],
  globals: [{ slug: 'site', access: { read: isAdmin }, fields: [text('motto')] }, { slug: 'open', fields: [text('motto'), text('hidden', closed)] }],
  __AUDIT__
};`;

const password = 'correct horse';
const open = {
  title: 'seen',
  hidden: 'canary-1',
  hooked: 'canary-2',
  whileOpen: 'now open',
  open: true,
  seo: { about: 'plain', inner: 'canary-3' },
};

/** A service under an audit rule, with an administrator and an author, and documents of each kind. */
function useStaff(audit: string) {
  const service = useServiceHere(config.replace('__AUDIT__', audit));
  const ids: Record<string, string> = {};
  const users = {} as { root: LoggedIn; eve: LoggedIn };
  before(async () => {
    const create = async (slug: string, body: object) => {
      const answer = await service.call('POST', `/api/collections/${slug}`, body);
      assert.equal(answer.status, 201, JSON.stringify(answer.body));
      return String(answer.body.id);
    };
    await create('staff', { email: 'root@example.org', password, role: 'admin', name: 'canary-root' });
    await create('staff', { email: 'eve@example.org', password, role: 'author', name: 'Eve' });
    users.root = await loggedIn(service, 'staff', 'root@example.org', password);
    users.eve = await loggedIn(service, 'staff', 'eve@example.org', password);
    ids.seen = await create('posts', open);
    const patch = { whileOpen: 'still open', hidden: 'canary-4', seo: { about: 'changed', inner: 'canary-5' } };
    await service.call('PATCH', `/api/collections/posts/${ids.seen}`, patch);
    ids.shut = await create('posts', { ...open, title: 'shut', whileOpen: 'canary-6' });
    await service.call('PATCH', `/api/collections/posts/${ids.shut}`, { open: false });
    ids.secret = await create('posts', { title: 'canary-7' });
    await service.call('PATCH', `/api/collections/posts/${ids.secret}`, { title: 'secret' });
    ids.gone = await create('posts', { title: 'canary-8' });
    await service.call('DELETE', `/api/collections/posts/${ids.gone}`, undefined, reason('canary-9'));
    ids.page = await create('pages', { title: 'a page' });
    await service.call('PATCH', `/api/collections/pages/${ids.page}`, { title: 'a new page' }, reason('spelling'));
    ids.masked = await create('masked', { title: 'canary-10' });
    await service.call('PATCH', '/api/globals/site', { motto: 'canary-11' });
    await service.call('PATCH', '/api/globals/open', { motto: 'plain motto', hidden: 'canary-12' });
    await service.call('POST', '/api/collections/staff/invite', { email: 'canary-13@example.org' });
  });
  return { service, ids, users };
}

function reason(text: string): CallOptions {
  return { headers: { 'x-change-reason': text } };
}

const parts = ['', '/versions/1', '/versions/1/access', '/diff?from=0&to=1', '/diff', '/blame', '/versions/2'];

/** Every address of the audit routes that shows recorded events. */
function addressesOf(ids: Record<string, string>, root: string): string[] {
  const subjects = [
    ...['seen', 'shut', 'secret', 'gone'].map((name) => `posts/${ids[name]}`),
    `pages/${ids.page}`,
    `masked/${ids.masked}`,
    `staff/${root}`,
  ];
  return [
    ...subjects.flatMap((subject) => parts.map((part) => `/api/audit/documents/${subject}${part}`)),
    ...['site', 'open'].flatMap((slug) => parts.map((part) => `/api/audit/globals/${slug}${part}`)),
    ...['', '/versions/1', '/versions/2', '/versions/1/access'].map(
      (part) => `/api/audit/accounts/staff/${root}${part}`,
    ),
    ...['', '/versions/1'].map((part) => `/api/audit/accounts/staff/setup${part}`),
    ...subjects.map((subject) => `/api/audit/bundles/${subject}`),
    `/api/audit/bundles/accounts/staff/${root}`,
    '/api/audit/bundles/globals/site',
    '/api/audit/bundles/globals/open',
    ...['', '?actors=names', '?collection=posts', '?collection=accounts', `?stream=posts/${ids.seen}`].map(
      (query) => `/api/audit/events${query}`,
    ),
    '/api/audit/feed',
    '/api/audit/export',
    '/api/audit/export?format=csv',
    '/api/audit/erasures',
    '/api/audit/signing-keys',
  ];
}

describe('Without an audit rule, history', () => {
  const { service, ids, users } = useStaff('');
  const eve = (address: string, as = users.eve.as) => service.call('GET', address, undefined, as);
  const past = (name: string, part: string, as = users.eve.as) =>
    eve(`/api/audit/documents/posts/${ids[name]}${part}`, as);

  it('shows no user of the admin collection what read and field rules refuse today, by whatever route', async () => {
    const statuses: Record<string, number> = {};
    for (const address of addressesOf(ids, users.root.id)) {
      const response = await fetch(service.url + address, { headers: users.eve.as.headers ?? {} });
      const bytes = Buffer.from(await response.arrayBuffer());
      const texts = bytes.subarray(0, 2).toString() === 'PK' ? [...unzip(bytes).values()] : [bytes];
      for (const text of texts) assert.doesNotMatch(String(text), /canary|root@example/, address);
      statuses[address] = response.status;
    }
    const refused = (subject: string) => parts.map((part) => statuses[`/api/audit/documents/${subject}${part}`]);
    for (const subject of [
      `posts/${ids.secret}`,
      `posts/${ids.gone}`,
      `masked/${ids.masked}`,
      `staff/${users.root.id}`,
    ]) {
      assert.deepEqual(refused(subject), [200, ...parts.slice(1).map(() => 403)], subject);
    }
    assert.equal(statuses[`/api/audit/accounts/staff/${users.root.id}`], 200);
    assert.equal(statuses[`/api/audit/accounts/staff/${users.root.id}/versions/1`], 403);
    assert.equal(statuses['/api/audit/events'], 200);
    const exported = await service.call('GET', '/api/audit/events?stream=system/audit');
    assert.equal(exported.body.docs[0].context.rule, 'audit (default)');
  });

  it('leaves refused fields out of versions, events, differences and blame, at any depth', async () => {
    const { body } = await past('seen', '/versions/1');
    const { id, createdAt, updatedAt, ...fields } = body.document;
    assert.deepEqual([id, typeof createdAt, typeof updatedAt], [ids.seen, 'string', 'string']);
    const shown = { title: 'seen', whileOpen: 'now open', open: true, seo: { about: 'plain' } };
    assert.deepEqual(fields, shown);
    const { id: _id, createdAt: _created, updatedAt: _updated, ...data } = body.event.data;
    assert.deepEqual([data, body.event.partial], [shown, true]);
    const { docs: versions } = (await past('seen', '')).body;
    assert.deepEqual(
      versions.map(({ changed }: { changed: string[] }) => changed),
      [
        ['title', 'whileOpen', 'open', 'seo'],
        ['whileOpen', 'seo'],
      ],
    );
    const diff = (await past('seen', '/diff')).body;
    assert.deepEqual(diff.fields, [
      { field: 'whileOpen', before: 'now open', after: 'still open' },
      { field: 'seo', before: { about: 'plain' }, after: { about: 'changed' } },
    ]);
    assert.deepEqual(
      diff.patch.map(({ path }: { path: string }) => path),
      ['/updatedAt', '/whileOpen', '/seo/about'],
    );
    const blame = (await past('seen', '/blame')).body.fields;
    assert.deepEqual(
      blame.map(({ field }: { field: string }) => field),
      ['title', 'whileOpen', 'open', 'seo'],
    );
    // Which fields are read is as the document is today: it is open no longer.
    assert.deepEqual(Object.keys((await past('shut', '/versions/1')).body.document).sort(), [
      'createdAt',
      'id',
      'open',
      'seo',
      'title',
      'updatedAt',
    ]);
    const motto = (await eve('/api/audit/globals/open/versions/1')).body;
    assert.deepEqual(Object.keys(motto.document).sort(), ['createdAt', 'motto', 'updatedAt']);
  });

  it('is as it was recorded if all of it may be read', async () => {
    const { body } = await eve(`/api/audit/documents/pages/${ids.page}/versions/2`);
    assert.deepEqual([body.event.data.set.title, body.event.context.reason], ['a new page', 'spelling']);
    assert.ok(!('partial' in body.event));
    assert.equal((await past('secret', '/versions/1', users.root.as)).status, 403);
    const own = await eve(`/api/audit/accounts/staff/${users.eve.id}/versions/1`);
    assert.deepEqual([own.status, own.body.event.withheld], [200, undefined]);
    assert.equal((await eve(`/api/audit/documents/staff/${users.root.id}/versions/1`, users.root.as)).status, 200);
  });

  it('makes packs of what is seen whole, and refuses others with the reason', async () => {
    const page = await fetch(`${service.url}/api/audit/bundles/pages/${ids.page}`, {
      headers: users.eve.as.headers ?? {},
    });
    assert.equal(page.status, 200);
    assert.match(String(unzip(Buffer.from(await page.arrayBuffer())).get('bundle.json')), /a new page/);
    const refused = await eve(`/api/audit/bundles/posts/${ids.seen}`);
    assert.deepEqual(
      [refused.status, /fields that you may not read.*audit rule/.test(refused.body.message)],
      [403, true],
    );
    const masked = await eve(`/api/audit/bundles/masked/${ids.masked}`);
    assert.deepEqual([masked.status, /without an audit rule/.test(masked.body.message)], [403, true]);
  });

  it('goes with events and the feed as far, and says what is left out', async () => {
    const flags = async (address: string) => {
      const { docs: events } = (await eve(address)).body;
      return events.map(({ partial, withheld }: Record<string, boolean>) =>
        withheld ? 'withheld' : partial ? 'partial' : 'whole',
      );
    };
    for (const route of ['events', 'feed']) {
      assert.deepEqual(new Set(await flags(`/api/audit/${route}?collection=system`)), new Set(['withheld']));
      assert.deepEqual(await flags(`/api/audit/${route}?collection=pages`), ['whole', 'whole']);
      assert.deepEqual(new Set(await flags(`/api/audit/${route}?collection=masked`)), new Set(['withheld']));
    }
    assert.deepEqual(await flags(`/api/audit/events?stream=posts/${ids.seen}`), ['partial', 'partial']);
    assert.deepEqual(await flags(`/api/audit/events?stream=posts/${ids.secret}`), ['withheld', 'withheld']);
    const response = await fetch(`${service.url}/api/audit/feed?collection=posts`, {
      headers: { ...users.eve.as.headers, accept: 'text/event-stream' },
    });
    let text = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk;
      if (text.split('\nevent: ').length > 8) break;
    }
    assert.match(text, /"title":"seen"/);
    assert.doesNotMatch(text, /canary/);
  });

  it('looks back, and restores, no further than the rules do today', async () => {
    const { size } = (await eve('/api/audit/events?limit=1')).body;
    const { body } = await eve('/api/audit/events?collection=posts&limit=100');
    const first = (id = '') =>
      body.docs.find(({ header }: { header: { stream: string } }) => header.stream === `posts/${id}`).header.position;
    const then = (name: string) => eve(`/api/collections/posts/${ids[name]}?asOf=${first(ids[name])}`);
    assert.equal((await then('seen')).body.whileOpen, 'now open');
    assert.equal((await then('secret')).status, 403);
    assert.equal((await then('gone')).status, 404);
    assert.ok(size > 10);
    const restore = (name: string, as: CallOptions = users.eve.as): Promise<Answer> =>
      service.call('POST', `/api/collections/posts/${ids[name]}/restore?dryRun=true`, { version: 1 }, as);
    assert.equal((await restore('secret')).status, 403);
    // The state that it goes back to would show the field; that of today does not.
    const shut = await restore('shut');
    assert.deepEqual([shut.status, shut.body.diff], [200, [{ field: 'open', before: false, after: true }]]);
    assert.doesNotMatch(JSON.stringify(shut.body), /canary/);
  });
});

describe('A removed field whose name another one has now', () => {
  it('is in no payload that the rules for reading show', async (t) => {
    const text = (name: string, more = {}) => ({ name, type: 'text' as const, ...more });
    const withFields = (fields: FieldConfig[]): Config => ({
      bcryptCost: 4,
      rateLimit: false,
      collections: [
        { slug: 'staff', auth: true, fields: [] },
        { slug: 'posts', access: { read: () => true }, fields },
      ],
    });
    const data = join(temporaryFolder(t), 'data');
    const first = await startHere(t, withFields([text('title'), text('notes', { access: { read: () => false } })]), {
      data,
    });
    const made = await first.call('POST', '/api/collections/posts', { title: 'public', notes: 'canary' });
    await first.stop();
    await (await startHere(t, withFields([text('title')]), { data, acceptLoss: true })).stop();
    const last = await startHere(t, withFields([text('notes', { renamedFrom: 'title' })]), { data });
    const [, setupToken] = /token=([\w-]+)/.exec(last.setupUrl ?? '') ?? [];
    const account = { setupToken, email: 'ada@example.org', password };
    const as = bearer((await last.call('POST', '/api/collections/staff/first-user', account, anonymous)).body.token);
    const { id } = made.body;
    const version = await last.call('GET', `/api/audit/documents/posts/${id}/versions/1`, undefined, as);
    assert.equal(version.status, 200, JSON.stringify(version.body));
    const events = await last.call('GET', '/api/audit/events?limit=100', undefined, as);
    const history = await last.call('GET', `/api/audit/documents/posts/${id}`, undefined, as);
    const answers = JSON.stringify([version.body, events.body, history.body]);
    assert.ok(answers.includes('public'), answers);
    assert.ok(!answers.includes('canary'), answers);
  });
});

describe('With an audit rule, history', () => {
  const grants = `{ yes: true, list: ['payloads'], object: { payloads: true }, part: { headers: true, payloads: false }, wrong: { payload: true } }`;
  const { service, ids, users } = useStaff(`audit: ({ user, req }) => user && (${grants})[req.headers['x-grant']],`);
  const get = (address: string, grant: string) =>
    service.call('GET', address, undefined, { key: null, headers: { ...users.eve.as.headers, 'x-grant': grant } });

  it('goes beyond read and field rules if it grants payloads', async () => {
    for (const grant of ['yes', 'list', 'object']) {
      const { body } = await get(`/api/audit/documents/posts/${ids.seen}/versions/1`, grant);
      assert.deepEqual([body.document.hidden, body.event.data.hooked], ['canary-1', 'canary-2'], grant);
      assert.equal((await get(`/api/audit/documents/posts/${ids.gone}/versions/1`, grant)).status, 200);
      const headers = { ...users.eve.as.headers, 'x-grant': grant };
      const pack = await fetch(`${service.url}/api/audit/bundles/masked/${ids.masked}`, { headers });
      assert.match(String(unzip(Buffer.from(await pack.arrayBuffer())).get('bundle.json')), /canary-10/);
      assert.equal((await get(`/api/audit/accounts/staff/${users.root.id}/versions/1`, grant)).status, 200);
    }
    for (const grant of ['part', 'wrong', 'none']) {
      assert.equal((await get(`/api/audit/documents/pages/${ids.page}/versions/1`, grant)).status, 403, grant);
    }
    assert.equal((await get('/api/audit/events', 'part')).status, 200);
    assert.equal((await get('/api/audit/events', 'wrong')).status, 403);
  });
});
