import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createReadStream, openAsBlob, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { ApiError, type Client, type ClientOptions, createClient, type Progress } from '../../client/index.ts';
import type { Config } from '../../config/define.ts';
import { operationsOf } from '../helpers/contract.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { useMailbox } from '../helpers/mail.ts';
import { apiKey } from '../helpers/service.ts';
import { useFolder } from '../helpers/shared.ts';
import type { Told } from './react-native.ts';

/** An object: of a file, a thread that loads everything anew would make the OpenAPI documents. */
const configuration: Config = {
  bcryptCost: 4,
  publicSchema: true,
  collections: [
    { slug: '__admins', auth: { useAPIKey: true }, fields: [{ name: 'name', type: 'text' }] },
    {
      slug: 'posts',
      access: { read: () => true },
      fields: [
        { name: 'title', type: 'text', required: true },
        { name: 'slug', type: 'text', unique: true },
        { name: 'status', type: 'select', options: ['draft', 'published'], defaultValue: 'draft' },
        { name: 'author', type: 'relationship', relationTo: 'authors' },
      ],
    },
    { slug: 'authors', fields: [{ name: 'name', type: 'text', required: true }] },
    {
      slug: 'files',
      upload: { maxFileSize: 300_000 },
      access: { read: () => true },
      fields: [
        { name: 'alt', type: 'text', unique: true },
        { name: 'size', type: 'number' },
        { name: 'tags', type: 'multiSelect', options: ['a', 'b'] },
        {
          name: 'about',
          type: 'object',
          fields: [
            { name: 'day', type: 'date' },
            { name: 'at', type: 'datetime' },
          ],
        },
        { name: 'shownAt', type: 'datetime' },
      ],
    },
    { slug: 'contracts', requireReason: true, fields: [{ name: 'text', type: 'text' }] },
  ],
  globals: [
    { slug: 'site', access: { read: () => true }, fields: [{ name: 'title', type: 'text', defaultValue: 'My site' }] },
  ],
};

const mailbox = await useMailbox();
const folder = useFolder();
const service = useServiceHere(configuration, { smtpUrl: mailbox.url, mailFrom: 'Annals <a@example.org>' });

/** The requests of the client, as `METHOD /path`. */
const asked = new Set<string>();
const recording: NonNullable<ClientOptions['fetch']> = (url, init) => {
  asked.add(`${init.method} ${new URL(url).pathname}`);
  return fetch(url, init);
};

function clientOf(options: Partial<ClientOptions> = {}): Client {
  return createClient({ baseUrl: service.url, fetch: recording, ...options });
}

/** A client with the API key. */
function trusted(options: Partial<ClientOptions> = {}): Client {
  return clientOf({ apiKey, ...options });
}

