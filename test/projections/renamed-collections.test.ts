import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { run as verify } from '../../verify/annals-verify.mjs';
import { upload } from '../helpers/downloads.ts';
import { type HereService, startHere, useServiceHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { useMailbox } from '../helpers/mail.ts';
import { type Answer, apiKey, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { eventually, recordedEvents, useFolder } from '../helpers/shared.ts';

/** The slugs of a site, and those that its collections had. */
type Names = { posts: string; people: string; media: string; were?: { posts: string; people: string; media: string } };

const first: Names = { posts: 'posts', people: 'people', media: 'media' };
const others = { posts: 'articles', people: 'staff', media: 'files' };
const renamed: Names = { ...others, were: first };
const dropped: Names = others;
const back: Names = { ...first, were: others };

const cheap = { bcryptCost: 4, rateLimit: false } as const;

function siteOf({ posts, people, media, were }: Names): Config {
  const from = (slug: 'posts' | 'people' | 'media') => (were ? { renamedFrom: were[slug] } : {});
  return {
    ...cheap,
    audit: () => true,
    collections: [
      {
        slug: posts,
        ...from('posts'),
        admin: { searchFields: ['title'], useAsTitle: 'title' },
        access: { read: () => true, update: ({ user }) => user === null || user.collection === people },
        fields: [
          { name: 'title', type: 'text', unique: true },
          { name: 'body', type: 'text', index: true },
          { name: 'author', type: 'relationship', relationTo: people },
          { name: 'picture', type: 'upload', relationTo: media },
          { name: 'related', type: 'relationship', relationTo: posts, hasMany: true },
        ],
      },
      {
        slug: people,
        ...from('people'),
        auth: { useAPIKey: true },
        admin: { useAsTitle: 'name' },
        fields: [
          { name: 'name', type: 'text' },
          { name: 'wrote', type: 'join', collection: posts, on: 'author' },
        ],
      },
      { slug: media, ...from('media'), upload: true, fields: [{ name: 'alt', type: 'text' }] },
    ],
    admin: { user: people },
  };
}

/** The ids of what was written before the first rename, and what its users have from then. */
type Known = {
  one: string;
  gone: string;
  ada: string;
  picture: string;
  token: string;
  key: string;
  batch: string;
  before: number;
};

const password = 'correct horse battery';

/** Asks under a path of a collection, which has another name each time. */
const at = (slug: string, rest = '') => `/api/collections/${slug}${rest}`;
const bearer = (token: string) => ({ key: null, headers: { authorization: `Bearer ${token}` } });

async function made(answer: Promise<Answer>): Promise<Answer['body']> {
  const { status, body } = await answer;
  assert.ok(status >= 200 && status < 300, `${status} ${JSON.stringify(body)}`);
  return body;
}

/** Writes something of each kind, under the first names. */
async function fill(service: HereService): Promise<Known> {
  const { call } = service;
  const who = { email: 'ada@example.com', password, name: 'Ada' };
  const { id: ada } = await made(call('POST', at('people'), who));
  const { token } = await made(call('POST', at('people', '/login'), { email: who.email, password }));
  const picture = await upload(service, 'media', 'some bytes', 'one.txt', 'a file');
  const one = (await made(call('POST', at('posts'), { title: 'One', body: 'first', author: ada, picture: picture.id })))
    .id;
  const before = (await made(call('GET', '/api/audit/log'))).size;
  await made(call('PATCH', at('posts', `/${one}`), { body: 'second', related: [one] }, bearer(token)));
  const { id: gone } = await made(call('POST', at('posts'), { title: 'Gone' }));
  await made(call('DELETE', at('posts', `/${gone}`)));
  const bulk = await made(call('POST', at('posts', '/bulk'), { docs: [{ title: 'Bulk 1' }, { title: 'Bulk 2' }] }));
  await made(call('PUT', `/api/drafts/posts/${one}`, { data: { title: 'Typed' }, version: 2 }, bearer(token)));
  await made(call('PATCH', '/api/preferences', { language: 'de' }, bearer(token)));
  const scopes = [{ collections: ['posts'], operations: ['read'] }];
  const { secret } = await made(call('POST', '/api/keys', { name: 'reader', scopes, audit: ['payloads'] }));
  return { one, gone, ada, picture: picture.id, token, key: secret, batch: bulk.batch, before };
}

/** Everything that must be the same under other names: a look at each part, by the slugs of today. */
function looks(
  { posts, people, media }: Names,
  known: Known,
): Record<string, (service: HereService) => Promise<unknown>> {
  const { one, gone, ada, picture, token, key, before } = known;
  const get =
    (path: string, options?: Parameters<HereService['call']>[3]) =>
    async ({ call }: HereService) => {
      const { status, body } = await call('GET', path, undefined, options);
      return { status, body };
    };
  return {
    'a document': get(at(posts, `/${one}?depth=1`)),
    'a list by a filter and an index': get(at(posts, '?where={"body":{"equals":"second"}}')),
    'a filter through a relationship': get(at(posts, '?where={"author.name":{"equals":"Ada"}}')),
    'words that are searched': get(at(posts, '?q=one')),
    'a search in all collections': get('/api/search?q=one'),
    counts: get('/api/counts'),
    'the schemas as of before the rename': async ({ call }) => {
      const { collections } = (await call('GET', `/api/schemas?asOf=${before}`)).body;
      return collections.map((one: { slug: string; fields: object[] }) => [one.slug, one.fields]);
    },
    'a join, and a user': get(at(people, `/${ada}`)),
    'as of before the rename': get(at(posts, `/${one}?asOf=${before}`)),
    'a list as of before the rename': get(at(posts, `?asOf=${before}&sort=title`)),
    'a list that is proven as of then': get(at(posts, `/${one}?asOf=${before}&proven=true`)),
    'the history of a document': get(`/api/audit/documents/${posts}/${one}?actors=names`),
    'the history of a deleted one': get(`/api/audit/documents/${posts}/${gone}`),
    blame: get(`/api/audit/documents/${posts}/${one}/blame`),
    'a difference': get(`/api/audit/documents/${posts}/${one}/diff?from=1&to=2`),
    'a version': get(`/api/audit/documents/${posts}/${one}/versions/2`),
    'who was allowed to': get(`/api/audit/documents/${posts}/${one}/versions/2/access`),
    'the history of an account': get(`/api/audit/accounts/${people}/${ada}?limit=3`),
    'events of a stream': get(`/api/audit/events?stream=${posts}/${one}&actors=names`),
    'events of a collection': get(`/api/audit/events?collection=${posts}&to=${known.before}`),
    'events of its accounts': get(`/api/audit/events?collection=accounts/${people}&limit=3`),
    'events of a user': get(`/api/audit/events?actor=${people}/${ada}&limit=3`),
    trash: get(at(posts, '/trash')),
    references: get(at(people, `/${ada}/references`)),
    'a file': get(at(media, `/${picture}`)),
    'a user by their token': get(at(people, '/me'), bearer(token)),
    'what rules know of the user': get(at(posts, `/${one}`), bearer(token)),
    'sessions of an account': async ({ call }) => (await call('GET', at(people, `/${ada}/account`))).body.failures,
    'an unsaved change': get(`/api/drafts/${posts}/${one}`, bearer(token)),
    'all unsaved changes': get('/api/drafts', bearer(token)),
    preferences: get('/api/preferences', bearer(token)),
    'a document by a key of its own scopes': get(at(posts, `/${one}`), { key }),
    'its history by such a key': get(`/api/audit/documents/${posts}/${one}/versions/1`, { key }),
    'what such a key may not see': get(at(media, `/${picture}`), { key }),
    'the scopes of keys': async ({ call }) => (await call('GET', '/api/keys')).body.docs[0].scopes,
  };
}

/** The answers, with one name for each collection in the place of those that it has had. */
function plain(value: unknown): unknown {
  const names = /\b(posts|articles)\b|\b(people|staff)\b|\b(media|files)\b/g;
  // The log grows by the changes of the schema.
  const whole = JSON.stringify(value, (name, inner) => (name === 'size' ? undefined : inner));
  return JSON.parse(whole.replace(names, (_, post, user) => (post ? 'POSTS' : user ? 'USERS' : 'FILES')));
}

async function seen(service: HereService, names: Names, known: Known): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [what, look] of Object.entries(looks(names, known))) found[what] = plain(await look(service));
  return found;
}

