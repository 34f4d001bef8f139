import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { bearer, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';

const password = 'correct horse battery';

/**
 * Editors read everything; writers write fields that they may not read. Hooks hide stored values from all callers but
 * keys.
 */
const config = `
const isEditor = ({ user }) => user?.collection === 'editors';
const anyone = () => true;
const mask = ({ value }) => (value === null ? null : '***');
const mood = { name: 'mood', type: 'select', options: ['glad', 'sad'] };
const masked = { name: 'masked', type: 'text', unique: true, hooks: { afterRead: mask } };
const open = { name: 'open', type: 'text', queryable: true, hooks: { afterRead: mask } };
export default {
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'editors', auth: true, fields: [] },
    { slug: 'writers', auth: true, fields: [] },
    {
      slug: 'masks',
      access: { read: anyone, create: isEditor },
      admin: { searchFields: ['masked', 'open', 'title'] },
      fields: [
        { name: 'title', type: 'text' },
        masked,
        open,
        { name: 'parts', type: 'array', fields: [{ name: 'a', type: 'text', hooks: { afterRead: mask } }, { name: 'b', type: 'text' }] },
        { name: 'to', type: 'relationship', relationTo: 'targets', hooks: { afterRead: () => null } },
        { name: 'near', type: 'relationship', relationTo: 'targets' },
      ],
    },
    { slug: 'targets', access: { read: anyone }, fields: [
      { name: 'title', type: 'text', hooks: { afterRead: mask } },
      { name: 'byTo', type: 'join', collection: 'masks', on: 'to' },
      { name: 'byNear', type: 'join', collection: 'masks', on: 'near' },
    ] },
    {
      slug: 'hooked',
      access: { read: anyone },
      hooks: { afterRead: ({ data }) => ({ ...data, plain: '***' }) },
      fields: [{ name: 'plain', type: 'text' }, { name: 'shown', type: 'text', queryable: true }],
    },
    {
      slug: 'counted',
      queryable: true,
      access: { read: anyone },
      hooks: { afterRead: ({ data }) => ({ ...data, count: 1 }) },
      fields: [{ name: 'plain', type: 'text' }, masked],
    },
    { slug: 'closed', access: { read: (args) => isEditor(args) && !args.doc?.isGone, create: anyone, update: anyone, delete: anyone }, fields: [
      { name: 'title', type: 'text' },
      { name: 'version', type: 'number', defaultValue: 7 },
      mood,
      { name: 'isGone', type: 'boolean' },
    ] },
    { slug: 'own', access: { read: ({ user }) => ({ title: { equals: String(user?.email) } }), create: anyone, update: anyone, delete: anyone }, fields: [{ name: 'title', type: 'text' }, mood] },
    { slug: 'parted', history: 'public', access: { read: anyone, update: anyone }, fields: [
      { name: 'title', type: 'text' },
      { ...mood, access: { read: isEditor } },
      { name: 'rows', type: 'array', fields: [{ name: 'n', type: 'number' }, { name: 'secret', type: 'text', access: { read: isEditor } }] },
      { name: 'masked', type: 'text', hooks: { afterRead: mask } },
    ] },
    { slug: 'files', upload: true, access: { read: isEditor, create: anyone }, fields: [{ name: 'alt', type: 'text' }, { name: 'state', type: 'text', defaultValue: 'new' }] },
  ],
  globals: [{ slug: 'site', access: { read: isEditor, update: anyone }, fields: [{ name: 'title', type: 'text', defaultValue: 'hidden' }, mood] }],
};`;

const service = useServiceHere(config);
let editor: CallOptions;
let writer: CallOptions;

const created = async (slug: string, body: object, as: CallOptions = {}): Promise<string> => {
  const answer = await service.call('POST', `/api/collections/${slug}`, body, as);
  assert.equal(answer.status, 201, JSON.stringify(answer.body));
  return answer.body.id;
};
const get = (path: string, as: CallOptions) => service.call('GET', `/api/collections/${path}`, undefined, as);
const namesIn = ({ body }: Answer) => Object.keys(body).sort();
const times = ['createdAt', 'id', 'updatedAt'];

before(async () => {
  await service.call('GET', '/health');
  const [, setupToken] = /token=([\w-]+)/.exec(service.setupUrl ?? '') ?? [];
  const first = { setupToken, email: 'ada@example.org', password };
  const { body } = await service.call('POST', '/api/collections/editors/first-user', first, { key: null });
  editor = bearer(body.token);
  await created('writers', { email: 'will@example.org', password }, editor);
  writer = (await loggedIn(service, 'writers', 'will@example.org', password)).as;
});

describe('A value that a read hook hides', () => {
  let target = '';

  before(async () => {
    target = await created('targets', { title: 'TARGET' });
    const values = {
      title: 'One',
      masked: 'MASKED',
      open: 'OPEN',
      parts: [{ a: 'A', b: 'B' }],
      to: target,
      near: target,
    };
    await created('masks', values);
    await created('hooked', { plain: 'PLAIN', shown: 'SHOWN' });
    await created('counted', { plain: 'PLAIN', masked: 'MASKED' });
  });

  const refused = [
    'masks?where[masked][like]=MASK',
    'masks?where[or][0][title][equals]=x&where[or][1][masked][exists]=true',
    'masks?sort=masked',
    'masks?sort=masked&next=&limit=1',
    'masks/count?where[masked][equals]=MASKED',
    'masks?where[parts.a][equals]=A',
    'masks?where[to][exists]=true',
    'masks?where[to.id][exists]=true',
    'masks?where[near.title][equals]=TARGET',
    'masks/aggregate?where[masked][equals]=MASKED',
    'masks/aggregate?groupBy=open',
    'masks/distinct?field=open',
    'hooked?where[plain][equals]=PLAIN',
    'hooked?sort=plain',
    'hooked/count?where[plain][equals]=PLAIN',
    'hooked/distinct?field=shown',
    'counted?where[masked][equals]=MASKED',
    'counted/distinct?field=plain',
  ];
  const answered = [
    'masks?where[open][equals]=OPEN',
    'masks?sort=open',
    'masks?where[parts.b][equals]=B',
    'masks?where[near][exists]=true',
    'hooked?where[shown][equals]=SHOWN',
    'hooked?sort=-shown,createdAt',
    'counted?where[plain][equals]=PLAIN&sort=plain',
  ];

  it('cannot be filtered or sorted by unless it is queryable; the key of the environment always can', async () => {
    const scopes = [{ collections: '*', operations: ['read'] }];
    const { body: key } = await service.call('POST', '/api/keys', { name: 'reads', scopes });
    for (const as of [{ key: null }, writer, editor, { key: key.secret }]) {
      for (const path of refused) {
        const { status, body } = await get(path, as);
        assert.equal(status, 400, path);
        assert.match(body.message, /is not a field (of "\w+" )?to filter or sort by/, path);
        assert.doesNotMatch(body.message, /allowed: .*"(masked|a|to)"/, path);
      }
      for (const path of answered) assert.equal((await get(path, as)).body.total, 1, path);
    }
    for (const path of [...refused, ...answered].filter((one) => !/aggregate|distinct/.test(one)))
      assert.equal((await get(path, {})).status, 200, path);
  });

  it('is found by no search, and chooses no document of a bulk call', async () => {
    const count = async (q: string, as: CallOptions) => (await get(`masks/count?q=${q}`, as)).body.total;
    const hits = async (q: string) => (await service.call('GET', `/api/search?q=${q}`, undefined, writer)).body.total;
    assert.deepEqual(
      [await count('masked', writer), await count('open', writer), await count('one', writer)],
      [0, 1, 1],
    );
    assert.deepEqual([await count('masked', {}), await hits('masked'), await hits('open')], [1, 0, 1]);
    assert.equal((await get('masks?q=masked', writer)).body.total, 0);
    const chosen = (name: string, value: string) =>
      service.call(
        'POST',
        '/api/collections/masks/bulk/update?dryRun=true',
        { where: { [name]: { equals: value } }, data: {} },
        writer,
      );
    assert.equal((await chosen('masked', 'MASKED')).status, 400);
    assert.equal((await chosen('open', 'OPEN')).body.matched, 1);
    const upsert = { upsertBy: 'masked', docs: [{ masked: 'MASKED' }] };
    const { status, body } = await service.call('POST', '/api/collections/masks/bulk', upsert, editor);
    assert.deepEqual([status, body.errors?.[0].field], [400, 'upsertBy']);
  });

  it('points at no document, in joins and references', async () => {
    const { body: seen } = await get(`targets/${target}`, writer);
    assert.deepEqual([seen.byTo.length, seen.byNear.length], [0, 1]);
    const { body: all } = await get(`targets/${target}`, {});
    assert.deepEqual([all.byTo.length, all.byNear.length], [1, 1]);
    const fieldsOf = async (as: CallOptions) => {
      const { body } = await get(`targets/${target}/references`, as);
      return body.docs.map(({ field }: { field: string }) => field);
    };
    assert.deepEqual([await fieldsOf(writer), await fieldsOf({})], [['near'], ['to', 'near']]);
  });
});

describe('The answer to a write', () => {
  it('has the id, the times and what was sent for a caller who may not read the document', async () => {
    const path = '/api/collections/closed';
    const made = await service.call('POST', path, { title: 'x' }, { key: null });
    assert.deepEqual([made.status, namesIn(made), made.body.title], [201, [...times, 'title'].sort(), 'x']);
    const one = `${path}/${made.body.id}`;
    const nothing = await assertRecorded(service, () => service.call('PATCH', one, {}, writer), []);
    assert.deepEqual([nothing.status, namesIn(nothing)], [200, times]);
    const changed = await service.call('PATCH', one, { mood: 'sad' }, writer);
    assert.deepEqual([changed.status, namesIn(changed), changed.body.mood], [200, [...times, 'mood'].sort(), 'sad']);
    const whole = await service.call('PATCH', one, {}, editor);
    assert.deepEqual(namesIn(whole), [...times, 'title', 'version', 'mood', 'isGone'].sort());
    const gone = await service.call('PATCH', one, { isGone: true }, editor);
    assert.deepEqual(namesIn(gone), [...times, 'isGone'].sort(), 'as it is from now on');
    const deleted = await service.call('DELETE', one, undefined, writer);
    assert.deepEqual([deleted.status, namesIn(deleted), deleted.body.id], [200, times, made.body.id]);
  });

  it('is the whole document if a where object of the rule admits it', async () => {
    const path = '/api/collections/own';
    const made = await service.call('POST', path, { title: 'will@example.org', mood: 'sad' }, writer);
    assert.deepEqual(namesIn(made), [...times, 'mood', 'title'].sort());
    const one = `${path}/${made.body.id}`;
    assert.equal((await service.call('PATCH', one, {}, writer)).body.mood, 'sad');
    assert.deepEqual(namesIn(await service.call('PATCH', one, {}, editor)), times);
    assert.deepEqual(namesIn(await service.call('DELETE', one, undefined, writer)), [...times, 'mood', 'title'].sort());
    const others = await created('own', { title: 'of another', mood: 'sad' });
    assert.deepEqual(namesIn(await service.call('DELETE', `${path}/${others}`, undefined, writer)), times);
  });

  it('is the same once more under an idempotency key', async () => {
    const twice = async (method: string, path: string, body: object | undefined, as: CallOptions) => {
      const headers = { ...as.headers, 'idempotency-key': `${Math.random()}` };
      const send = () => service.call(method, path, body, { ...as, headers });
      const [first, second] = [await send(), await send()];
      assert.equal(second.headers.get('idempotent-replayed'), 'true');
      assert.deepEqual([second.body, second.headers.get('etag')], [first.body, first.headers.get('etag')]);
      return first;
    };
    const path = '/api/collections/closed';
    const made = await twice('POST', path, { title: 'x' }, writer);
    assert.deepEqual(namesIn(made), [...times, 'title'].sort());
    const one = `${path}/${made.body.id}`;
    assert.deepEqual(namesIn(await twice('PATCH', one, { mood: 'glad' }, writer)), [...times, 'mood'].sort());
    assert.equal((await twice('PATCH', one, { mood: 'sad' }, editor)).body.title, 'x');
    assert.deepEqual(namesIn(await twice('DELETE', one, undefined, writer)), times);
  });

  it('shows no more of globals, restored documents and files', async () => {
    const site = '/api/globals/site';
    assert.deepEqual(namesIn(await service.call('PATCH', site, { mood: 'sad' }, writer)), [
      'createdAt',
      'mood',
      'updatedAt',
    ]);
    assert.equal((await service.call('PATCH', site, {}, editor)).body.title, 'hidden');
    const id = await created('closed', { title: 'x' });
    await service.call('PATCH', `/api/collections/closed/${id}`, { title: 'y' });
    const { body: key } = await service.call('POST', '/api/keys', {
      name: 'restores',
      scopes: [{ collections: ['closed'], operations: ['read', 'update'] }],
      audit: ['payloads'],
    });
    const restored = await service.call(
      'POST',
      `/api/collections/closed/${id}/restore`,
      { version: 1 },
      { key: key.secret },
    );
    assert.deepEqual([restored.status, restored.body.title], [200, 'x']);
    const form = new FormData();
    form.set('file', new Blob(['some text']), 'a.txt');
    form.set('alt', 'a file');
    const sent = await fetch(`${service.url}/api/collections/files`, {
      method: 'POST',
      body: form,
      headers: writer.headers ?? {},
    });
    const file = (await sent.json()) as { url: string; sha256: string };
    assert.equal(sent.status, 201);
    const ofFile = ['filename', 'mimeType', 'filesize', 'width', 'height', 'sha256', 'url'];
    assert.deepEqual(Object.keys(file).sort(), [...times, ...ofFile, 'alt'].sort());
  });

  it('gives a key without the scope read only what it sent', async () => {
    const id = await created('parted', { title: 'x', mood: 'sad' });
    const { body: key } = await service.call('POST', '/api/keys', {
      name: 'writes',
      scopes: [{ collections: ['parted'], operations: ['create', 'update', 'delete'] }],
    });
    const as = { key: key.secret };
    const path = `/api/collections/parted/${id}`;
    assert.deepEqual(namesIn(await service.call('PATCH', path, {}, as)), times);
    assert.deepEqual(namesIn(await service.call('PATCH', path, { title: 'y' }, as)), [...times, 'title'].sort());
    const made = await service.call('POST', '/api/collections/parted', { title: 'z' }, as);
    assert.deepEqual([made.status, namesIn(made)], [201, [...times, 'title'].sort()]);
    assert.deepEqual(namesIn(await service.call('DELETE', path, undefined, as)), times);
  });
});

describe('A write of a value that is there already', () => {
  const outcomes = async (slug: string, body: object, as: CallOptions, query = '') => {
    const path = `/api/collections/${slug}/bulk/update${query}`;
    const { status, body: answer } = await service.call('POST', path, body, as);
    assert.equal(status, 200, JSON.stringify(answer));
    return answer.results.map(({ outcome, version }: { outcome: string; version: number }) => [outcome, version]);
  };

  it('counts as a change if the caller may not read it, so that a guess shows nothing', async () => {
    const cases: [slug: string, data: object, isSeen: boolean][] = [
      ['closed', { mood: 'sad' }, false],
      ['closed', { title: 'x' }, false],
      ['closed', {}, true],
      ['parted', { mood: 'sad' }, false],
      ['parted', { masked: 'm' }, false],
      ['parted', { rows: [{ n: 1, secret: 's' }] }, false],
      ['parted', { title: 'x' }, true],
    ];
    const values = {
      closed: { title: 'x', mood: 'sad' },
      parted: { title: 'x', mood: 'sad', masked: 'm', rows: [{ n: 1, secret: 's' }] },
    };
    for (const [slug, data, isSeen] of cases) {
      const id = await created(slug, values[slug as keyof typeof values]);
      const told = JSON.stringify([slug, data]);
      const dry = await assertRecorded(service, () => outcomes(slug, { ids: [id], data }, writer, '?dryRun=true'), []);
      assert.deepEqual(dry, [isSeen ? ['unchanged', 1] : ['updated', 2]], told);
      const path = `/api/collections/${slug}/${id}`;
      const expected = isSeen ? [] : [`document.updated ${slug}/${id}`];
      const { body, headers } = await assertRecorded(
        service,
        () => service.call('PATCH', path, data, writer),
        expected,
      );
      assert.match(String(headers.get('etag')), isSeen ? /^"1-/ : /^"2-/, told);
      assert.equal(body.updatedAt > body.createdAt, !isSeen, told);
      const { body: again } = await service.call(
        'POST',
        `/api/collections/${slug}/bulk/update`,
        { ids: [id], data },
        writer,
      );
      assert.deepEqual([again.changed, again.batch === null], isSeen ? [0, true] : [1, false], told);
      assert.deepEqual(await outcomes(slug, { ids: [id], data }, {}), [['unchanged', isSeen ? 1 : 3]], told);
    }
    const seen = await created('closed', values.closed);
    assert.deepEqual(await outcomes('closed', { ids: [seen], data: { mood: 'sad' } }, editor), [['unchanged', 1]]);
  });

  it('counts so in a global and a restore too', async () => {
    const site = '/api/globals/site';
    await service.call('PATCH', site, { mood: 'glad' });
    const same = () => service.call('PATCH', site, { mood: 'glad' }, writer);
    await assertRecorded(service, same, ['global.updated globals/site']);
    await assertRecorded(service, () => service.call('PATCH', site, { mood: 'glad' }, editor), []);
    const id = await created('parted', { title: 'x', mood: 'sad' });
    const restore = (as: CallOptions) =>
      service.call('POST', `/api/collections/parted/${id}/restore`, { version: 1 }, as);
    await assertRecorded(service, () => restore(writer), [`document.restored parted/${id}`]);
    await assertRecorded(service, () => restore({}), []);
  });
});