/** The error of a refused call. */
async function refusalOf(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

async function listOf<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

const credentials = { email: 'ada@example.org', password: 'notes on the engine' };

before(async () => {
  // Hooks at the top of a file all begin at once; this waits for the service.
  await service.call('GET', '/health');
  const admins = clientOf().collection('__admins');
  assert.equal(await admins.isInitialized(), false);
  const setupToken = /setup\?token=([\w-]+)/.exec(service.setupUrl ?? '')?.[1] ?? '';
  await admins.createFirstUser({ setupToken, ...credentials, name: 'Ada' });
});

/** A client of somebody who has just logged in. */
async function loggedIn(options: Partial<ClientOptions> = {}): Promise<Client> {
  const client = clientOf(options);
  await client.collection('__admins').login(credentials);
  return client;
}

describe('Documents by the client', () => {
  it('are created, read, changed, deleted, restored, and have a history', async () => {
    const client = trusted();
    const posts = client.collection('posts');
    const author = await client.collection('authors').create({ name: 'Ada' });
    const made = await posts.create({ title: 'Hello', author: author.id });
    assert.deepEqual([made.title, made.status, made.author], ['Hello', 'draft', author.id]);
    assert.deepEqual(await posts.findOne(made.id), made);
    assert.deepEqual((await posts.findOne(made.id, { depth: 1 }))?.author, author);

    const changed = await posts.update(made.id, { status: 'published' });
    assert.equal(changed.status, 'published');
    assert.deepEqual(await posts.delete(made.id), changed);
    assert.equal(await posts.findOne(made.id), null);
    assert.equal(await posts.findOne({ where: { title: { equals: 'Hello' } } }), null);

    const plan = await posts.restore(made.id, { version: 1 }, { dryRun: true });
    assert.equal(plan.source.version, 1);
    assert.equal(await posts.findOne(made.id), null);
    assert.equal((await posts.restore(made.id, { version: 1 })).status, 'draft');
    const { docs: versions, document, next } = await posts.history(made.id, { next: 1, limit: 2 });
    assert.deepEqual(
      versions.map(({ version, type }) => [version, type]),
      [
        [2, 'document.updated'],
        [3, 'document.deleted'],
      ],
    );
    assert.deepEqual([document.version, next], [4, 3]);
  });

  it('tell which event set each field, how versions differ, and what the log holds', async () => {
    const client = trusted();
    const made = await client.collection('posts').create({ title: 'A first title' });
    await client.collection('posts').update(made.id, { title: 'Another' }, { reason: 'a better one' });
    const target = { collection: 'posts', id: made.id } as const;
    const { fields } = await client.audit.blame(target, { actors: 'names' });
    const blamed = fields.find(({ field }) => field === 'title');
    assert.ok(blamed !== undefined && blamed.version !== null);
    assert.deepEqual([blamed.value, blamed.version, blamed.reason], ['Another', 2, 'a better one']);
    assert.equal((await client.audit.blame(target, { version: 1 })).version, 1);
    const difference = await client.audit.diff(target, { from: 1, to: 2 });
    assert.deepEqual(difference.fields, [{ field: 'title', before: 'A first title', after: 'Another' }]);
    const { document, event } = await client.audit.version(target, 1);
    assert.deepEqual([document?.title, event.header.version], ['A first title', 1]);
    const { docs: events, size } = await client.audit.events({ stream: `posts/${made.id}` });
    assert.deepEqual(
      events.map(({ header }) => header.type),
      ['document.created', 'document.updated'],
    );
    assert.equal(events.at(-1)?.header.position, size);
  });

  it('are created, changed and deleted many at once, and that is undone', async () => {
    const client = trusted();
    const authors = client.collection('authors');
    const made = await authors.createMany([{ name: 'Many A' }, { name: 'Many B' }]);
    const ids = made.results.map(({ id }) => id);
    const where = { name: { in: ['Many A', 'Many B'] } };
    const plan = await authors.updateMany({ where }, { name: 'Many B' }, { dryRun: true });
    assert.deepEqual([plan.matched, plan.changed, plan.batch], [2, 1, null]);
    const changed = await authors.updateMany({ ids }, { name: 'Many' }, { reason: 'one name' });
    assert.deepEqual(
      changed.results.map(({ outcome }) => outcome),
      ['updated', 'updated'],
    );
    const undone = await client.undo(changed.batch ?? '');
    assert.deepEqual(
      undone.results.map(({ collection, version, outcome }) => [collection, version, outcome]),
      [
        ['authors', 3, 'updated'],
        ['authors', 3, 'updated'],
      ],
    );
    const { reason, undoneBy, docs, ...found } = await client.batch(changed.batch ?? '', { limit: 1 });
    assert.deepEqual([found.call, found.total, found.outcomes.updated], ['update', 2, 2]);
    assert.deepEqual([reason, undoneBy, docs[0]?.id], ['one name', undone.batch, ids[0]]);
    assert.deepEqual(
      (await authors.find({ where, sort: 'name' })).docs.map(({ name }) => name),
      ['Many A', 'Many B'],
    );
    await assert.rejects(client.undo(made.batch ?? ''), { status: 409 });
    assert.equal((await client.undo(made.batch ?? '', { force: true, dryRun: true })).changed, 2);
    assert.equal((await authors.deleteMany({ ids })).changed, 2);
    await assert.rejects(authors.upsertMany('name', []), { status: 400 });
  });

  it('are found by conditions of every form, sorted, in pages, and as of then', async () => {
    const client = trusted();
    const posts = client.collection('posts');
    const author = await client.collection('authors').create({ name: 'Grace & Ada, "both"' });
    for (const title of ['Wind', 'Sand', 'Stars']) await posts.create({ title, author: author.id });
    const where = { 'author.name': { equals: 'Grace & Ada, "both"' }, title: { in: ['Wind', 'Sand', 'Stars', 'x,y'] } };
    const page = await posts.find({ where, sort: ['author', '-title'], limit: 2, depth: 1 });
    assert.deepEqual(
      page.docs.map(({ title }) => title),
      ['Wind', 'Stars'],
    );
    assert.deepEqual([page.total, page.totalPages, page.nextPage], [3, 2, 2]);
    assert.deepEqual(page.docs[0]?.author, author);
    const newest = await posts.findOne({ where, sort: '-createdAt' }, { depth: 1 });
    assert.deepEqual([newest?.title, newest?.author], ['Stars', author]);

    assert.deepEqual((await posts.find({ where, q: 'STA', depth: 1 })).docs, [newest]);
    const found = await client.search('stars', { collections: ['posts'], limit: 1 });
    assert.deepEqual(found, {
      docs: [{ collection: 'posts', id: newest?.id, title: 'Stars', excerpt: '<mark>Stars</mark>' }],
      total: 1,
    });

    const { position } = (await posts.history(newest?.id ?? '')).document;
    const then = new Date();
    await posts.update(newest?.id ?? '', { title: 'Sun' });
    for (const asOf of [position, String(position), then, then.toISOString()]) {
      assert.equal((await posts.findOne(newest?.id ?? '', { asOf }))?.title, 'Stars');
      assert.equal((await posts.find({ where, asOf })).total, 3);
    }
    const absence = async (asOf: number) => posts.absence(newest?.id ?? '', { asOf });
    const created = {
      version: 1,
      position,
      recordedAt: (await posts.history(newest?.id ?? '')).docs[0]?.recordedAt,
    };
    assert.deepEqual([await absence(position - 1), await absence(position)], [{ created }, null]);
    assert.equal(await posts.absence(crypto.randomUUID(), { asOf: position }), null);
    await posts.delete(newest?.id ?? '');
    const { size } = await client.audit.events({ limit: 1 });
    assert.ok('deleted' in ((await absence(size)) ?? {}));
    assert.deepEqual((await posts.trash({ asOf: size - 1 })).docs, []);
    assert.equal((await posts.trash({ asOf: size })).docs[0]?.id, newest?.id);
  });

  it('are changed only at the version that was read, if that is asked for', async () => {
    const client = trusted();
    const posts = client.collection('posts');
    const made = await posts.create({ title: 'First' });
    const read = await posts.findOne(made.id);
    const ifMatch = client.etagOf(read ?? {});
    assert.ok(ifMatch);
    await posts.update(made.id, { title: 'Second' }, { ifMatch });
    const refused = await refusalOf(posts.update(made.id, { title: 'Third' }, { ifMatch }));
    assert.deepEqual([refused.status, refused.error], [412, 'Precondition Failed']);
    assert.partialDeepStrictEqual(refused.body, { fields: [{ field: 'title', before: 'First', current: 'Second' }] });
    assert.equal((await refusalOf(posts.delete(made.id, { ifMatch }))).status, 412);
    assert.equal(client.etagOf({ ...read }), undefined);
  });

  it('say why they change, in every script', async () => {
    const contracts = trusted().collection('contracts');
    const missing = await refusalOf(contracts.create({ text: 'x' }));
    assert.deepEqual(
      missing.errors.map(({ field }) => field),
      ['x-change-reason'],
    );
    const reasons = ['signed off', 'geprüft: 100 %', 'подписано', "UTF-8''%41 as it is"];
    const { id } = await contracts.create({ text: 'x' }, { reason: 'new' });
    for (const reason of reasons) await contracts.update(id, { text: reason }, { reason });
    const { docs: versions } = await contracts.history(id);
    assert.deepEqual(
      versions.map(({ reason }) => reason),
      ['new', ...reasons],
    );
  });

  it('are refused with every field, and what the service does not know is said by it', async () => {
    const posts = trusted().collection('posts');
    const invalid = await refusalOf(posts.create({ titel: 'x', status: 'drft' }));
    assert.deepEqual([invalid.status, invalid.error, invalid.name], [400, 'Validation Error', 'ApiError']);
    assert.deepEqual(
      invalid.errors.map(({ field }) => field),
      ['title', 'status', 'titel'],
    );
    assert.match(invalid.message, /^3 fields are wrong/);
    assert.match(invalid.requestId ?? '', /^[0-9a-f-]{36}$/);
    const unknown = await refusalOf(posts.find({ limt: 5 } as object));
    assert.match(unknown.message, /limt is not a query parameter; did you mean "limit"/);
    assert.equal((await refusalOf(posts.update('nope', {}))).status, 404);
    // For an unknown collection, the answer does not say that it has no such document.
    assert.equal((await refusalOf(trusted().collection('nope').findOne('x'))).status, 404);
    assert.equal((await refusalOf(clientOf().collection('authors').find())).status, 401);
    for (const id of ['', '.', '..', undefined as unknown as string]) {
      await assert.rejects(posts.delete(id), { name: 'TypeError', message: /^id must be a text that is not empty/ });
    }
    assert.equal(await posts.findOne('a/b?c#d%'), null);
  });

  it('are globals as well', async () => {
    const client = trusted();
    const site = client.global('site');
    assert.equal((await clientOf().global('site').get()).title, 'My site');
    await site.update({ title: 'One' }, { reason: 'why not' });
    const changed = await site.update({ title: 'Two' });
    const ifMatch = client.etagOf(changed) ?? '';
    assert.equal((await site.restore({ version: 1 }, { dryRun: true })).diff[0]?.after, 'One');
    assert.equal((await site.restore({ version: 1 }, { ifMatch })).title, 'One');
    assert.equal((await site.get({ asOf: (await site.history()).global.position })).title, 'One');
    assert.equal((await client.audit.diff({ global: 'site' })).fields?.[0]?.after, 'One');
    assert.equal((await refusalOf(site.update({ title: 'Three' }, { ifMatch }))).status, 412);
  });

  it('are told as schemas', async () => {
    const { collections, globals } = await (await loggedIn()).schemas();
    assert.deepEqual(
      collections.map(({ slug }) => slug),
      ['__admins', 'posts', 'authors', 'files', 'contracts'],
    );
    assert.deepEqual(globals[0]?.access, { read: true, update: true });
  });

  it('are told to an admin UI before its user logs in', async () => {
    const boot = await clientOf().boot();
    assert.deepEqual([boot.title, boot.initialized, boot.publicSchema], ['Annals', true, true]);
    const wanted = [{ slug: '__admins', labels: null, isAdmin: true, login: ['password'] }];
    assert.deepEqual(boot.authCollections, wanted);
  });
});

describe('All documents by the client', () => {
  /** Makes authors of a name, at once, so that some come about in the same millisecond. */
  async function seed(name: string, count: number): Promise<string[]> {
    const authors = trusted().collection('authors');
    const made = await Promise.all(
      Array.from({ length: count }, (_, at) => authors.create({ name: `${name} ${at % 5}` })),
    );
    return made.map(({ id }) => id).sort();
  }

  it('are given once, in every order and in pages of any size', async () => {
    const authors = trusted().collection('authors');
    await seed('still', 12);
    const where = { name: { like: 'still' } };
    for (const sort of [undefined, '-createdAt', 'createdAt', '-name', 'id', ['name', '-createdAt']]) {
      for (const limit of [1, 5]) {
        const query = { where, limit, sort };
        const found = (await listOf(authors.findAll(query))).map(({ id }) => id);
        const listed = await authors.find({ ...query, limit: 100 });
        assert.deepEqual(
          found,
          listed.docs.map(({ id }) => id),
          `sorted by ${sort}, ${limit} at a time`,
        );
        assert.equal(found.length, 12);
      }
    }
  });

  for (const sort of ['-createdAt', 'createdAt', 'name', '-name']) {
    it(`are given once while others come and go, sorted by ${sort}`, async () => {
      const authors = trusted().collection('authors');
      const ids = await seed(`moving ${sort}`, 24);
      const seen: string[] = [];
      for await (const { id } of authors.findAll({ where: { name: { like: `moving ${sort}` } }, sort, limit: 5 })) {
        seen.push(id);
        // Pages by number would now skip one, and repeat one.
        if (seen.length % 10 === 3) await authors.delete(seen[0] as string).catch(() => {});
        if (seen.length % 10 === 8) await seed(`moving ${sort}, late`, 1);
        if (seen.length > 40) assert.fail('it does not end');
      }
      assert.equal(new Set(seen).size, seen.length);
      assert.deepEqual(seen.filter((id) => ids.includes(id)).sort(), ids);
    });
  }

  it('are given as far as they are selected, which the types tell, and are counted', async () => {
    const authors = trusted().collection('authors');
    const ids = await seed('selected', 7);
    const where = { name: { like: 'selected' } };
    const found: { id: string; name?: unknown }[] = await listOf(
      authors.findAll({ where, limit: 3, select: ['name'] }),
    );
    assert.deepEqual(found.map(({ id }) => id).sort(), ids);
    assert.ok(found.every((one) => Object.keys(one).join() === 'id,name'));
    assert.deepEqual(await authors.findOne(ids[0] as string, { select: 'id' }), { id: ids[0] });
    assert.equal(await authors.count({ where }), 7);
    assert.equal((await trusted().counts()).authors?.total, await authors.count());
    const first = await authors.find({ where, limit: 5, next: '', count: 'none' });
    const second = await authors.find({ where, limit: 5, next: first.next as string, count: 'none' });
    assert.deepEqual([first.docs.length, second.docs.length, first.total, second.next], [5, 2, null, null]);
  });

  it('are those of one moment, if one is asked for', async () => {
    const authors = trusted().collection('authors');
    const ids = await seed('of then', 12);
    const list = authors.findAll({ where: { name: { like: 'of then' } }, sort: 'name', limit: 5, asOf: new Date() });
    const found = [(await list.next()).value];
    // In front of all others.
    await seed('a new one of then', 1);
    for await (const one of list) found.push(one);
    assert.deepEqual(found.map((one) => one?.id).sort(), ids);
  });
});

describe('Accounts by the client', () => {
  it('begin with the first one, which cannot be made twice', async () => {
    const client = clientOf();
    const admins = client.collection('__admins');
    assert.equal(await admins.isInitialized(), true);
    const input = { setupToken: 'once', email: 'eve@example.org', password: 'correct horse' };
    assert.equal((await refusalOf(admins.createFirstUser(input))).status, 403);
    assert.equal(client.token, null);
  });

  it('log in and out, and keep the token meanwhile', async () => {
    const tokens: (string | null)[] = [];
    const client = clientOf({ onToken: (token) => tokens.push(token) });
    const admins = client.collection('__admins');
    const { token, user } = await admins.login(credentials);
    assert.deepEqual([client.token, user.email], [token, credentials.email]);
    assert.deepEqual(await admins.me(), user);
    await client.collection('posts').create({ title: 'by Ada' });
    const refreshed = await admins.refreshToken();
    assert.equal(client.token, refreshed.token);
    // Tokens kept elsewhere remain valid.
    assert.deepEqual(await clientOf({ token }).collection('__admins').me(), user);
    const other = (await loggedIn()).collection('__admins');
    const [mine] = (await other.sessions()).docs.filter(({ isCurrent }) => isCurrent);
    assert.equal((await admins.endOwnSession(mine?.sid ?? '')).sid, mine?.sid);
    assert.equal((await refusalOf(other.me())).status, 401);
    await admins.logout();
    // Within one second they are the same.
    assert.deepEqual([client.token, tokens], [null, [...new Set([token, refreshed.token]), null]]);
    assert.equal((await refusalOf(clientOf({ token }).collection('__admins').me())).status, 401);
    await admins.logout();
  });

  it('are invited, and choose a new password', async () => {
    const admins = (await loggedIn()).collection('__admins');
    const email = 'grace@example.org';
    assert.equal((await admins.invite({ email })).success, true);
    assert.equal((await refusalOf(admins.invite({ email: credentials.email }))).status, 409);
    assert.equal((await admins.invite({ email: 'late@example.org' })).success, true);
    const late = (await admins.invitations()).docs.find((one) => one.email === 'late@example.org');
    assert.deepEqual(await admins.invitation(late?.id ?? ''), late);
    assert.deepEqual(await admins.withdrawInvitation(late?.id ?? ''), late);
    assert.deepEqual(
      (await admins.invitations()).docs.map((one) => one.email),
      [email],
    );
    const client = clientOf();
    const own = client.collection('__admins');
    const token = await mailbox.token(email);
    const { user } = await own.acceptInvite({ token, password: 'staple of the harbour', name: 'Grace' });
    assert.deepEqual([user.name, (await own.me()).email], ['Grace', email]);
    const again = await refusalOf(own.acceptInvite({ token, password: 'staple of the harbour' }));
    assert.deepEqual([again.status, again.errors[0]?.field], [400, 'token']);
    assert.equal((await mailbox.next(email)).to?.[0]?.address, email);

    assert.equal((await own.forgotPassword({ email })).success, true);
    const reset = { token: await mailbox.token(email), password: 'paper in the machine' };
    assert.equal((await own.resetPassword(reset)).success, true);
    assert.equal((await refusalOf(own.me())).status, 401);
    assert.equal((await own.login({ email, password: 'paper in the machine' })).user.id, user.id);
    const { sessions, ...state } = await admins.account(user.id);
    const unlocked = { locked: false, lockedUntil: null, failures: 0, hasPassword: true };
    assert.deepEqual(state, { ...unlocked, lastLoginAt: sessions.at(-1)?.startedAt });
    assert.equal((await admins.unlock(user.id)).locked, false);
    const last = sessions.at(-1)?.sid ?? '';
    assert.equal((await admins.endSession(user.id, last)).sid, last);
    assert.equal((await refusalOf(own.me())).status, 401);
  });

  it('lose the token by a 401, and are told so once', async () => {
    const told: ApiError[] = [];
    const client = await loggedIn({ onUnauthorized: (error) => told.push(error) });
    const { token } = client;
    await clientOf({ token }).collection('__admins').logout();
    const authors = client.collection('authors');
    const refusals = await Promise.all([1, 2, 3].map(() => refusalOf(authors.find())));
    assert.deepEqual(
      refusals.map(({ status }) => status),
      [401, 401, 401],
    );
    assert.deepEqual([client.token, told.map(({ status }) => status)], [null, [401]]);
    // An absent login is not an event.
    await refusalOf(authors.find());
    assert.equal(told.length, 1);

    // A wrong password says nothing of the login that there is.
    client.token = (await loggedIn()).token;
    const wrong = { ...credentials, password: 'notes on the motor' };
    const { message } = await refusalOf(client.collection('__admins').login(wrong));
    assert.equal(message, 'the e-mail or the password is wrong');
    assert.deepEqual([(await client.collection('__admins').me()).email, told.length], [credentials.email, 1]);
    // Nor does a credential that was given to one call.
    await refusalOf(authors.find({ headers: { authorization: `Bearer ${token}` } }));
    assert.deepEqual([(await client.collection('__admins').me()).email, told.length], [credentials.email, 1]);
    client.token = token;
    await refusalOf(authors.find());
    assert.deepEqual([client.token, told.length], [null, 2]);
  });

  it('keep a token that came while a call with the old one was on its way', async () => {
    const told: ApiError[] = [];
    const [old, fresh] = [await loggedIn(), await loggedIn()];
    const client = clientOf({
      token: old.token,
      onUnauthorized: (error) => told.push(error),
      async fetch(url, init) {
        const response = await fetch(url, init);
        client.token = fresh.token;
        return response;
      },
    });
    await old.collection('__admins').logout();
    assert.equal((await refusalOf(client.collection('authors').find())).status, 401);
    assert.deepEqual([client.token, told], [fresh.token, []]);
  });
});

describe('Files by the client', () => {
  const text = 'a file of some length\n'.repeat(8000);
  const fields = { size: 3.5, tags: ['a', 'b'], about: { day: '2026-01-02' }, shownAt: new Date(0) };

  async function contentOf(client: Client, file: object): Promise<string> {
    return (await fetch(client.mediaUrl(file))).text();
  }

  it('are sent from whatever holds them, with their fields', async () => {
    const client = trusted();
    const files = client.collection('files');
    const path = join(folder, 'on-disk.txt');
    writeFileSync(path, text);
    const sources = [
      [new File([text], 'of "page".txt', { type: 'text/plain' }), 'of _page_.txt'],
      [new Blob([text]), 'file'],
      [Buffer.from(text), 'file'],
      [new TextEncoder().encode(text).buffer, 'file'],
      [new Blob([text]).stream(), 'file'],
      [createReadStream(path), 'file'],
      [createReadStream(path, 'utf8'), 'file'],
      [await openAsBlob(path), 'file'],
    ] as const;
    for (const [index, [source, filename]] of sources.entries()) {
      const alt = `first line\nsecond – ${index}`;
      const made = await files.upload(source, { ...fields, alt });
      assert.partialDeepStrictEqual(made, { alt, size: 3.5, tags: ['a', 'b'], shownAt: '1970-01-01T00:00:00.000Z' });
      assert.deepEqual([made.filename, made.filesize, made.mimeType], [filename, text.length, 'text/plain']);
      assert.equal(await contentOf(client, made), text);
    }
    const named = await files.upload(Buffer.from(text), {}, { filename: 'größe\r\n.txt', reason: 'because' });
    assert.equal(named.filename, 'größe .txt');
  });

  it('tell how far they are', async () => {
    const files = trusted().collection('files');
    for (const [source, total] of [
      [new Blob([text]), true],
      [new Blob([text]).stream(), false],
    ] as const) {
      const told: Progress[] = [];
      await files.upload(source, {}, { onProgress: (progress) => told.push(progress) });
      const last = told.at(-1);
      assert.ok(told.length > 2 && last && last.sent > text.length, JSON.stringify(told));
      assert.deepEqual(new Set(told.map((one) => one.total)), new Set([total ? last.sent : null]));
      assert.deepEqual(
        told,
        told.toSorted((a, b) => a.sent - b.sent),
      );
    }
  });

  it('take the place of others', async () => {
    const client = trusted();
    const files = client.collection('files');
    const made = await files.upload(new File(['one'], 'one.txt'), { alt: 'replaced' });
    const read = await files.findOne(made.id);
    const options = { ifMatch: client.etagOf(read ?? {}), reason: 'a better one' };
    const replaced = await files.replaceFile(made.id, new File(['two'], 'two.txt'), { size: 2 }, options);
    assert.deepEqual([replaced.filename, replaced.alt, replaced.size], ['two.txt', 'replaced', 2]);
    assert.equal(await contentOf(client, replaced), 'two');
    assert.equal((await refusalOf(files.replaceFile(made.id, new Blob(['three']), {}, options))).status, 412);
    assert.equal((await files.update(made.id, { alt: 'changed' })).filename, 'two.txt');
  });

  it('are refused if they are invalid, or contain what a form cannot', async () => {
    const files = trusted().collection('files');
    const large = await refusalOf(files.upload(Buffer.alloc(400_000), {}));
    assert.deepEqual([large.status, large.error], [413, 'Request Entity Too Large']);
    const streamed = await refusalOf(files.upload(new Blob([Buffer.alloc(400_000)]).stream(), {}));
    assert.equal(streamed.status, 413);
    await assert.rejects(files.upload('/tmp/photo.jpg' as unknown as Blob), {
      name: 'TypeError',
      message: /got a text/,
    });
    await assert.rejects(files.upload({ path: 'x' } as unknown as Blob), /must be a File, Blob.*got \{"path":"x"\}/);
    await assert.rejects(files.upload({ uri: 'file:///x.jpg', name: 'x.jpg' }), {
      name: 'TypeError',
      message: /\{ uri, name, type \} can be sent in React Native only; elsewhere it must be a File, Blob/,
    });
    await assert.rejects(files.upload(new Blob(['x']), { alt: null }), /alt is null, which a form cannot say/);
    assert.equal((await refusalOf(files.upload(new Blob(['x']), { siz: 1 }))).errors[0]?.field, 'siz');
  });
});

describe('The client in React Native', () => {
  it('writes, uploads a file of the device, and times out, without the global objects missing there', async () => {
    const path = join(folder, 'on-device.txt');
    writeFileSync(path, 'a photograph');
    const workerData = { url: service.url, apiKey, path };
    const worker = new Worker(new URL('./react-native.ts', import.meta.url), { workerData });
    const [told] = (await once(worker, 'message')) as [Told];
    assert.equal(told.created, 'from a telephone');
    assert.equal(
      (
        await trusted()
          .collection('posts')
          .find({ where: { title: { equals: told.created } } })
      ).total,
      1,
    );
    assert.partialDeepStrictEqual(told.uploaded, {
      filename: 'photo%201.txt',
      mimeType: 'text/plain',
      filesize: 12,
      alt: 'first line\nsecond',
      tags: ['a', 'b'],
    });
    assert.partialDeepStrictEqual(told.replaced, { filename: 'b.txt', alt: 'another' });
    assert.match(told.streamless, /^TypeError: the file must be a File, Blob/);
    assert.equal(told.late.error, 'Timeout');
    assert.match(told.late.message, /: no answer within 30 ms$/);
    assert.equal(told.late.cause, 'TimeoutError: no answer within 30 ms');
    assert.equal(told.aborted.error, 'Aborted');
    assert.equal(told.keys.length, 5, 'each of two writes is sent again');
    assert.equal(new Set(told.keys).size, 3);
  });
});

describe('Previews by the client', () => {
  it('show a draft to every holder of the token, and are no login', async () => {
    const told: ApiError[] = [];
    const client = await loggedIn({ onUnauthorized: (error) => told.push(error) });
    const { id } = await client.collection('posts').create({ title: 'as it is' });
    const draft = { collection: 'posts', id, data: { title: 'as it may be', nested: [1, null] } };
    const { token } = await client.previewToken(draft);
    assert.deepEqual(await clientOf().previewData(token), draft);
    assert.equal((await refusalOf(client.previewData(`${token}x`))).status, 401);
    assert.deepEqual([client.token === null, told], [false, []]);
    assert.equal((await refusalOf(clientOf({ token }).collection('authors').find())).status, 401);
    assert.equal((await refusalOf(clientOf().previewToken(draft))).status, 401);
  });
});

describe('webhooks by the client', () => {
  it('are listed with their deliveries, which are made again', async (t) => {
    const { url } = await startHere(t, {
      collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }] }],
      webhooks: [{ name: 'front', url: 'http://127.0.0.1:9/', secret: `whsec_${'A'.repeat(43)}=` }],
    });
    const client = createClient({ baseUrl: url, apiKey });
    const { id } = await client.collection('posts').create({ title: 'x' });
    const [hook] = (await client.webhooks.list()).docs;
    assert.deepEqual([hook?.name, hook?.origin], ['front', 'http://127.0.0.1:9']);
    let waiting = await client.webhooks.deliveries('front', { state: 'waiting', limit: 1 });
    while (waiting.total === 0) waiting = await client.webhooks.deliveries('front', { state: 'waiting', limit: 1 });
    const [delivery] = waiting.docs;
    assert.deepEqual([delivery?.data.collection, delivery?.data.id], ['posts', id]);
    assert.equal((await client.webhooks.delivery('front', String(delivery?.id))).id, delivery?.id);
    assert.equal((await client.webhooks.get('front')).name, 'front');
    assert.equal((await client.webhooks.retry('front', String(delivery?.id))).id, delivery?.id);
    const retried = await client.webhooks.retryAll('front');
    assert.deepEqual([retried.name, retried.waiting], ['front', 1]);
    assert.equal((await refusalOf(client.webhooks.retry('front', 'x'))).status, 404);
    assert.equal((await refusalOf(client.webhooks.deliveries('other'))).status, 404);
  });
});