describe('a collection that is renamed', () => {
  const folder = useFolder();
  const [data, copy] = [join(folder, 'data'), join(folder, 'copy')];
  const service = useServiceHere(siteOf(first), { data });
  let known: Known;
  let asBefore: Record<string, unknown>;
  before(async () => {
    known = await fill(service);
    asBefore = await seen(service, first, known);
    await service.stop();
    cpSync(data, copy, { recursive: true });
  });

  it('shows everything before it is', () => {
    for (const [what, answer] of Object.entries(asBefore))
      if (!what.includes('may not')) assert.doesNotMatch(JSON.stringify(answer), /"status":[45]/, what);
  });

  for (const [when, names] of Object.entries({
    'with renamedFrom': renamed,
    'also without renamedFrom later on': dropped,
    'and after it is renamed back': back,
  })) {
    it(`keeps everything, ${when}`, async (t) => {
      const next = await startHere(t, siteOf(names), { data });
      const after = await seen(next, names, known);
      for (const what of Object.keys(asBefore)) assert.deepEqual(after[what], asBefore[what], what);
      await next.stop();
    });
  }
  describe('goes on', () => {
    const service = useServiceHere(siteOf(renamed), { data: copy });
    const { call } = service;
    const login = (given: string) => call('POST', at('staff', '/login'), { email: 'ada@example.com', password: given });
    let added: { id: string };
    let session: string;

    it('unique values, restoring, undoing', async () => {
      const { one, gone, ada, token, batch } = known;
      const taken = await call('POST', at('articles'), { title: 'One' });
      assert.deepEqual([taken.status, taken.body.errors[0].field], [409, 'title']);
      added = await made(call('POST', at('articles'), { title: 'New', author: ada, related: [one] }));
      assert.equal(
        (await made(call('GET', `/api/audit/documents/articles/${added.id}`))).document.stream,
        `posts/${added.id}`,
      );
      await made(call('PATCH', at('articles', `/${one}`), { title: 'One now' }, bearer(token)));
      await made(call('POST', at('articles'), { title: 'One' }));
      assert.equal((await call('POST', at('articles', `/${one}/restore`), { version: 2 })).status, 409);
      assert.equal((await made(call('POST', at('articles', `/${gone}/restore`), { version: 1 }))).title, 'Gone');
      const undone = await made(call('POST', `/api/batches/${batch}/undo`, {}));
      assert.deepEqual(
        new Set(undone.results.map((result: { collection: string }) => result.collection)),
        new Set(['articles']),
      );
    });

    it('accounts', async () => {
      const { one, ada, token } = known;
      assert.equal((await login(password)).body.user.id, ada);
      await made(call('PATCH', at('staff', `/${ada}`), { password: 'another horse battery' }, bearer(token)));
      assert.equal((await login(password)).status, 401);
      session = (await made(login('another horse battery'))).token;
      assert.equal((await made(call('GET', at('staff', '/me'), undefined, bearer(session)))).name, 'Ada');
      const events = await made(call('GET', `/api/audit/events?collection=accounts/staff&type=password.changed`));
      assert.deepEqual(
        events.docs.map(({ header }: { header: { stream: string; actor: object } }) => [header.stream, header.actor]),
        [
          [`accounts/people/${ada}`, { type: 'apiKey', id: events.docs[0].header.actor.id }],
          [`accounts/people/${ada}`, { type: 'user', id: `people/${ada}` }],
        ],
      );
      for (const query of [`stream=posts/${one}`, `stream=articles/${one}`]) {
        assert.equal((await made(call('GET', `/api/audit/events?${query}`))).docs.length, 3, query);
      }
      for (const query of [`actor=people/${ada}`, `actor=staff/${ada}`]) {
        assert.ok((await made(call('GET', `/api/audit/events?collection=posts&${query}`))).docs.length > 0, query);
      }
    });

    it('what is said of the former names', async () => {
      const { one } = known;
      const former = await call('GET', at('posts', `/${one}`));
      const where = `there is no GET /api/collections/posts/${one}: the collection posts is articles now, under /api/collections/articles`;
      assert.deepEqual([former.status, former.body.message], [404, where]);
      const unnamed = await call('GET', at('posts'), undefined, { key: null });
      assert.equal(unnamed.body.message, 'there is no GET /api/collections/posts');
      const foreign = await call('GET', at('people'), undefined, { key: known.key });
      assert.equal(foreign.body.message, 'there is no GET /api/collections/people');
      const shown = (await made(call('GET', '/api/schemas'))).collections;
      assert.deepEqual(
        shown.map(({ slug, category }: { slug: string; category: string }) => [slug, category]),
        [
          ['articles', 'posts'],
          ['staff', 'people'],
          ['files', 'media'],
        ],
      );
    });

    it('files, proofs, and keys', async (t) => {
      const { one, picture } = known;
      const { url } = service;
      const file = await made(call('GET', at('files', `/${picture}`)));
      assert.equal(file.url, `/api/media/files/${picture}/one.txt`);
      assert.equal(await (await fetch(url + file.url, { headers: { 'x-api-key': apiKey } })).text(), 'some bytes');

      const pack = await fetch(`${url}/api/audit/bundles/articles/${one}`, { headers: { 'x-api-key': apiKey } });
      const saved = join(temporaryFolder(t), 'pack.zip');
      writeFileSync(saved, Buffer.from(await pack.arrayBuffer()));
      const { verifierKey } = await made(call('GET', '/api/audit/log'));
      assert.equal((await verify(['--key', verifierKey, saved])).exit, 0);
      const { scopes } = await made(
        call('POST', '/api/keys', { name: 'new', scopes: [{ collections: ['articles'], operations: ['read'] }] }),
      );
      assert.deepEqual(scopes, [{ collections: ['articles'], globals: [], operations: ['read'] }]);
      const keys = await made(call('GET', '/api/audit/events?type=apikey.created'));
      assert.deepEqual(keys.docs.at(-1).data.scopes[0].collections, ['posts']);
    });

    it('erasures', async () => {
      const { one, ada } = known;
      const erased = await made(
        call('POST', '/api/audit/erasures', { collection: 'articles', id: one, reason: 'asked' }),
      );
      assert.deepEqual([erased.collection, erased.erases.versions], ['articles', 3]);
      const { docs: erasures } = await made(call('GET', '/api/audit/erasures'));
      assert.equal(erasures[0].collection, 'articles');
      assert.equal((await call('GET', at('articles', `/${one}`))).status, 404);
      assert.deepEqual((await made(call('GET', '/api/drafts', undefined, bearer(session)))).docs, []);
      await made(call('POST', at('staff'), { email: 'bob@example.com', password, name: 'Bob' }));
      await made(call('POST', '/api/audit/erasures', { collection: 'people', id: ada, reason: 'by its first name' }));
      assert.equal((await login('another horse battery')).status, 401);
    });

    it('commands', async (t) => {
      await service.stop();
      const config = writeConfig(temporaryFolder(t), `export default ${source(renamed)}`);
      const commands = { environment: { ANNALS_CONFIG: config, ANNALS_DATA: copy } };
      for (const name of [`articles/${added.id}`, `posts/${added.id}`]) {
        const { code, stdout, stderr } = await runHere(['history', name], commands);
        assert.deepEqual([code, stdout.split(':')[0]], [0, `posts/${added.id}`], stderr);
      }
      assert.match((await runHere(['show', 'articles'], commands)).stdout, /"title":"New"/);
      const found = await runHere(['events', '--collection', 'articles', '--json'], commands);
      assert.ok(found.stdout.split('\n').length > 5, found.stderr);
      for (const command of [['verify'], ['rebuild', '--check']]) {
        const { code, stdout, stderr } = await runHere(command, commands);
        assert.equal(code, 0, stdout + stderr);
      }
      const out = join(temporaryFolder(t), 'out');
      const exported = await runHere(['export', 'content', '--out', out], commands);
      assert.equal(exported.code, 0, exported.stderr);
      assert.match(readFileSync(join(out, 'collections', 'articles.ndjson'), 'utf8'), /"title":"New"/);
    });
  });
});

