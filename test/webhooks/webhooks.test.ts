import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ConfigError, checkConfig } from '../../config/check.ts';
import { webhookEvents } from '../../config/check-webhooks.ts';
import type { Model, Webhook } from '../../config/model.ts';
import { namesOf } from '../../events/service-events/categories.ts';
import { logFile as logFileOf } from '../../projections/tables/files.ts';
import { createLog } from '../../server/platform/logging.ts';
import { readConditions } from '../../server/webhooks/conditions.ts';
import { deliveriesIn } from '../../server/webhooks/deliveries.ts';
import { createWebhookService } from '../../server/webhooks/service.ts';
import { openWebhooks, type Webhooks } from '../../server/webhooks/webhooks.ts';
import { openDatabase, withDatabase } from '../../storage/sqlite.ts';
import { startHere, useServiceHere } from '../helpers/embedded.ts';
import { temporaryFolder } from '../helpers/service.ts';

const everyEvent = [
  'document.created',
  'document.updated',
  'document.deleted',
  'document.restored',
  'document.erased',
  'global.updated',
  'global.restored',
  'release.failed',
];

const key = Buffer.alloc(32, 7);
const secret = `whsec_${key.toString('base64')}`;

const schema = {
  bcryptCost: 4,
  collections: [
    { slug: '__admins', auth: true, fields: [] },
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'status', type: 'select', options: ['draft', 'published'] },
        { name: 'author', type: 'relationship', relationTo: 'people' },
      ],
    },
    { slug: 'people', fields: [{ name: 'name', type: 'text' }] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'title', type: 'text' }] }],
};

// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
type Body = any;
type Came = { headers: IncomingMessage['headers']; text: string; body: Body };

