import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import fc from 'fast-check';
import { anonymous, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { get as getFrom, type Kept, upload as uploadTo } from '../helpers/downloads.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { runsOf, seenOf } from '../helpers/runs.ts';
import type { CallOptions } from '../helpers/service.ts';
import { errorsOf, recordedEvents } from '../helpers/shared.ts';

const config = `
const yes = () => true;
const title = { name: 'title', type: 'text' };
const isOpen = { name: 'isOpen', type: 'boolean' };
const history = 'public';
const access = { read: yes };
export default {
  bcryptCost: 4,
  audit: ({ user, apiKey }) => apiKey !== null || user?.collection === 'admins' || (user?.email.startsWith('head') ? ['headers'] : false),
  publicSchema: true,
  collections: [
    { slug: 'admins', auth: { useAPIKey: true }, fields: [] },
    { slug: 'readers', auth: true, fields: [] },
    { slug: 'open', history, access, fields: [title, isOpen,
      { name: 'secret', type: 'text', access: { read: ({ doc }) => doc?.isOpen === true } }] },
    { slug: 'rowed', history, access: { read: () => ({ isOpen: { equals: true } }) }, fields: [title, isOpen] },
    { slug: 'looking', history, access: { read: ({ doc }) => doc.isOpen === true }, fields: [title, isOpen] },
    { slug: 'answering', history, access: { read: ({ doc }) => ({ and: [{ id: { equals: doc.id } }, { isOpen: { equals: true } }] }) }, fields: [title, isOpen] },
    { slug: 'nameless', history, access, hooks: { afterRead: ({ data: { id, ...rest } }) => rest }, fields: [isOpen,
      { name: 'secret', type: 'text', access: { read: ({ doc }) => doc?.isOpen === true } }] },
    { slug: 'kept', access, fields: [title, { name: 'refs', type: 'join', collection: 'refs', on: 'kept' }] },
    { slug: 'refs', history, access, fields: [title,
      { name: 'kept', type: 'relationship', relationTo: 'kept' },
      { name: 'rowed', type: 'relationship', relationTo: 'rowed', hasMany: true }] },
    { slug: 'pointing', history, access: { read: () => ({ 'to.isOpen': { equals: true } }) }, fields: [title,
      { name: 'to', type: 'relationship', relationTo: 'open' }] },
    { slug: 'files', upload: true, history, access, fields: [{ name: 'alt', type: 'text' }] },
    { slug: 'authors', fields: [{ name: 'name', type: 'text' },
      { name: 'posts', type: 'join', collection: 'posts', on: 'author' },
      { name: 'edits', type: 'join', collection: 'posts', on: 'editors' }] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text', index: true }, { name: 'views', type: 'number' },
      { name: 'body', type: 'textarea' }, { name: 'meta', type: 'object', fields: [{ name: 'word', type: 'text' }] },
      { name: 'author', type: 'relationship', relationTo: 'authors' },
      { name: 'editors', type: 'relationship', relationTo: 'authors', hasMany: true }] },
  ],
  globals: [{ slug: 'site', access, fields: [{ name: 'motto', type: 'text', defaultValue: 'none' }] }],
}`;

const service = useServiceHere(config);
const password = 'correct horse battery';
const users: Record<string, LoggedIn> = {};

const size = () => recordedEvents(service.data).length;
const at = (slug: string, rest = '') => `/api/collections/${slug}${rest}`;
const read = (path: string, caller?: CallOptions) => service.call('GET', path, undefined, caller);

async function create(slug: string, values: object): Promise<string> {
  const { status, body } = await service.call('POST', at(slug), values);
  assert.equal(status, 201, JSON.stringify(body));
  return body.id;
}

async function change(slug: string, id: string, values: object): Promise<void> {
  assert.equal((await service.call('PATCH', at(slug, `/${id}`), values)).status, 200);
}

async function remove(slug: string, id: string): Promise<void> {
  assert.equal((await service.call('DELETE', at(slug, `/${id}`))).status, 200);
}

before(async () => {
  await service.call('POST', at('admins'), { email: 'admin@example.org', password });
  const admin = await loggedIn(service, 'admins', 'admin@example.org', password);
  users.admin = admin;
  for (const name of ['reader', 'head']) {
    const email = `${name}@example.org`;
    assert.equal((await service.call('POST', at('readers'), { email, password }, admin.as)).status, 201);
    users[name] = await loggedIn(service, 'readers', email, password);
  }
});

describe('asOf', () => {
  it('gives a document as it was at a position or time, and says as of which position', async () => {
    const id = await create('open', { title: 'first', isOpen: true });
    const created = size();
    const createdAt = new Date().toISOString();
    await change('open', id, { title: 'second' });
    for (const asOf of [String(created), createdAt, createdAt.replace('Z', '%2B00:00')]) {
      const { status, headers, body } = await read(at('open', `/${id}?asOf=${asOf}`));
      assert.deepEqual([status, body.title], [200, 'first'], asOf);
      assert.equal(headers.get('annals-position'), String(created), asOf);
    }
    const today = await read(at('open', `/${id}`));
    assert.deepEqual([today.body.title, today.headers.get('annals-position')], ['second', null]);
    assert.equal((await read(at('open', `/${id}?asOf=${size()}`))).body.title, 'second');
    const missing = await read(at('open', `/${id}?asOf=${created - 1}`));
    assert.equal(missing.status, 404);
    assert.match(missing.body.message, /did not exist yet as of position \d+: it was created at position \d+, 20/);
    const long = await read(at('open', '?asOf=2001-01-01'));
    assert.deepEqual([long.body.total, long.headers.get('annals-position')], [0, '0']);
  });

  it('that names no moment is a 400 that says what is allowed, on every route that takes it', async () => {
    const paths = [at('open'), at('open', `/${crypto.randomUUID()}`), '/api/globals/site', '/api/schemas'];
    const bad = [
      '',
      '0',
      '-1',
      '1.5',
      '1e3',
      'yesterday',
      '2024-02-30',
      '2999-01-01',
      '2024-02-29T12:00:00',
      '99999999',
    ];
    for (const path of [...paths, '/api/media/files/x/y.png']) {
      for (const asOf of bad) {
        const answer = await read(`${path}?asOf=${asOf}`);
        assert.equal(answer.status, 400, `${path} ${asOf}`);
        assert.match(errorsOf(answer).asOf ?? '', /^asOf must (be a position|not be in the future)/, `${path} ${asOf}`);
      }
      assert.match(errorsOf(await read(`${path}?asOf=1&asOf=2`)).asOf ?? '', /given once/);
    }
  });

  it('is a parameter of reads only', async () => {
    const id = await create('open', { title: 'x' });
    const before = size();
    const writes = [
      ['POST', at('open')],
      ['PATCH', at('open', `/${id}`)],
      ['DELETE', at('open', `/${id}`)],
      ['PATCH', '/api/globals/site'],
      ['GET', at('readers', '/me')],
    ] as const;
    for (const [method, path] of writes) {
      const caller = path.endsWith('/me') ? users.reader?.as : undefined;
      const answer = await service.call(
        method,
        `${path}?asOf=1`,
        method === 'DELETE' || method === 'GET' ? undefined : {},
        caller,
      );
      assert.equal(answer.status, 400, `${method} ${path}`);
      assert.match(errorsOf(answer).asOf ?? '', /asOf is not a query parameter/);
    }
    assert.equal(size(), before);
  });
});

describe('The rights of a reader as of then', () => {
  const slugs = ['rowed', 'looking', 'answering'];
  const ids: Record<string, Record<string, string>> = {};
  let then = 0;

  before(async () => {
    for (const slug of slugs) {
      ids[slug] = {
        closedSince: await create(slug, { title: 'closedSince', isOpen: true }),
        openSince: await create(slug, { title: 'openSince', isOpen: false }),
        always: await create(slug, { title: 'always', isOpen: true }),
        gone: await create(slug, { title: 'gone', isOpen: true }),
        goneClosed: await create(slug, { title: 'goneClosed', isOpen: false }),
      };
    }
    then = size();
    for (const slug of slugs) {
      const { closedSince = '', openSince = '', always = '', gone = '', goneClosed = '' } = ids[slug] ?? {};
      await change(slug, closedSince, { isOpen: false });
      await change(slug, openSince, { isOpen: true });
      await change(slug, always, { title: 'changed' });
      await remove(slug, gone);
      await remove(slug, goneClosed);
    }
  });

  it('must satisfy the rules for each document as it was and as it is; deleted ones are for auditors', async () => {
    const all = ['always', 'closedSince', 'gone', 'goneClosed', 'openSince'];
    const callers: [string, CallOptions | undefined, string[]][] = [
      ['anonymous', anonymous, ['always']],
      ['reader', users.reader?.as, ['always']],
      ['head', users.head?.as, ['always']],
      ['admin', users.admin?.as, ['always', 'gone']],
      ['key', undefined, all],
    ];
    for (const slug of slugs) {
      for (const [who, caller, expected] of callers) {
        const { body } = await read(at(slug, `?asOf=${then}&sort=title`), caller);
        const titles = body.docs?.map(({ title }: { title: string }) => title);
        assert.deepEqual([titles, body.total], [expected, expected.length], `${slug} ${who}`);
        const filtered = await read(at(slug, `?asOf=${then}&where[title][like]=gone`), caller);
        assert.equal(filtered.body.total, expected.filter((one) => one.startsWith('gone')).length, `${slug} ${who}`);
        for (const [title, id] of Object.entries(ids[slug] ?? {})) {
          const { status } = await read(at(slug, `/${id}?asOf=${then}`), caller);
          const isGone = title.startsWith('gone');
          const refused = who === 'anonymous' ? 401 : isGone && who !== 'admin' ? 404 : 403;
          assert.equal(status, expected.includes(title) ? 200 : refused, `${slug} ${who} ${title}`);
        }
      }
    }
  });

  it('needs the right if the history is not public, and is told which', async () => {
    const id = await create('kept', { title: 'x' });
    for (const path of [at('kept'), at('kept', `/${id}`), '/api/globals/site']) {
      assert.equal((await read(path, anonymous)).status, 200);
      assert.equal((await read(`${path}?asOf=${size()}`, anonymous)).status, 401);
      for (const who of ['reader', 'head']) {
        const { status, body } = await read(`${path}?asOf=${size()}`, users[who]?.as);
        assert.equal(status, 403);
        assert.match(body.message, /the audit scope payloads is needed/);
      }
      assert.equal((await read(`${path}?asOf=${size()}`, users.admin?.as)).status, 200);
    }
    assert.equal((await read(at('readers', `?asOf=${size()}`))).status, 403, 'a key, and accounts closed to keys');
    assert.equal((await read(at('admins', `?asOf=${size()}`))).status, 200, 'accounts open to keys');
  });

  it('sees a field whose rule admits to the document as it was and as it is', async () => {
    const closed = await create('open', { isOpen: true, secret: 's' });
    const always = await create('open', { isOpen: true, secret: 's' });
    const opened = await create('open', { isOpen: false, secret: 's' });
    const then = size();
    await change('open', closed, { isOpen: false });
    await change('open', opened, { isOpen: true });
    const secretOf = async (id: string) => (await read(at('open', `/${id}?asOf=${then}`), anonymous)).body.secret;
    assert.deepEqual(
      [await secretOf(always), await secretOf(closed), await secretOf(opened)],
      ['s', undefined, undefined],
    );
    const { body } = await service.call('POST', at('nameless'), { isOpen: true, secret: 's' });
    assert.deepEqual([body.id, body.secret], [undefined, 's']);
    const stream = recordedEvents(service.data).at(-1)?.stream ?? '';
    const nameless = stream.slice(stream.indexOf('/') + 1);
    await change('nameless', nameless, { isOpen: false });
    const shown = await read(at('nameless', `/${nameless}?asOf=${size() - 1}`), anonymous);
    assert.deepEqual([shown.status, shown.body.isOpen, shown.body.secret], [200, true, undefined]);
    const filter = await read(at('open', `?asOf=${then}&where[secret][equals]=s`), anonymous);
    assert.equal(filter.status, 400);
  });

  it('is told nothing of a related collection whose past is not theirs: not by depth, filters, sorts or joins', async () => {
    const kept = await create('kept', { title: 'inside' });
    const { always = '', closedSince = '', gone = '' } = ids.rowed ?? {};
    const ref = await create('refs', { title: 'ref', kept, rowed: [always, closedSince] });
    const then = size();
    const path = at('refs', `/${ref}?depth=1&asOf=${then}`);
    const seen = (await read(path, anonymous)).body;
    assert.equal(seen.kept, kept);
    assert.deepEqual([seen.rowed[0].title, seen.rowed[1]], ['changed', closedSince]);
    const byKey = (await read(path)).body;
    assert.deepEqual([byKey.kept.title, byKey.kept.refs, byKey.rowed[1].title], ['inside', [ref], 'closedSince']);
    for (const query of ['where[kept.title][equals]=inside', 'sort=kept.title']) {
      assert.equal((await read(at('refs', `?${query}`), anonymous)).body.total, 1, 'today it may be asked');
      assert.equal((await read(at('refs', `?asOf=${then}&${query}`), anonymous)).status, 400, query);
      assert.equal((await read(at('refs', `?asOf=${then}&${query}`))).body.total, 1, query);
    }
    const related = await read(at('refs', `?asOf=${then}&where[rowed.title][in]=closedSince,${gone}`), anonymous);
    assert.equal(related.body.total, 0);
  });

  it('meets a rule that goes through a relationship as that was then, and as it is', async () => {
    const to = await create('open', { isOpen: true });
    const other = await create('open', { isOpen: true });
    const id = await create('pointing', { title: 'to', to });
    const same = await create('pointing', { title: 'other', to: other });
    const then = size();
    await change('open', to, { isOpen: false });
    const list = await read(at('pointing', `?asOf=${then}`), anonymous);
    assert.deepEqual(
      list.body.docs.map((one: { id: string }) => one.id),
      [same],
    );
    assert.equal((await read(at('pointing', `/${id}?asOf=${then}`), anonymous)).status, 401);
    assert.equal((await read(at('pointing', `/${same}?asOf=${then}`), anonymous)).status, 200);
    await change('open', to, { isOpen: true });
    assert.equal((await read(at('pointing', `/${id}?asOf=${size() - 1}`), anonymous)).status, 401, 'then it was not');
  });
});

describe('A document that is not there as of then', () => {
  const headerAt = (position: number) => {
    const event = recordedEvents(service.data)[position - 1];
    return { version: event?.version, position, recordedAt: event?.recordedAt };
  };
  const known = { statusCode: 404, error: 'Not Found', code: 'not_found' };

  it('is told to be created later, with where and when, by each read of it', async () => {
    const before = size();
    const { id } = await uploadTo(service, 'files', 'bytes', 'a.txt');
    const created = headerAt(size());
    await change('files', id, { alt: 'changed' });
    const message = `the document "${id}" in files did not exist yet as of position ${before}: it was created at position ${created.position}, ${created.recordedAt}`;
    const paths = [at('files', `/${id}`), at('files', `/${id}/references`), `/api/media/files/${id}/a.txt`];
    for (const path of paths) {
      for (const caller of [undefined, anonymous]) {
        const { status, body } = await read(`${path}?asOf=${before}`, caller);
        assert.deepEqual([status, body], [404, { ...known, message, created }], path);
      }
    }
    const first = await read(at('files', `/${id}?asOf=2001-01-01`));
    assert.match(first.body.message, /did not exist yet as of position 0: it was created at/);
  });

  it('is told to be deleted by then', async () => {
    const id = await create('open', { title: 'x' });
    await remove('open', id);
    const deleted = headerAt(size());
    await change('open', await create('open', { title: 'other' }), { title: 'later' });
    const gone = size();
    assert.equal((await service.call('POST', at('open', `/${id}/restore`), { version: 1 })).status, 200);
    const { status, body } = await read(at('open', `/${id}?asOf=${gone}`), anonymous);
    const message = `the document "${id}" in open did not exist as of position ${gone}: it was deleted at position ${deleted.position}, ${deleted.recordedAt}`;
    assert.deepEqual([status, body], [404, { ...known, message, deleted }]);
    assert.deepEqual([deleted.version, (await read(at('open', `/${id}`))).status], [2, 200]);
  });

  it('is told to auditors if it is gone by now, until it is erased', async () => {
    const before = size();
    const id = await create('open', { title: 'x' });
    const created = headerAt(size());
    await remove('open', id);
    const path = at('open', `/${id}?asOf=${before}`);
    const nothing = { ...known, message: `there is no document "${id}" in open as of position ${before}` };
    for (const caller of [undefined, users.admin?.as])
      assert.deepEqual((await read(path, caller)).body.created, created);
    for (const caller of [anonymous, users.reader?.as, users.head?.as]) {
      assert.deepEqual((await read(path, caller)).body, nothing);
    }
    const erased = await service.call('POST', '/api/audit/erasures', { collection: 'open', id, reason: 'asked for' });
    assert.equal(erased.status, 201, JSON.stringify(erased.body));
    assert.deepEqual((await read(path)).body, nothing);
  });

  it('is to a caller who may not read it today like one that never was', async () => {
    const before = size();
    const never = crypto.randomUUID();
    for (const slug of ['rowed', 'looking', 'answering']) {
      const closed = await create(slug, { title: 'closed', isOpen: false });
      const gone = await create(slug, { title: 'gone', isOpen: false });
      await remove(slug, gone);
      for (const caller of [anonymous, users.reader?.as, users.head?.as, users.admin?.as]) {
        const answerTo = async (id: string) => {
          const { status, body, headers } = await read(at(slug, `/${id}?asOf=${before}`), caller);
          const names = [...headers.keys()].sort();
          return [status, JSON.stringify(body).replace(id, 'ID'), names];
        };
        for (const id of [closed, gone]) assert.deepEqual(await answerTo(id), await answerTo(never), slug);
      }
      assert.ok((await read(at(slug, `/${closed}?asOf=${before}`))).body.created, 'a key is asked about no rule');
    }
  });
});

describe('As of then', () => {
  it('a global is what it was, before its first write its defaults', async () => {
    const before = size();
    for (const motto of ['one', 'two'])
      assert.equal((await service.call('PATCH', '/api/globals/site', { motto })).status, 200);
    const shown = async (asOf: number) => (await read(`/api/globals/site?asOf=${asOf}`)).body;
    assert.deepEqual([(await shown(before)).motto, (await shown(before)).createdAt], ['none', null]);
    assert.deepEqual([(await shown(before + 1)).motto, (await shown(before + 2)).motto], ['one', 'two']);
  });

  it('a file is the bytes that the document named, by the URL that the document gives', async () => {
    const first: Kept = await uploadTo(service, 'files', 'old bytes', 'old.txt');
    const then = size();
    const form = new FormData();
    form.set('file', new Blob(['new bytes']), 'new.txt');
    const headers = { 'x-api-key': 'test-key-0123456789' };
    const replaced = await fetch(`${service.url}${at('files', `/${first.id}`)}`, {
      method: 'PATCH',
      body: form,
      headers,
    });
    assert.equal(replaced.status, 200);
    const { body } = await read(at('files', `/${first.id}?asOf=${then}`), anonymous);
    assert.equal(body.url, `/api/media/files/${first.id}/old.txt?asOf=${then}`);
    const listed = await read(at('files', `?asOf=${then}&where[id][equals]=${first.id}`), anonymous);
    assert.equal(listed.body.docs[0].url, body.url);
    const bytesAt = async (path: string, headers?: Record<string, string>) => {
      const { status, bytes } = await getFrom(service, path, headers);
      return `${status} ${status === 200 ? bytes : ''}`;
    };
    assert.equal(await bytesAt(body.url, {}), '200 old bytes');
    assert.equal(await bytesAt(`/api/media/files/${first.id}/new.txt?asOf=${then}`, {}), '200 old bytes');
    assert.equal(await bytesAt(`/api/media/files/${first.id}/new.txt`, {}), '200 new bytes');
    assert.equal(await bytesAt(`/api/media/files/${first.id}/old.txt`, {}), '404 ');
    await remove('files', first.id);
    assert.equal((await read(body.url, anonymous)).status, 404, 'what is gone is for auditors');
    assert.equal((await read(body.url, users.reader?.as)).status, 404);
    assert.equal(await bytesAt(body.url, headers), '200 old bytes');
  });

  it('the schemas are those of then, for who may see headers', async (t) => {
    const small = (collections: string) => `export default {
      bcryptCost: 4,
      audit: ({ apiKey }) => apiKey !== null,
      publicSchema: true,
      collections: [${collections}],
      globals: [{ slug: 'site', fields: [{ name: 'motto', type: 'text' }] }],
    }`;
    const data = await startHere(
      t,
      small(`{ slug: 'kept', fields: [{ name: 'title', type: 'text' }] },
        { slug: 'guests', auth: true, access: { create: () => true }, fields: [] }`),
    );
    const first = await data.call('GET', '/api/schemas');
    const guest = { email: 'guest@example.com', password: 'a long password' };
    const { body: account } = await data.call('POST', '/api/collections/guests', guest, anonymous);
    await data.stop();
    const later = await startHere(
      t,
      small(`{ slug: 'kept', labels: { singular: 'K', plural: 'Ks' }, fields: [{ name: 'title', type: 'text' }] },
        { slug: 'more', fields: [] }`),
      { data: data.data, acceptLoss: true },
    );
    const then = await later.call('GET', '/api/schemas?asOf=1');
    assert.deepEqual(then.body, first.body);
    assert.equal(then.headers.get('annals-position'), '1');
    const slugsOf = ({ body }: { body: { collections: { slug: string }[] } }) =>
      body.collections.map(({ slug }) => slug);
    const { docs: events } = (await later.call('GET', '/api/audit/events?limit=1000')).body;
    assert.ok(slugsOf(await later.call('GET', `/api/schemas?asOf=${events.length}`)).includes('more'));
    assert.ok(!slugsOf(then).includes('more'));
    assert.equal((await later.call('GET', '/api/schemas?asOf=1', undefined, anonymous)).status, 401);
    assert.equal((await read('/api/schemas?asOf=1', users.reader?.as)).status, 403);
    const forHead = await read('/api/schemas?asOf=1', users.head?.as);
    assert.equal(forHead.body.collections.find(({ slug }: { slug: string }) => slug === 'open').access.read, true);
    const { collections, globals } = (await later.call('GET', '/api/schemas?asOf=2001-01-01')).body;
    assert.deepEqual({ collections, globals }, { collections: [], globals: [] });

    // Events about accounts are for no key, also when the collection is not configured any more.
    assert.ok(!JSON.stringify(events).includes(guest.email));
    for (const path of [`documents/guests/${account.id}/versions/1`, `bundles/guests/${account.id}`])
      assert.equal((await later.call('GET', `/api/audit/${path}`)).status, 403, path);
    const erase = { collection: 'guests', id: account.id, reason: 'asked for' };
    assert.equal((await later.call('POST', '/api/audit/erasures', erase)).status, 403);
  });
});

type Doc = { id: string; updatedAt: string; [field: string]: unknown };
type Of<T> = T extends fc.Arbitrary<infer V> ? V : never;
type World = { authors: Map<string, Doc>; posts: Map<string, Doc> };

describe('Lists as of then', () => {
  it('are what a model says that keeps every state, whatever is filtered, sorted, paged and populated', async () => {
    const worlds = new Map<number, World>();
    const world: World = { authors: new Map(), posts: new Map() };
    const remember = () => worlds.set(size(), { authors: new Map(world.authors), posts: new Map(world.posts) });
    remember();

    const words = ['a', 'B', 'b', 'é', 'É', 'straße', null];
    const step = fc.record({
      kind: fc.constantFrom('create', 'create', 'update', 'update', 'delete'),
      slug: fc.constantFrom('authors', 'posts', 'posts'),
      pick: fc.nat(),
      picks: fc.array(fc.nat(), { maxLength: 3 }),
      word: fc.constantFrom(...words),
      views: fc.constantFrom(0, 1, 2, null),
    });
    const question = fc.record({
      slug: fc.constantFrom('authors', 'posts', 'posts', 'posts'),
      when: fc.nat(),
      filter: fc.constantFrom(
        ...['none', 'title', 'body', 'meta', 'views', 'author', 'editors', 'editorName', 'later', 'authorId'],
      ),
      word: fc.constantFrom('a', 'B', 'é'),
      sort: fc.constantFrom('-createdAt', 'title', '-views', 'author.name', '-updatedAt'),
      limit: fc.constantFrom(1, 3, 100),
      page: fc.constantFrom(1, 2),
      depth: fc.constantFrom(0, 1),
    });

    const pickOf = (slug: keyof World, pick: number) => [...world[slug].keys()][pick % (world[slug].size || 1)];
    const kept = (slug: string, body: Doc) => {
      const { posts: _posts, edits: _edits, ...rest } = body;
      return slug === 'authors' ? rest : body;
    };

    async function act({ kind, slug, pick, picks, word, views }: Of<typeof step>): Promise<void> {
      const docs = world[slug as keyof World];
      const editors = [...new Set(picks.flatMap((one) => pickOf('authors', one) ?? []))];
      const author = pickOf('authors', pick) ?? null;
      const values =
        slug === 'authors' ? { name: word } : { title: word, body: word, meta: { word }, views, author, editors };
      const id = pickOf(slug as keyof World, pick);
      if (kind === 'create' || id === undefined) {
        const { body } = await service.call('POST', at(slug), values);
        docs.set(body.id, kept(slug, body));
      } else if (kind === 'update') {
        const { body } = await service.call('PATCH', at(slug, `/${id}`), values);
        docs.set(id, kept(slug, body));
      } else {
        await remove(slug, id);
        docs.delete(id);
      }
      remember();
    }

    const folded = (value: unknown) => (typeof value === 'string' ? value.toUpperCase() : value);

    function expected(then: World, asked: Of<typeof question>) {
      const { slug, filter, word, sort, limit, page, depth } = asked;
      const authorOf = (doc: Doc) => then.authors.get(String(doc.author));
      const editorsOf = (doc: Doc) => (doc.editors as string[]).flatMap((id) => then.authors.get(id) ?? []);
      const some = [...then.authors.keys()][0] ?? 'none';
      const pivot = [...then.posts.keys()][1] ?? '01a1fc16-6a0c-7000-a9c2-bca6a06f428d';
      const passes: Record<string, (doc: Doc) => boolean> = {
        later: ({ id }) => id > pivot,
        authorId: (doc) => authorOf(doc) !== undefined && String(doc.author) < pivot,
        body: ({ body }) => typeof body === 'string' && body.toUpperCase().includes(word.toUpperCase()),
        meta: ({ title }) => title === word,
        title: ({ title }) => typeof title === 'string' && title.toUpperCase().includes(word.toUpperCase()),
        views: ({ views }) => typeof views === 'number' && views > 0,
        author: (doc) => authorOf(doc)?.name === word,
        editors: (doc) => (doc.editors as string[]).includes(some),
        editorName: (doc) => editorsOf(doc).some(({ name }) => name === word),
      };
      const queries: Record<string, string> = {
        body: `where[body][like]=${encodeURIComponent(word)}`,
        meta: `where[meta.word][equals]=${encodeURIComponent(word)}`,
        title: `where[title][like]=${encodeURIComponent(word)}`,
        views: 'where[views][greater_than]=0',
        later: `where[id][greater_than]=${pivot}`,
        authorId: `where[author.id][less_than]=${pivot}`,
        author: `where[author.name][equals]=${encodeURIComponent(word)}`,
        editors: `where[editors][contains]=${some}`,
        editorName: `where[editors.name][equals]=${encodeURIComponent(word)}`,
      };
      const isPosts = slug === 'posts';
      const key = isPosts ? sort : '-createdAt';
      const name = key.replace('-', '');
      const sortedBy = (doc: Doc) =>
        folded(name === 'author.name' ? authorOf(doc)?.name : name === 'createdAt' ? doc.id : doc[name]) ?? null;
      const sign = key.startsWith('-') ? -1 : 1;
      const order = (a: Doc, b: Doc) => {
        const [left, right] = [sortedBy(a), sortedBy(b)] as (string | number | null)[];
        if (left === null || right === null)
          return left === right ? sign * (a.id < b.id ? -1 : 1) : left === null ? 1 : -1;
        if (left === right) return sign * (a.id < b.id ? -1 : 1);
        return sign * ((left as string) < (right as string) ? -1 : 1);
      };
      const joined = (author: Doc): object => {
        const posts = [...then.posts.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
        const inPosts = posts.filter((post) => post.author === author.id);
        const inEdits = posts.filter((post) => (post.editors as string[]).includes(author.id));
        const shown = (list: Doc[]) => (depth > 0 && !isPosts ? list : list.map(({ id }) => id));
        return { ...author, posts: shown(inPosts), edits: shown(inEdits) };
      };
      const populated = (doc: Doc): object => {
        if (!isPosts) return joined(doc);
        if (depth === 0) return doc;
        const show = (id: string | null) =>
          id !== null && then.authors.has(id) ? joined(then.authors.get(id) as Doc) : id;
        return { ...doc, author: show(doc.author as string | null), editors: (doc.editors as string[]).map(show) };
      };
      const test = isPosts ? passes[filter] : undefined;
      const found = [...then[slug as keyof World].values()].filter((doc) => !test || test(doc)).sort(order);
      const docs = found.slice((page - 1) * limit, page * limit).map(populated);
      const query = `sort=${key}&limit=${limit}&page=${page}&depth=${depth}${test ? `&${queries[filter]}` : ''}`;
      return { path: at(slug, `?${query}`), docs, total: found.length };
    }

    const session = fc.record({
      steps: fc.array(step, { minLength: 8, maxLength: 16 }),
      questions: fc.array(question, { minLength: 20, maxLength: 30 }),
    });
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(session, async ({ steps, questions }) => {
        for (const one of steps) await act(one);
        const positions = [...worlds.keys()];
        for (const one of questions) {
          const position = positions[one.when % positions.length] as number;
          const { path, docs, total } = expected(worlds.get(position) as World, one);
          const { status, body } = await read(`${path}&asOf=${position}`);
          assert.deepEqual([status, body.docs, body.total], [200, docs, total], `${path} as of ${position}`);
          asked += total > 0 ? 1 : 0;
        }
      }),
      { numRuns: runsOf(30), endOnFailure: true },
    );
    assert.ok(asked >= seenOf(60, 30), `${asked} questions had an answer`);
  });
});