describe('a renamed collection of accounts', async () => {
  const mailbox = await useMailbox();
  const anonymous = { key: null };

  const told: { type: string; data: { collection: string; id: string } }[] = [];
  const receiver = createServer(async (request, response) => {
    told.push(JSON.parse(await text(request)));
    response.end();
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  after(() => receiver.close());
  const { port } = receiver.address() as AddressInfo;
  const secret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
  const url = `http://127.0.0.1:${port}/`;
  const hooks = (collection: string) => [{ name: 'hook', url, secret, allowPrivate: true, collections: [collection] }];
  const email = {
    from: 'site@example.org',
    transport: mailbox.url,
    templates: { welcome: { subject: ({ collection }: { collection: string }) => `welcome to ${collection}` } },
  };
  const service = useServiceHere({ ...siteOf(first), email, webhooks: hooks('people') });
  let token: string;
  let [invited, reset] = ['', ''];
  before(async () => {
    token = (await fill(service)).token;
    await made(service.call('POST', at('people', '/invite'), { email: 'bob@example.org' }, bearer(token)));
    await made(service.call('POST', at('people', '/forgot-password'), { email: 'ada@example.com' }, anonymous));
    [invited, reset] = [await mailbox.token('bob@example.org'), await mailbox.token('ada@example.com')];
    await eventually(() => told.length > 0);
    await service.stop();
    told.length = 0;
  });

  it('takes the tokens of mails from before, mails under its new name, and tells webhooks of it', async (t) => {
    const { call, data } = await startHere(
      t,
      { ...siteOf(renamed), email, webhooks: hooks('staff') },
      { data: service.data },
    );
    const { docs: invitations } = await made(call('GET', at('staff', '/invitations'), undefined, bearer(token)));
    assert.deepEqual(
      invitations.map((one: { email: string }) => one.email),
      ['bob@example.org'],
    );
    const bob = await made(
      call('POST', at('staff', '/accept-invite'), { token: invited, password, name: 'Bob' }, anonymous),
    );
    assert.equal((await mailbox.next('bob@example.org')).subject, 'welcome to staff');
    await made(
      call('POST', at('staff', '/reset-password'), { token: reset, password: 'one more horse battery' }, anonymous),
    );
    const { status } = await call('POST', at('staff', '/login'), { email: 'ada@example.com', password }, anonymous);
    assert.equal(status, 401);
    const message = await eventually(() => told.find(({ type }) => type === 'document.created'));
    assert.deepEqual([message.data.collection, message.data.id], ['staff', bob.user.id]);
    assert.ok(recordedEvents(data, `people/${bob.user.id}`).length > 0);
  });
});

/** The configuration as a module has it. Its rules change nothing here. */
function source(names: Names): string {
  return JSON.stringify(siteOf(names));
}