/** A receiver; `answer` gives its status, and without one it answers 204. */
async function receive(t: TestContext, answer: (came: Came, response: ServerResponse) => unknown = () => 204) {
  const came: Came[] = [];
  const server = createServer(async (request, response) => {
    const text = (await request.toArray()).join('');
    const one = { headers: request.headers, text, body: JSON.parse(text) };
    came.push(one);
    const status = await answer(one, response);
    if (typeof status === 'number') response.writeHead(status).end('some words of the receiver');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return { came, port, url: `http://127.0.0.1:${port}/hook?token=hush` };
}

const silent = createLog('silent', { write: () => {} });
const here = useServiceHere(schema);

async function allOf(port: Pick<Webhooks, 'page'>) {
  return (await port.page({ limit: 100, page: 1 })).webhooks;
}

/** Waits until a check passes. */
async function eventually(check: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if (await check()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail('it never came');
}

type Options = Partial<Parameters<typeof openWebhooks>[0]> & { path?: string };

function modelOf(hooks: object[]): Model {
  const webhooks = hooks.map((hook, index) => ({ name: `hook${index}`, secret, allowPrivate: true, ...hook }));
  return checkConfig({ ...schema, webhooks });
}

/** The log of the service, as it is now. */
function feedOf() {
  const logFile = logFileOf(here.data);
  const read = String(readdirSync(here.data).find((name) => /^read-\w+\.db$/.test(name)));
  return withDatabase(logFile, { readonly: true }, (db) => ({
    log: String(db.prepare("SELECT header ->> 'log' FROM headers LIMIT 1").pluck().get()),
    size: Number(db.prepare('SELECT max(position) FROM events').pluck().get()),
    logFile,
    readFile: join(here.data, read),
  }));
}

/** Delivers the events of the service with a queue of the test's own, from the end of its log on. */
async function deliver(t: TestContext, hooks: object[], options: Options = {}): Promise<Webhooks> {
  const model = modelOf(hooks);
  const feed = feedOf();
  const { path = join(temporaryFolder(t), 'webhooks.db'), ...others } = options;
  const webhooks = await openWebhooks({
    webhooks: model.webhooks,
    conditions: await readConditions(model, false),
    names: namesOf(model.schema.collections),
    deliveries: deliveriesIn(path, { id: feed.log, size: feed.size }, (options.now ?? Date.now)()),
    feed,
    log: silent,
    now: Date.now,
    released: [],
    retrySeconds: [0.05],
    pollMilliseconds: { busy: 10, quiet: 50 },
    closeSeconds: 0.2,
    ...others,
  });
  let isOpen = true;
  const close = async () => {
    if (isOpen) await webhooks.close();
    isOpen = false;
  };
  t.after(close);
  return { ...webhooks, close };
}

async function write(method: string, path: string, body?: object): Promise<Body> {
  const answer = await here.call(method, `/api/${path}`, body);
  assert.ok(answer.status < 300, JSON.stringify(answer.body));
  return answer.body;
}

const shown = ({ body }: Came) => `${body.type} ${body.data.version}`;

describe('a webhook', () => {
  it('gets a signed message without content for each change of documents and globals', async (t) => {
    const receiver = await receive(t);
    await deliver(t, [{ url: receiver.url }]);
    const { id } = await write('POST', 'collections/posts', { title: 'a secret title' });
    await write('PATCH', `collections/posts/${id}`, { title: 'another' });
    await write('DELETE', `collections/posts/${id}`);
    await write('POST', `collections/posts/${id}/restore`, { version: 1 });
    await write('PATCH', 'globals/site', { title: 'a title' });
    await eventually(() => receiver.came.length === 5);
    const about = receiver.came.filter(({ body }) => body.data.collection === 'posts');
    assert.deepEqual(about.map(shown), [
      'document.created 1',
      'document.updated 2',
      'document.deleted 3',
      'document.restored 4',
    ]);
    const [first] = about as [Came];
    const { position } = first.body.data;
    const [event] = (await here.call('GET', `/api/audit/events?next=${position - 1}&limit=1`)).body.docs;
    assert.deepEqual(first.body, {
      type: 'document.created',
      timestamp: event.header.recordedAt,
      data: { collection: 'posts', id, version: 1, position, batch: null },
    });
    const global = receiver.came.find(({ body }) => body.data.global);
    assert.deepEqual(global?.body.data, { ...global?.body.data, global: 'site', id: null, version: 1, batch: null });
    for (const { headers, text } of receiver.came) {
      const [messageId, time] = [headers['webhook-id'], headers['webhook-timestamp']];
      const expected = createHmac('sha256', key).update(`${messageId}.${time}.${text}`).digest('base64');
      assert.equal(headers['webhook-signature'], `v1,${expected}`);
      assert.equal(headers['content-type'], 'application/json');
      assert.ok(Math.abs(Number(time) * 1000 - Date.now()) < 60_000);
      assert.doesNotMatch(text + JSON.stringify(headers), /secret title|another|whsec/);
    }
    assert.equal(new Set(receiver.came.map(({ headers }) => headers['webhook-id'])).size, 5);
  });

  it('gets the id of the bulk call that an event is part of', async (t) => {
    const receiver = await receive(t);
    await deliver(t, [{ url: receiver.url }]);
    const { batch, results } = await write('POST', 'collections/people/bulk', { docs: [{ name: 'a' }, { name: 'b' }] });
    await eventually(() => receiver.came.length === 2);
    const told = receiver.came.map(({ body }) => `${body.data.id} ${body.data.batch}`);
    assert.deepEqual(told.sort(), results.map(({ id }: { id: string }) => `${id} ${batch}`).sort());
  });

  it('gets what it names, and documents that met its condition before or after the change', async (t) => {
    const [people, published, everything] = [await receive(t), await receive(t), await receive(t)];
    const [gone, site] = [await receive(t), await receive(t)];
    await deliver(t, [
      { url: people.url, collections: ['people'], events: ['document.created'] },
      {
        url: published.url,
        collections: ['posts'],
        where: { status: { equals: 'published' }, 'author.name': { like: 'ada' } },
      },
      { url: everything.url, collections: '*' },
      { url: gone.url, events: ['document.erased'] },
      { url: site.url, events: ['global.updated'] },
    ]);
    const ada = await write('POST', 'collections/people', { name: 'Ada' });
    await write('PATCH', `collections/people/${ada.id}`, { name: 'Ada L.' });
    const { id } = await write('POST', 'collections/posts', { status: 'draft', author: ada.id });
    await write('PATCH', `collections/posts/${id}`, { status: 'published' });
    await write('PATCH', `collections/posts/${id}`, { status: 'draft' });
    await write('PATCH', `collections/posts/${id}`, { title: 'still a draft' });
    const other = await write('POST', 'collections/posts', { status: 'published' });
    await write('PATCH', 'globals/site', { title: `new ${id}` });
    await write('POST', 'audit/erasures', { collection: 'posts', id: other.id, reason: 'a request' });
    await eventually(() => everything.came.length === 8 && published.came.length === 3);
    assert.deepEqual(people.came.map(shown), ['document.created 1']);
    await eventually(() => gone.came.length === 1 && site.came.length === 1);
    assert.deepEqual([...gone.came, ...site.came].map(shown), ['document.erased 2', 'global.updated 2']);
    const aboutIt = published.came.filter(({ body }) => body.data.id === id);
    assert.deepEqual(aboutIt.map(shown), ['document.updated 2', 'document.updated 3']);
    // The content that the condition could be asked of is gone.
    const erased = published.came.filter(({ body }) => body.data.id === other.id);
    assert.deepEqual(erased.map(shown), ['document.erased 2']);
    assert.equal(everything.came.filter(({ body }) => body.data.global).length, 0);
  });

  it('is tried again under the same id, in order of each document, and other documents go on', async (t) => {
    let bad = '';
    let failures = 0;
    let hasOther = false;
    const elsewhere = await receive(t);
    const receiver = await receive(t, ({ body }, response) => {
      // The first message may come before the answer that names its document.
      if (bad !== '' && body.data.id !== bad) hasOther = true;
      // The receiver refuses the bad document until another document has gone on.
      else if (failures < 3 || !hasOther) {
        failures += 1;
        if (failures === 1) return 500;
        response.writeHead(307, { location: `http://127.0.0.1:${elsewhere.port}/` }).end();
        return null;
      }
      return 204;
    });
    const webhooks = await deliver(t, [{ url: receiver.url }]);
    bad = (await write('POST', 'collections/people', { name: 'a' })).id;
    await write('PATCH', `collections/people/${bad}`, { name: 'b' });
    await write('PATCH', `collections/people/${bad}`, { name: 'c' });
    await write('POST', 'collections/people', { name: 'other' });
    const ofBad = () => receiver.came.filter(({ body }) => body.data.id === bad);
    await eventually(() => ofBad().at(-1)?.body.data.version === 3);
    const versions = ofBad().map(({ body }) => body.data.version);
    assert.deepEqual(versions, [...Array(failures + 1).fill(1), 2, 3]);
    assert.ok(failures >= 3 && hasOther);
    const tries = ofBad().slice(0, failures + 1);
    assert.equal(new Set(tries.map(({ headers, text }) => `${headers['webhook-id']} ${text}`)).size, 1);
    await eventually(async () => (await allOf(webhooks))[0]?.waiting === 0);
    assert.equal(elsewhere.came.length, 0);
  });

  it('that answers slowly holds up no other webhook, and no write', async (t) => {
    const held: ServerResponse[] = [];
    const slow = await receive(t, (_, response) => void held.push(response));
    const fast = await receive(t);
    const webhooks = await deliver(t, [{ url: slow.url }, { url: fast.url }]);
    for (let index = 0; index < 10; index += 1) await write('POST', 'collections/people', { name: `${index}` });
    await eventually(() => fast.came.length === 10);
    assert.equal(slow.came.length, 4);
    // The answers were on their way.
    await eventually(async () => (await allOf(webhooks))[1]?.waiting === 0);
    assert.equal((await allOf(webhooks))[0]?.waiting, 10);
    for (const response of held) response.writeHead(204).end();
  });

  it('that fails for three days has its deliveries parked, which can be made again', async (t) => {
    let status = 503;
    let time = Date.now();
    const receiver = await receive(t, () => status);
    const webhooks = await deliver(t, [{ url: receiver.url }], { now: () => time, retrySeconds: [60] });
    const { id } = await write('POST', 'collections/people', { name: 'a' });
    await write('PATCH', `collections/people/${id}`, { name: 'b' });
    const list = async (state: 'all' | 'parked' = 'all') =>
      (await webhooks.deliveries('hook0', { state, limit: 10, page: 1 }))?.deliveries ?? [];
    // The second may come before or after the first attempt, which it repeats then.
    await eventually(async () => Number((await list())[0]?.attempts) >= 1 && (await list()).length === 2);
    await eventually(async () => (await list())[0]?.nextAttemptAt !== new Date(time).toISOString());
    const [first, second] = await list();
    const begun = Number(first?.attempts);
    assert.deepEqual(
      [first?.state, first?.error, second?.attempts, second?.nextAttemptAt],
      ['waiting', 'it answered 503', 0, null],
    );
    time += 3 * 24 * 60 * 60 * 1000 - 1000;
    await eventually(async () => (await list())[0]?.attempts === begun + 1);
    assert.deepEqual(await list('parked'), []);
    time += 1000;
    await eventually(async () => (await list('parked')).length === 2);
    assert.deepEqual(
      (await list()).map(({ attempts }) => attempts),
      [begun + 2, 1],
    );
    const tried = receiver.came.length;
    time += 30 * 24 * 60 * 60 * 1000;
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(receiver.came.length, tried);
    status = 204;
    assert.equal(await webhooks.retry('hook0', 'unknown'), null);
    const again = await webhooks.retry('hook0', String(first?.id));
    assert.deepEqual([again?.state, again?.id], ['waiting', first?.id]);
    await eventually(async () => (await list()).length === 1);
    assert.equal(receiver.came.at(-1)?.headers['webhook-id'], first?.id);
    const [view] = await allOf(webhooks);
    assert.deepEqual([view?.waiting, view?.parked], [0, 1]);
    assert.ok(view?.lastDeliveredAt);
  });

  it('goes on where it was after a stop, and one that is new begins with what comes', async (t) => {
    let status = 500;
    const receiver = await receive(t, () => status);
    const path = join(temporaryFolder(t), 'webhooks.db');
    const first = await deliver(t, [{ url: receiver.url }], { path });
    const { id } = await write('POST', 'collections/people', { name: 'a' });
    await eventually(async () => (await allOf(first))[0]?.waiting === 1);
    await first.close();
    await write('PATCH', `collections/people/${id}`, { name: 'b' });
    status = 204;
    receiver.came.length = 0;
    const other = await receive(t);
    await deliver(t, [{ url: receiver.url }, { url: other.url }], { path });
    await eventually(() => receiver.came.length === 2);
    assert.deepEqual(receiver.came.map(shown), ['document.created 1', 'document.updated 2']);
    await write('PATCH', `collections/people/${id}`, { name: 'c' });
    await eventually(() => other.came.length === 1);
    assert.deepEqual(other.came.map(shown), ['document.updated 3']);
  });
});

describe('a webhook whose receiver was away', () => {
  /** Documents `0` to `2` wait for an hour after their first failures; `receiver` gets the messages once it is back. */
  async function waiting(t: TestContext, options: Options = {}) {
    const state = { status: 503, refused: '' };
    const receiver = await receive(t, ({ body }) => (body.data.id === state.refused ? 503 : state.status));
    const webhooks = await deliver(t, [{ url: receiver.url }], { retrySeconds: [3600], ...options });
    const ids: string[] = [];
    for (const name of ['0', '1', '2']) ids.push((await write('POST', 'collections/people', { name })).id);
    const all = async () =>
      (await webhooks.deliveries('hook0', { state: 'all', limit: 100, page: 1 }))?.deliveries ?? [];
    await eventually(async () => (await all()).length === 3 && (await all()).every(({ attempts }) => attempts === 1));
    receiver.came.length = 0;
    return { state, receiver, webhooks, ids, all };
  }

  it('gets all that waits, by the first delivery that succeeds', async (t) => {
    const { state, receiver, ids, all } = await waiting(t);
    state.status = 204;
    const { id } = await write('POST', 'collections/people', { name: 'new' });
    await eventually(() => receiver.came.length === 4);
    assert.equal(receiver.came[0]?.body.data.id, id);
    assert.deepEqual(new Set(receiver.came.map(({ body }) => body.data.id)), new Set([id, ...ids]));
    await eventually(async () => (await all()).length === 0);
  });

  it('gets a document that changes again, from its earliest event on, and then the others', async (t) => {
    const { state, receiver, ids } = await waiting(t);
    state.status = 204;
    await write('PATCH', `collections/people/${ids[1]}`, { name: 'changed' });
    await eventually(() => receiver.came.length === 4);
    assert.equal(receiver.came[0]?.body.data.id, ids[1]);
    const own = receiver.came.filter(({ body }) => body.data.id === ids[1]);
    assert.deepEqual(own.map(shown), ['document.created 1', 'document.updated 2']);
  });

  it('gets a document that it refuses not again with each one that it takes, but after ten minutes', async (t) => {
    let time = Date.now();
    const { state, receiver, ids, all } = await waiting(t, { now: () => time });
    state.status = 204;
    state.refused = String(ids[0]);
    await write('POST', 'collections/people', { name: 'first' });
    await eventually(async () => (await all()).length === 1 && (await all())[0]?.attempts === 2);
    for (const name of ['second', 'third']) {
      time += 1000;
      await write('POST', 'collections/people', { name });
      const count = receiver.came.length;
      await eventually(async () => receiver.came.length > count && (await all()).length === 1);
    }
    assert.equal((await all())[0]?.attempts, 2);
    time += 10 * 60 * 1000;
    await write('POST', 'collections/people', { name: 'last' });
    await eventually(async () => (await all())[0]?.attempts === 3);
  });

  it('gets all that waits and all that is parked on request, in order of each document', async (t) => {
    let time = Date.now();
    const { state, receiver, webhooks, ids, all } = await waiting(t, { now: () => time });
    time += 4 * 24 * 60 * 60 * 1000;
    await eventually(async () => (await all()).every((one) => one.state === 'parked'));
    await write('PATCH', `collections/people/${ids[2]}`, { name: 'changed' });
    await eventually(async () => (await all()).length === 4 && (await all())[3]?.attempts === 1);
    assert.equal(await webhooks.retryAll('other'), null);
    receiver.came.length = 0;
    state.status = 204;
    const view = await webhooks.retryAll('hook0');
    assert.deepEqual([view?.waiting, view?.parked], [4, 0]);
    await eventually(async () => (await all()).length === 0);
    const own = receiver.came.filter(({ body }) => body.data.id === ids[2]);
    assert.deepEqual(own.map(shown), ['document.created 1', 'document.updated 2']);
  });
});

describe('webhooks of a configuration that is read again', () => {
  it('go on where they were, and new ones begin there', async (t) => {
    const [former, later] = [await receive(t), await receive(t)];
    const model = modelOf([{ url: former.url }]);
    const options = { model, conditions: await readConditions(model, false), isProduction: false };
    const service = createWebhookService({ ...options, log: silent, now: Date.now });
    t.after(service.close);
    assert.deepEqual(await allOf(service.port), []);
    const { size: _, ...feed } = feedOf();
    service.start({ ...feed, path: join(temporaryFolder(t), 'webhooks.db') });
    const { id } = await write('POST', 'collections/people', { name: 'a' });
    await eventually(() => former.came.length === 1);
    const wrong = modelOf([{ url: later.url, collections: ['people'], where: { nam: { exists: true } } }]);
    await assert.rejects(service.prepare(wrong), /nam.*did you mean "name"/);
    const next = await service.prepare(modelOf([{ url: later.url }, { url: later.url, events: ['document.deleted'] }]));
    await write('PATCH', `collections/people/${id}`, { name: 'b' });
    next.begin();
    await write('DELETE', `collections/people/${id}`);
    await eventually(() => later.came.length >= 2 && former.came.length + later.came.length === 4);
    const told = [...former.came, ...later.came].filter(({ headers }) =>
      String(headers['webhook-id']).endsWith('hook0'),
    );
    assert.deepEqual(told.map(shown), ['document.created 1', 'document.updated 2', 'document.deleted 3']);
    const names = (await allOf(service.port)).map(({ name }) => name);
    assert.deepEqual(names, ['hook0', 'hook1']);
    (await service.prepare(modelOf([]))).begin();
    assert.deepEqual(await allOf(service.port), []);
  });
});

describe('deliveries that wait for hours', () => {
  it('are made by a start, and by a change of the URL, and by no other change', async (t) => {
    const [away, back] = [await receive(t, () => 503), await receive(t)];
    const path = join(temporaryFolder(t), 'webhooks.db');
    const { size: _, ...feed } = feedOf();
    async function start(url: string) {
      const model = modelOf([{ url }]);
      const options = { model, conditions: await readConditions(model, false), isProduction: false };
      const service = createWebhookService({ ...options, log: silent, now: Date.now });
      t.after(service.close);
      service.start({ ...feed, path });
      return service;
    }
    const first = await start(away.url);
    await eventually(async () => (await allOf(first.port)).length === 1);
    const made = (await write('POST', 'collections/people', { name: 'a' })).id;
    await eventually(() => away.came.length === 1);
    await first.close();
    const db = openDatabase(path);
    const rest = () => db.prepare('UPDATE deliveries SET due_at = due_at + 3600000, attempts = 5').run();
    const attempts = () => db.prepare('SELECT attempts FROM deliveries').pluck().get();
    t.after(() => db.close());
    rest();
    const second = await start(away.url);
    await eventually(() => attempts() === 6);
    rest();
    (await second.prepare(modelOf([{ url: away.url, events: ['document.created'] }]))).begin();
    await allOf(second.port);
    await write('PATCH', `collections/people/${made}`, { name: 'b' });
    const other = (await write('POST', 'collections/people', { name: 'c' })).id;
    await eventually(() => away.came.some(({ body }) => body.data.id === other));
    assert.equal(db.prepare('SELECT attempts FROM deliveries ORDER BY position').pluck().get(), 5);
    (await second.prepare(modelOf([{ url: back.url, events: ['document.created'] }]))).begin();
    await eventually(() => back.came.length === 2);
    assert.deepEqual(new Set(back.came.map(({ body }) => body.data.id)), new Set([made, other]));
  });
});

describe('the code that the documentation shows', () => {
  it('takes the messages of Annals and no others', async (t) => {
    const receiver = await receive(t);
    await deliver(t, [{ url: receiver.url }]);
    const { id } = await write('POST', 'collections/people', { name: 'a' });
    await eventually(() => receiver.came.length === 1);
    const [{ headers, text } = assert.fail('nothing came')] = receiver.came;
    const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
    const file = join(temporaryFolder(t), 'annals.ts');
    writeFileSync(file, /^```ts verify\n(.*?)^```$/ms.exec(page)?.[1] ?? '');
    const { messageOf } = await import(file);
    const takes = (change: Record<string, string> = {}, body = text) => {
      const sent = { ...(headers as Record<string, string>), ...change };
      return messageOf(new Request('http://x.example', { method: 'POST', headers: sent, body }), secret);
    };
    assert.equal((await takes()).data.id, id);
    assert.equal((await takes({ 'webhook-signature': `v1,AAAA ${headers['webhook-signature']}` })).data.id, id);
    assert.equal(await takes({}, text.replace('created', 'updated')), null);
    assert.equal(await takes({ 'webhook-id': 'other' }), null);
    assert.equal(await takes({ 'webhook-signature': 'v1,AAAA' }), null);
    assert.equal(await takes({ 'webhook-timestamp': '1' }), null);
    assert.equal(await takes({ 'webhook-timestamp': 'x' }), null);
  });
});

describe('an address that is not public', () => {
  it('is refused, whatever it is written as, unless the webhook allows it', async (t) => {
    const receiver = await receive(t);
    const hosts = ['localhost', '127.0.0.1', '2130706433', '0x7f.1', '0.0.0.0', '[::1]', '[::ffff:127.0.0.1]', '[::]'];
    const webhooks = await deliver(
      t,
      hosts.map((host) => ({ url: `http://${host}:${receiver.port}/`, allowPrivate: false })),
      { retrySeconds: [60] },
    );
    await write('POST', 'collections/people', { name: 'a' });
    const errorOf = async (name: string) =>
      (await webhooks.deliveries(name, { state: 'all', limit: 1, page: 1 }))?.deliveries[0]?.error ?? null;
    for (const [index, host] of hosts.entries()) {
      await eventually(async () => (await errorOf(`hook${index}`)) !== null);
      assert.equal(await errorOf(`hook${index}`), 'its address is not a public one', host);
    }
    assert.equal(receiver.came.length, 0);
  });
});

describe('the routes of webhooks', () => {
  it('show deliveries and no secret, make them again, and are for those who manage API keys', async (t) => {
    const receiver = await receive(t);
    const url = `http://127.0.0.1:${receiver.port}/hush`;
    const service = await startHere(t, { ...schema, webhooks: [{ name: 'front', url, secret, globals: ['site'] }] });
    await service.call('PATCH', '/api/globals/site', { title: 'a' });
    const path = '/api/webhooks/front/deliveries';
    const list = async () => (await service.call('GET', path)).body;
    await eventually(async () => (await list()).docs[0]?.attempts === 1);
    const { docs, total, limit } = await list();
    assert.deepEqual(
      [total, limit, docs[0].state, docs[0].error],
      [1, 10, 'waiting', 'its address is not a public one'],
    );
    assert.ok(Date.parse(docs[0].nextAttemptAt) - Date.parse(docs[0].lastAttemptAt) >= 5000);
    assert.ok(Date.parse(docs[0].nextAttemptAt) - Date.parse(docs[0].lastAttemptAt) <= 30_000);
    const { docs: webhooks } = (await service.call('GET', '/api/webhooks')).body;
    const { position, ...view } = webhooks[0];
    assert.ok(position > 0);
    assert.deepEqual(view, {
      name: 'front',
      origin: new URL(url).origin,
      collections: [],
      globals: ['site'],
      events: everyEvent,
      waiting: 1,
      parked: 0,
      lastDeliveredAt: null,
    });
    const again = await service.call('POST', `${path}/${docs[0].id}/retry`);
    assert.deepEqual([again.status, again.body.id], [200, docs[0].id]);
    await eventually(async () => (await list()).docs[0]?.attempts === 2);
    const all = await service.call('POST', '/api/webhooks/front/retry');
    assert.deepEqual([all.status, all.body.name, all.body.waiting], [200, 'front', 1]);
    await eventually(async () => (await list()).docs[0]?.attempts === 3);
    assert.equal((await service.call('GET', `${path}?state=parked`)).body.total, 0);
    const refusals = [
      ['GET', `${path}?state=prked`, 400, /state must be one of "all", "waiting", "parked".*did you mean "parked"/],
      ['GET', '/api/webhooks?pag=1', 400, /pag is not a query parameter; did you mean "page"/],
      ['GET', '/api/webhooks/frnt/deliveries', 404, /there is no webhook "frnt"; did you mean "front"\?/],
      ['POST', '/api/webhooks/frnt/retry', 404, /there is no webhook "frnt"; did you mean "front"\?/],
      ['POST', '/api/webhooks/front/retry?state=parked', 400, /state is not a query parameter/],
      ['POST', `${path}/x/retry`, 404, /there is no delivery "x"/],
    ] as const;
    for (const [method, address, status, message] of refusals) {
      const answer = await service.call(method, address);
      assert.equal(answer.status, status);
      assert.match(JSON.stringify(answer.body.errors ?? answer.body.message).replaceAll('\\"', '"'), message);
    }
    const made = (await service.call('POST', '/api/keys', { name: 'a key' })).body;
    for (const [method, address] of [
      ['GET', '/api/webhooks'],
      ['GET', path],
      ['POST', '/api/webhooks/front/retry'],
      ['POST', `${path}/${docs[0].id}/retry`],
    ] as const) {
      assert.equal((await service.call(method, address, undefined, { key: null })).status, 401);
      assert.equal((await service.call(method, address, undefined, { key: made.secret })).status, 403);
    }
    assert.doesNotMatch(JSON.stringify(webhooks) + JSON.stringify(docs) + service.output().stderr, /hush|whsec/);
    assert.equal(receiver.came.length, 0);
  });
});

describe('webhooks in the configuration', () => {
  const right = { name: 'front', url: 'https://example.org/hush', secret };

  async function problemsOf(hooks: unknown, isProduction = false): Promise<string[]> {
    try {
      await readConditions(checkConfig({ ...schema, webhooks: hooks }), isProduction);
    } catch (error) {
      assert.ok(error instanceof ConfigError);
      assert.doesNotMatch(error.message, /hush/);
      return error.problems.map(({ path, message }) => `${path}: ${message}`);
    }
    return [];
  }

  it('are told of everything by default', () => {
    const [webhook] = checkConfig({ ...schema, webhooks: [right] }).webhooks;
    const { url, secret, ...rest } = webhook as Webhook;
    assert.deepEqual(rest, {
      name: 'front',
      collections: '*',
      globals: '*',
      events: everyEvent,
      where: null,
      allowPrivate: false,
    });
  });

  it('are refused with every problem, which shows no URL and no secret', async () => {
    const words = 'be "whsec_" and 24 to 64 random bytes in base64, as openssl rand -base64 32 makes them';
    const allowed = `; allowed: ${webhookEvents.map((event) => JSON.stringify(event)).join(', ')}`;
    assert.deepEqual(await problemsOf({}), ['webhooks: must be a list, got an object']);
    assert.deepEqual(
      await problemsOf([
        { nam: 'x' },
        { ...right, url: 'https://ada:hush@example.org', secret: 'whsec_hush', allowPrivate: 'yes' },
        { ...right, name: 'Front', url: 'ftp://hush', where: 5 },
        { ...right, name: 'a.b', collections: ['post', 'posts', 'posts'], globals: [], events: ['document.create'] },
      ]),
      [
        'webhooks.0.nam: is not a key of a webhook; did you mean "name"?',
        'webhooks.0.name: is missing',
        'webhooks.0.url: is missing',
        'webhooks.0.secret: is missing',
        'webhooks.front.url: must be an http or https URL without a user name, password or fragment',
        `webhooks.front.secret: must ${words}`,
        'webhooks.front.allowPrivate: must be true or false, got "yes"',
        'webhooks.Front.name: "Front" differs from "front" only by case',
        'webhooks.Front.url: must be an http or https URL without a user name, password or fragment',
        'webhooks.Front.where: must be an object, got 5',
        'webhooks."a.b".name: must be 1 to 64 letters, digits, "_" and "-", and begin with a letter or a digit, got "a.b"',
        'webhooks."a.b".collections.0: "post" is not a collection; did you mean "posts"?; allowed: "__admins", "posts", "people"',
        'webhooks."a.b".collections.2: "posts" is listed twice',
        'webhooks."a.b".globals: must not be empty: leave it out',
        `webhooks."a.b".events.0: "document.create" is not an event of webhooks; did you mean "document.created"?${allowed}`,
      ],
    );
  });

  it('are refused with the words that events had before, each with the word to write', async () => {
    const problems = await problemsOf([{ ...right, events: ['created', 'updated', 'deleted', 'restored'] }]);
    assert.deepEqual(
      problems.map((problem) => problem.replace(/; allowed: .*$/, '')),
      [
        'webhooks.front.events.0: "created" is not an event of webhooks; write "document.created"',
        'webhooks.front.events.1: "updated" is not an event of webhooks; write "document.updated" for documents, "global.updated" for globals',
        'webhooks.front.events.2: "deleted" is not an event of webhooks; write "document.deleted", and "document.erased" for erased documents',
        'webhooks.front.events.3: "restored" is not an event of webhooks; write "document.restored" for documents, "global.restored" for globals',
      ],
    );
  });

  it('are refused with a condition that does not fit, and without https in production', async () => {
    const where = { titel: { equals: 'x' } };
    assert.deepEqual(await problemsOf([{ ...right, collections: ['posts'], where }]), [
      'webhooks.front.where: in posts: where[titel]: "titel" is not a field to filter or sort by; did you mean "title"?; ' +
        'allowed: "id", "createdAt", "updatedAt", "title", "status", "author"',
    ]);
    assert.deepEqual(await problemsOf([{ ...right, url: 'http://example.org/hush' }]), []);
    assert.deepEqual(await problemsOf([{ ...right, url: 'http://example.org/hush' }], true), [
      'webhooks.front.url: must be https in production',
    ]);
  });
});