// Most of their time is waiting.
describe('Preferences and drafts by the client', () => {
  it('are kept for the user', async () => {
    const client = await loggedIn();
    assert.deepEqual(await client.preferences.update({ theme: 'dark', seen: null }), { theme: 'dark' });
    assert.deepEqual(await client.preferences.get(), { theme: 'dark' });
    const target = { collection: 'authors', id: `new-${crypto.randomUUID()}` } as const;
    const kept = await client.drafts.keep(target, { data: { name: 'Gr' } });
    const { data, ...shown } = await client.drafts.get(target);
    assert.deepEqual([shown, data, (await client.drafts.list()).docs], [kept, { name: 'Gr' }, [kept]]);
    const ifMatch = client.etagOf(kept) ?? '';
    await client.drafts.keep(target, { data: { name: 'Grace' } }, { ifMatch });
    assert.equal((await refusalOf(client.drafts.drop(target, { ifMatch }))).status, 412);
    assert.equal((await client.drafts.drop(target)).title, 'Grace');
    assert.deepEqual((await client.drafts.list({ limit: 1 })).docs, []);
  });
});

describe('API keys by the client', () => {
  it('are made, listed, given another secret and revoked', async () => {
    const client = trusted();
    const scopes = [{ collections: ['posts'], operations: ['read'] }] as const;
    const made = await client.keys.create({ name: 'a reader', scopes }, { reason: 'for the web server' });
    assert.deepEqual(made.scopes, [{ collections: ['posts'], globals: [], operations: ['read'] }]);
    const [{ secret: _, ...shown }, list] = [made, await client.keys.list()];
    assert.deepEqual([list.docs, list.total], [[shown], 1]);
    assert.deepEqual(await client.keys.get(made.id), shown);
    const reader = clientOf({ apiKey: made.secret });
    assert.ok((await reader.collection('posts').find()).total >= 0);
    assert.equal((await refusalOf(reader.collection('authors').find())).status, 403);
    assert.equal((await refusalOf(reader.keys.list())).status, 403);
    const { secret } = await client.keys.rotate(made.id, { overlapSeconds: 60, reason: 'as planned' });
    assert.notEqual(secret, made.secret);
    for (const apiKey of [secret, made.secret]) await clientOf({ apiKey }).collection('posts').find();
    await client.keys.rotate(made.id);
    assert.equal((await refusalOf(reader.collection('posts').find())).status, 401);
    assert.equal((await client.keys.revoke(made.id)).id, made.id);
    assert.deepEqual((await client.keys.list()).docs, []);
    assert.equal((await refusalOf(client.keys.get(made.id))).status, 404);
    assert.equal((await refusalOf(client.keys.revoke(made.id))).status, 404);
  });
});

describe('The contract', () => {
  it('has every route that the client asks for', async () => {
    const documents = await Promise.all(
      ['/api/openapi.json', '/api/audit/openapi.json'].map((path) => service.call('GET', path)),
    );
    const described = documents.flatMap(({ body }) => operationsOf(body));
    const known = described.map((path) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`));
    const strays = [...asked].filter((path) => !known.some((pattern) => pattern.test(path)));
    assert.deepEqual(
      strays.filter((path) => !path.includes('/nope')),
      [],
    );
    assert.ok(asked.size > 30, `only ${asked.size} routes were asked for`);
  });
});
