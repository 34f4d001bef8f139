import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { after, before, describe, it, type TestContext } from 'node:test';
import Boom from '@hapi/boom';
import Hapi from '@hapi/hapi';
import Database from 'better-sqlite3';
import express, { type ErrorRequestHandler } from 'express';
import type { Config } from '../../config/define.ts';
import { annals, mount, type ServiceOptions } from '../../server/index.ts';
import { quietOptions, startHere } from '../helpers/embedded.ts';
import { runHere } from '../helpers/in-process.ts';
import { assertRecorded } from '../helpers/recorded.ts';
import { apiKey, callerOf, type Service, temporaryFolder, writeConfig } from '../helpers/service.ts';
import { dial, eventually, received, sendRaw } from '../helpers/shared.ts';
import { assertEnds } from './host-script.ts';

const password = 'correct horse battery';

/** A mail of the test: its transport keeps it. */
type Kept = { to: { address: string }; text: string };

function configWith(mails: Kept[]): Config {
  const transport = {
    name: 'kept',
    version: '1',
    send({ data }: { data: Kept }, done: (error: null, info: object) => void) {
      mails.push(data);
      done(null, {});
    },
  };
  return {
    publicSchema: true,
    cors: ['https://app.example.org'],
    bcryptCost: 4,
    email: { from: 'cms@example.org', transport },
    collections: [
      { slug: 'posts', fields: [{ name: 'title', type: 'text', required: true }], access: { read: () => true } },
      { slug: 'pictures', upload: true, fields: [{ name: 'alt', type: 'text' }] },
      { slug: 'editors', auth: { useAPIKey: true }, fields: [] },
    ],
  };
}

/** A server that somebody has, with our service under `/cms`, and what there is to know of it. */
type Host = Pick<Service, 'call' | 'data'> & { origin: string; url: string; mails: Kept[]; close: () => Promise<void> };

/** The hook after all tests of a `describe`, instead of after one. */
function useUndoing(): TestContext {
  const undo: (() => unknown)[] = [];
  after(async () => {
    for (const run of undo.reverse()) await run();
  });
  return { after: (run: () => unknown) => undo.push(run) } as unknown as TestContext;
}

async function listen(listener: RequestListener): Promise<{ origin: string; end: () => void }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = () => {
    server.close();
    server.closeAllConnections();
  };
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, end };
}

type PlainHost = Host & { lines: { path?: string; ip?: string }[]; answer: RequestListener };

/** A server of `node:http` with a path of its own. */
async function plainHost(t: TestContext): Promise<PlainHost> {
  const mails: Kept[] = [];
  const answer: RequestListener = (request, response) => {
    cms.handler(request, response, () => {
      response.statusCode = request.url === '/' ? 200 : 404;
      response.end(`the host has ${request.url}`);
    });
    // Like a host that gives its own answer if the service takes too long.
    if (request.headers['x-impatient']) response.writeHead(503).end('the host waits no longer');
    if (request.headers['x-twice']) cms.handler(request, response);
  };
  const { origin, end } = await listen(answer);
  const url = `${origin}/cms`;
  const { options, lines } = quietOptions(t, configWith(mails), url);
  const cms = mount(options);
  const close = () => cms.close().then(end);
  t.after(close);
  await cms.ready;
  const { data } = options;
  return { origin, url, data, mails, lines, answer, call: callerOf(url, data), close };
}

/** An Express application with a parser of bodies behind the service, and an error page of its own. */
async function expressHost(t: TestContext): Promise<Host> {
  const mails: Kept[] = [];
  const application = express();
  const { origin, end } = await listen(application);
  const url = `${origin}/cms`;
  const { options } = quietOptions(t, configWith(mails), url);
  const cms = mount(options);
  application.use('/cms', cms.handler);
  application.use('/late', express.json(), cms.handler);
  application.use(express.json());
  application.post('/echo', (request, response) => void response.json(request.body));
  application.use((request, response) => void response.status(404).send(`the host has no ${request.path}`));
  application.use(((error, _request, response, _next) => {
    response.status(500).send(`the host: ${error.message}`);
  }) satisfies ErrorRequestHandler);
  const close = () => cms.close().then(end);
  t.after(close);
  await cms.ready;
  const { data } = options;
  return { origin, url, data, mails, call: callerOf(url, data), close };
}

type HapiHost = Host & { server: Hapi.Server; answered: string[] };

/** A hapi server that has set everything its own way. */
async function hapiHost(t: TestContext): Promise<HapiHost> {
  const mails: Kept[] = [];
  const answered: string[] = [];
  const server = Hapi.server({
    port: 0,
    host: '127.0.0.1',
    query: { parser: (query) => ({ parsed: JSON.stringify(query) }) },
    router: { isCaseSensitive: false, stripTrailingSlash: true },
    routes: {
      cors: { origin: ['https://host.example.org'] },
      payload: { maxBytes: 20, allow: 'text/plain' },
      timeout: { server: 5000 },
      response: { emptyStatusCode: 200 },
      json: { space: 2 },
      cache: { expiresIn: 60_000 },
    },
    debug: false,
  });
  server.auth.scheme('session', () => ({
    authenticate: ({ headers }, h) => {
      if (headers.session !== 'yes') throw Boom.unauthorized(null, 'session');
      return h.authenticated({ credentials: {} });
    },
  }));
  server.auth.strategy('annals', 'session');
  server.auth.default('annals');
  server.route({ method: 'GET', path: '/own', handler: ({ query }) => ({ query }) });
  server.route({ method: 'POST', path: '/own', handler: ({ payload }) => ({ payload }) });
  server.ext('onRequest', (request, h) => {
    if (request.path === '/old-posts') request.setUrl('/cms/api/collections/posts?limit=1');
    return h.continue;
  });
  server.ext('onPreResponse', ({ response }, h) => {
    if (!(response instanceof Error)) return h.continue;
    return h.response(`the host: ${response.message}`).code(response.output.statusCode);
  });
  server.events.on('response', ({ path, raw }) => void answered.push(`${path} ${raw.res.statusCode}`));
  await server.start();
  const origin = `http://127.0.0.1:${server.info.port}`;
  const url = `${origin}/cms`;
  const routes = { prefix: '/cms' };
  const { options } = quietOptions(t, configWith(mails), url);
  await server.register({ plugin: annals, options, routes });
  const { data } = options;
  const close = () => server.stop({ timeout: 1000 });
  t.after(close);
  return { server, answered, origin, url, data, mails, call: callerOf(url, data), close };
}

/** The rules wherever the service is mounted. */
function answersAsAlone(useHost: () => Host): void {
  const bytes = Buffer.alloc(3_000_000, 'abcdefgh');
  const call: Host['call'] = (...args) => useHost().call(...args);
  const anonymous = { key: null };

  it('reads with where in bracket form, and writes', async () => {
    const create = () => call('POST', '/api/collections/posts', { title: 'A/B & c' });
    const created = await assertRecorded(useHost(), create, ['document.created']);
    assert.equal(created.status, 201, JSON.stringify(created.body));
    await call('POST', '/api/collections/posts', { title: 'other' });
    const where = `where[title][equals]=${encodeURIComponent('A/B & c')}&where[or][0][title][exists]=true`;
    const { status, body } = await call('GET', `/api/collections/posts?${where}`, undefined, anonymous);
    assert.deepEqual([status, body.total, body.docs[0].id], [200, 1, created.body.id]);
    const refused = await call('POST', '/api/collections/posts', {}, { key: apiKey });
    assert.deepEqual([refused.status, refused.body.errors[0].field], [400, 'title']);
    assert.equal((await call('POST', '/api/collections/posts', { title: 'x' }, anonymous)).status, 401);
    const wrong = await call('GET', '/api/collections/posts?limit=x');
    assert.deepEqual([wrong.status, wrong.body.statusCode, wrong.body.errors[0].field], [400, 400, 'limit']);
  });

  it('logs in with a cookie for its own path, which counts beside cookies of whatever form', async () => {
    await call('POST', '/api/collections/editors', { email: 'ada@example.org', password });
    const login = { email: 'ada@example.org', password };
    const { status, headers } = await assertRecorded(
      useHost(),
      () => call('POST', '/api/collections/editors/login', login, anonymous),
      ['login.succeeded', 'session.started'],
    );
    assert.equal(status, 200);
    const cookie = headers.get('set-cookie') ?? '';
    assert.match(cookie, /; Path=\/cms$|; Path=\/cms;/);
    const sent = { cookie: `bad cookie="; ${cookie.split(';')[0]}; other={"a":1}` };
    const me = await call('GET', '/api/collections/editors/me', undefined, { ...anonymous, headers: sent });
    assert.deepEqual([me.status, me.body.email], [200, 'ada@example.org']);
  });

  it('takes files and gives them', async () => {
    const form = new FormData();
    form.append('file', new Blob([bytes]), 'letters.txt');
    const url = `${useHost().url}/api/collections/pictures`;
    const response = await fetch(url, { method: 'POST', headers: { 'x-api-key': apiKey }, body: form });
    const document = (await response.json()) as { url: string };
    assert.equal(response.status, 201, JSON.stringify(document));
    const file = await fetch(`${useHost().origin}${document.url}`, {
      headers: { 'x-api-key': apiKey, range: 'bytes=2-5' },
    });
    assert.equal(file.status, 206);
    assert.deepEqual(Buffer.from(await file.arrayBuffer()), bytes.subarray(2, 6));
    const climbing = await sendRaw(
      useHost().origin,
      `GET /cms/api/media/pictures/../../health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
    );
    assert.equal(climbing.status, 404);
  });

  it('lets pages of those origins in that it lists itself, and of no others', async () => {
    for (const [origin, allowed] of [
      ['https://app.example.org', 'https://app.example.org'],
      ['https://host.example.org', null],
    ] as const) {
      const asked = { origin, 'access-control-request-method': 'POST' };
      const preflight = await call('OPTIONS', '/api/collections/posts', undefined, { ...anonymous, headers: asked });
      const answer = await call('GET', '/api/collections/posts', undefined, { ...anonymous, headers: { origin } });
      assert.deepEqual([preflight.status, answer.status], [204, 200]);
      for (const { headers } of [preflight, answer]) assert.equal(headers.get('access-control-allow-origin'), allowed);
    }
  });

  it('answers what is not there as the contract has it', async () => {
    for (const path of ['/api/collections/nothing', '/elsewhere', '']) {
      const { status, body, headers } = await call('GET', path);
      const message = `there is no GET ${path || '/'}`;
      assert.deepEqual(
        [status, body],
        [404, { statusCode: 404, error: 'Not Found', code: 'route_not_found', message }],
      );
      assert.match(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/);
    }
  });

  it('describes itself under its address, with all that its page needs', async () => {
    const { status, body } = await call('GET', '/api/openapi.json', undefined, anonymous);
    assert.deepEqual([status, body.servers], [200, [{ url: '/cms' }]]);
    const page = await fetch(`${useHost().url}/api/docs`);
    assert.equal(page.status, 200);
    for (const [, script] of (await page.text()).matchAll(/src="([^"]+)"/g))
      assert.equal((await fetch(new URL(String(script), page.url))).status, 200);
  });

  it('sends mail whose link leads to it', async () => {
    await call('POST', '/api/collections/editors', { email: 'bob@example.org', password });
    await call('POST', '/api/collections/editors/forgot-password', { email: 'bob@example.org' }, anonymous);
    const mail = await eventually(() => useHost().mails.find(({ to }) => to.address === 'bob@example.org'));
    const link = /http\S+/.exec(mail.text)?.[0] ?? '';
    assert.ok(link.startsWith(`${useHost().url}/admin/reset?token=`), link);
    assert.equal((await fetch(link)).status, 200);
  });

  it('tells a client that waits for it to go on, once, and only if its body is wanted', async () => {
    const head = (key: string, length: number) =>
      `POST /cms/api/collections/posts HTTP/1.1\r\nhost: x\r\nx-api-key: ${key}\r\ncontent-type: application/json\r\n` +
      `expect: 100-continue\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`;
    const body = '{"title":"waited"}';
    const socket = dial(useHost().origin, head(apiKey, body.length));
    const seen = received(socket);
    await eventually(() => seen().includes('100 Continue'));
    socket.write(body);
    await eventually(() => seen().includes('201 Created'));
    assert.equal(seen().match(/100 Continue/g)?.length, 1);
    socket.destroy();
  });

  it('outlives a client that goes away', async () => {
    const head = `POST /cms/api/collections/posts HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\n`;
    const socket = dial(useHost().origin, `${head}content-type: application/json\r\ncontent-length: 100\r\n\r\n{"ti`);
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.destroy();
    assert.equal((await call('GET', '/health')).status, 200);
  });

  /** The last one. */
  it('ends with its server, and ends the feeds that are listened to; a request in hand is finished', async () => {
    const body = '{"title":"late"}';
    const head =
      `POST /cms/api/collections/posts HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n` +
      `expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`;
    const socket = dial(useHost().origin, head);
    const seen = received(socket);
    await eventually(() => seen().includes('100 Continue'));
    const feed = await fetch(`${useHost().url}/api/audit/feed`, {
      headers: { 'x-api-key': apiKey, accept: 'text/event-stream' },
    });
    assert.equal(feed.status, 200);
    const heard = text(feed.body as unknown as IncomingMessage);
    const closed = useHost().close();
    socket.write(body);
    await Promise.all([closed, eventually(() => seen().includes('201 Created'))]);
    socket.destroy();
    assert.match(await heard, /^retry: 1000\nid: \d+\n/);
  });
}

describe('Inside of a hapi server', () => {
  let host: HapiHost;
  const undoing = useUndoing();
  before(async () => {
    host = await hapiHost(undoing);
  });

  it('leaves authentication, the parsers and the errors of the server as they are', async () => {
    const own = (init?: RequestInit, path = '/own?where[a]=b') => fetch(host.origin + path, init);
    const anonymous = await own();
    assert.deepEqual([anonymous.status, await anonymous.text()], [401, 'the host: Missing authentication']);
    const headers = { session: 'yes', 'content-type': 'text/plain' };
    const read = await own({ headers });
    assert.deepEqual(await read.json(), { query: { parsed: '{"where[a]":"b"}' } });
    assert.equal(read.headers.get('cache-control'), 'max-age=60, must-revalidate, private');
    assert.equal((await own({ headers: { ...headers, cookie: 'bad cookie=' } })).status, 400);
    assert.equal((await own({ method: 'POST', headers, body: 'x'.repeat(21) })).status, 413);
    const missing = await own({ headers }, '/api/collections/posts');
    assert.deepEqual([missing.status, await missing.text()], [404, 'the host: Not Found']);
    assert.equal(missing.headers.get('x-request-id'), null);
  });

  it('has nothing of the CORS of the server', async () => {
    const origin = 'https://host.example.org';
    const headers = { origin, 'access-control-request-method': 'GET' };
    for (const [method, path, allowed, isOurs] of [
      ['OPTIONS', '/own', origin, false],
      ['OPTIONS', '/cms/api/collections/posts', null, true],
      ['GET', '/cms/api/collections/posts', null, true],
    ] as const) {
      const answer = await fetch(host.origin + path, { method, headers });
      const seen = [answer.headers.get('access-control-allow-origin'), answer.headers.has('x-request-id')];
      assert.deepEqual(seen, [allowed, isOurs], `${method} ${path}`);
    }
  });

  answersAsAlone(() => host);

  it('is in the table of routes by its prefix alone, and tells its server how it answered', async () => {
    const paths = host.server.table().map(({ method, path }) => `${method} ${path}`);
    assert.deepEqual(paths.sort(), ['* /cms/{any*}', 'get /own', 'options /cms/{any*}', 'post /own']);
    assert.ok(host.answered.includes('/cms/api/collections/posts 201'), host.answered.join('\n'));
    assert.ok(host.answered.includes('/cms/elsewhere 404'));
  });
});

describe('Inside of a hapi server that others share', () => {
  const tiny = { collections: [{ slug: 'notes', fields: [{ name: 'text', type: 'text' }] }] } satisfies Config;
  const at = (prefix: string) => ({ baseUrl: `https://example.org${prefix}`, routes: { prefix } });

  it('may be there several times, in requests that the server makes up or changes too', async (t) => {
    const server = Hapi.server({ debug: false, router: { isCaseSensitive: false, stripTrailingSlash: true } });
    for (const prefix of ['/one', '/deep/two']) {
      const { baseUrl, routes } = at(prefix);
      const { options } = quietOptions(t, tiny, baseUrl);
      await server.register({ plugin: annals, options: { ...options, apiKeys: [`${prefix}-key`] }, routes });
    }
    server.ext('onRequest', (request, h) => {
      if (request.path === '/short') request.setUrl('/one/api/collections/notes?limit=3');
      return h.continue;
    });
    await server.initialize();
    const inject = (method: string, url: string, key: string, payload?: object) =>
      server.inject({ method, url, headers: { 'x-api-key': key }, ...(payload ? { payload } : {}) });

    const created = await inject('POST', '/one/api/collections/notes', '/one-key', { text: 'first' });
    assert.equal(created.statusCode, 201, created.payload);
    assert.equal(JSON.parse(created.payload).text, 'first');
    for (const [url, key, status, total] of [
      ['/one/api/collections/notes', '/one-key', 200, 1],
      ['/ONE/api/collections/notes/', '/one-key', 200, 1],
      ['/%6Fne/api/collections/notes?limit=1', '/one-key', 200, 1],
      ['/deep/two/api/collections/notes', '/deep/two-key', 200, 0],
      ['/deep/two/api/collections/notes', '/one-key', 401],
      ['/one/api/collections/notes', '/deep/two-key', 401],
    ] as const) {
      const { statusCode, payload } = await inject('GET', url, key);
      assert.deepEqual([statusCode, JSON.parse(payload).total], [status, total], url);
    }
    assert.equal(JSON.parse((await inject('GET', '/short', '/one-key')).payload).limit, 3);
    assert.deepEqual(server.plugins.annals, {
      '/one': { adminUrl: 'https://example.org/one/admin', apiKey: null, setupUrl: null, mailUrl: null },
      '/deep/two': { adminUrl: 'https://example.org/deep/two/admin', apiKey: null, setupUrl: null, mailUrl: null },
    });
    await server.stop();
    assert.equal((await inject('GET', '/one/health', '/one-key')).statusCode, 503);
  });

  it('is refused if its address does not end with its prefix, or its options are not right', async (t) => {
    const server = Hapi.server({ debug: false });
    const { options } = quietOptions(t, tiny, 'https://example.org/other');
    const register = (more: object, routes = { prefix: '/cms' }) =>
      server.register({ plugin: annals, options: { ...options, ...more } as ServiceOptions, routes });
    await assert.rejects(register({}), {
      message:
        'options.baseUrl must end with the prefix of the routes, /cms, got https://example.org/other; ' +
        'where a proxy changes the path, say in options.path which one comes here',
    });
    await assert.rejects(register({ path: '/cms', config: { collections: [{ slug: 'A b', fields: [] }] } }), {
      name: 'ConfigError',
    });
    assert.deepEqual(server.table(), []);
    server.route({ method: '*', path: '/other/{any*}', handler: () => 'taken', options: { auth: false } });
    await assert.rejects(register({}, { prefix: '/other' }), /conflicts with existing/);
    // The refused registration has released the directory.
    await register({ path: '/third' }, { prefix: '/third' });
    await server.stop();
  });

  it('has at the root of a server no more than its own paths', async (t) => {
    const server = Hapi.server({ debug: false });
    const { options } = quietOptions(t, tiny, 'https://example.org');
    await server.register({ plugin: annals, options });
    const own = ['/health', '/api/collections/notes', '/account/x', '/admin/assets/x'];
    const statuses = [...own, '/', '/healthy', '/administrators', '/other'].map(async (url) => {
      const { statusCode, headers } = await server.inject(url);
      return [statusCode, headers['x-request-id'] !== undefined];
    });
    assert.deepEqual(await Promise.all(statuses), [
      [200, true],
      [401, true],
      [404, true],
      [404, true],
      [404, false],
      [404, false],
      [404, false],
      [404, false],
    ]);
    await server.stop();
  });

  it('leaves /admin to the server at its root if the admin application is turned off', async (t) => {
    const server = Hapi.server({ debug: false });
    server.route({ method: 'GET', path: '/admin/{any*}', handler: () => 'of the server' });
    const { options } = quietOptions(t, { ...tiny, admin: false }, 'https://example.org');
    await server.register({ plugin: annals, options });
    assert.equal((await server.inject('/admin/x')).payload, 'of the server');
    await server.stop();

    const { options: plain } = quietOptions(t, { ...tiny, admin: false }, 'https://example.org');
    const cms = mount(plain);
    const { origin, end } = await listen((request, response) => {
      cms.handler(request, response, () => response.end('of the server'));
    });
    await cms.ready;
    const texts = ['/admin', '/health'].map(async (path) => (await fetch(origin + path)).text());
    assert.deepEqual(await Promise.all(texts), ['of the server', '{"status":"ok"}']);
    end();
    await cms.close();
  });
});

describe('Inside of an Express application', () => {
  let host: Host;
  const undoing = useUndoing();
  before(async () => {
    host = await expressHost(undoing);
  });

  it('leaves the routes, the parsers and the errors of the application as they are', async () => {
    const headers = { 'content-type': 'application/json' };
    const echo = (body: string) => fetch(`${host.origin}/echo`, { method: 'POST', headers, body });
    assert.deepEqual(await (await echo('{"a":1}')).json(), { a: 1 });
    assert.match(await (await echo('{')).text(), /^the host: /);
    const missing = await fetch(`${host.origin}/api/collections/posts`);
    assert.deepEqual([missing.status, await missing.text()], [404, 'the host has no /api/collections/posts']);
  });

  it('says what is wrong when a body was parsed before', async () => {
    const { status, body } = await callerOf(`${host.origin}/late`)('POST', '/api/collections/posts', { title: 'x' });
    assert.deepEqual([status, body.error], [500, 'Internal Server Error']);
  });

  answersAsAlone(() => host);
});

describe('Inside of a server of node:http', () => {
  let host: PlainHost;
  const undoing = useUndoing();
  before(async () => {
    host = await plainHost(undoing);
  });

  it('leaves what is not below its path to the server', async () => {
    for (const [path, status] of [
      ['/', 200],
      ['/cmsx/api/docs', 404],
      ['/api/docs', 404],
    ] as const) {
      const answer = await fetch(host.origin + path);
      assert.deepEqual([answer.status, await answer.text()], [status, `the host has ${path}`]);
    }
  });

  it('leaves a request to the handler that answers it meanwhile, and answers once what comes twice', async () => {
    const refused = '/api/collections/posts/missing';
    for (const path of ['/api/schemas', refused]) {
      const isTold = () => host.lines.some((line) => line.path === path);
      // A request that waits for its turn has not begun when the host answers, and then never does: so another request
      // comes in between.
      for (let tries = 0; tries < 50 && !isTold(); tries += 1) {
        await fetch(`${host.url}/health`);
        const answer = await fetch(host.url + path, { headers: { 'x-impatient': 'yes' } });
        assert.deepEqual([answer.status, await answer.text()], [503, 'the host waits no longer']);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      // An uncaught error of hapi keeps it from telling that it is done.
      await eventually(isTold);
    }
    assert.equal((await fetch(host.url + refused, { headers: { 'x-twice': 'yes' } })).status, 404);
    assert.equal(host.lines.filter((line) => line.path === refused).length, 2);
  });

  it('answers over a Unix socket, where clients have no address', async (t) => {
    const socketPath = join(temporaryFolder(t), 's');
    const server = createServer(host.answer).listen(socketPath);
    t.after(() => server.close());
    await once(server, 'listening');
    const post = async (path: string, body: object, headers = {}) => {
      const options = { socketPath, path: `/cms${path}`, method: 'POST', agent: false };
      const asked = request({ ...options, headers: { 'content-type': 'application/json', ...headers } });
      const [answer]: IncomingMessage[] = await once(asked.end(JSON.stringify(body)), 'response');
      return { status: answer?.statusCode, body: (await json(answer as IncomingMessage)) as { id: string } };
    };
    const login = await post('/api/collections/editors/login', { email: 'unknown@example.org', password });
    assert.equal(login.status, 401);
    const { status, body } = await post('/api/collections/posts', { title: 'x' }, { 'x-api-key': apiKey });
    assert.equal(status, 201);
    const { body: read } = await host.call('GET', `/api/audit/documents/posts/${body.id}/versions/1`);
    assert.equal('ip' in read.event.context, false);
  });

  answersAsAlone(() => host);
});

describe('mount', () => {
  const config = {
    publicSchema: true,
    collections: [{ slug: 'posts', fields: [{ name: 'title', type: 'text' }], access: { read: () => true } }],
  } satisfies Config;

  it('names every option that is missing, unknown or wrong, and shows no secret', () => {
    const options = {
      config: 3,
      baseurl: 'https://example.org',
      apiKeys: 'sesame',
      secrets: [],
      path: 'cms',
      logLevel: 'loud',
      logger: 'stderr',
      bucket: { endpoint: 'https://key:sesame@s3.example.org', nam: 'x' },
    };
    assert.throws(
      () => mount(options as unknown as ServiceOptions),
      (error: Error) => {
        assert.equal(error.name, 'UsageError');
        assert.doesNotMatch(error.message, /sesame/);
        assert.deepEqual(
          error.message.split('\n').map((line) => line.split(' ')[0]),
          [
            'options',
            'options.data',
            'options.baseUrl',
            'options.config',
            'options.apiKeys',
            'options.secrets',
            'options.logLevel',
            'options.bucket',
            'options.bucket.endpoint',
            'options.bucket.name',
            'options.bucket.accessKey',
            'options.bucket.secretKey',
            'options.logger',
            'options.path',
          ],
        );
        assert.match(error.message, /unknown key "baseurl"; did you mean "baseUrl"\?/);
        return true;
      },
    );
  });

  it('answers also if its logger fails', async (t) => {
    const warnings: string[] = [];
    const warn = ({ message }: Error) => void warnings.push(message);
    process.on('warning', warn);
    t.after(() => process.off('warning', warn));
    for (const write of [
      () => {
        throw new Error('full');
      },
      () => Promise.reject(new Error('full')),
    ]) {
      const { options } = quietOptions(t, config, 'http://127.0.0.1/cms');
      // Errors of the configuration are logged at once.
      const cms = mount({ ...options, config: '/nowhere/annals.config.ts', logger: { write } });
      await assert.rejects(cms.ready, /there is no configuration/);
      await cms.close();
    }
    await eventually(() => warnings.length === 2);
    assert.deepEqual(warnings, Array(2).fill('the logger that was given to Annals failed: Error: full'));
  });

  it('answers 503 until it is ready, and refuses a directory that somebody has', async (t) => {
    // A proxy that cuts off the path of the address.
    const { options: given, lines } = quietOptions(t, config, 'https://example.org/cms/');
    const options = { ...given, path: '/' };
    const first = mount(options);
    const { origin, end } = await listen(first.handler);
    t.after(end);
    const early = await fetch(`${origin}/api/docs`);
    assert.deepEqual(
      [early.status, early.headers.get('retry-after'), await early.json()],
      [
        503,
        '5',
        { statusCode: 503, error: 'Service Unavailable', code: 'unavailable', message: 'the service is starting' },
      ],
    );
    await first.ready;
    const described = await fetch(`${origin}/api/openapi.json`);
    assert.deepEqual(((await described.json()) as { servers: object }).servers, [{ url: '/cms' }]);
    const second = mount(options);
    await assert.rejects(second.ready, /is in use by Annals inside of another server, process \d+ .*\(http:\/\/127/);
    await second.close();
    assert.equal(lines.filter(({ level }) => level === 60).length, 1);
    await first.close();
    // A caller that closes it before it is ready is not left waiting.
    const third = mount(options);
    await Promise.all([third.close(), assert.rejects(third.ready, { message: 'the service was closed' })]);
    await mount(options).close();
  });

  it('is found by commands', async (t) => {
    const users = { bcryptCost: 4, collections: [{ slug: 'users', auth: true as const, fields: [] }] };
    const { url, data, call } = await startHere(t, users, { path: '/cms' });
    const file = writeConfig(temporaryFolder(t), users);
    const command = ['create-user', 'users', '--email', 'eve@example.org', '--config', file, '--data', data];
    const input = `${password}\n`;
    const unknown = await runHere(command, { input });
    assert.match(unknown.stderr, /can be called once it has answered a request/);
    assert.equal((await fetch(`${url}/health`)).status, 200);
    const { code, stderr } = await runHere(command, { input });
    assert.equal(code, 0, stderr);
    const login = { email: 'eve@example.org', password };
    assert.equal((await call('POST', '/api/collections/users/login', login)).status, 200);
  });

  it('answers 503 when its writer has failed, and its server goes on', async (t) => {
    const service = await startHere(t, config);
    const { body } = await service.call('POST', '/api/collections/posts', { title: 'one' });
    // The effect of a damaged file: the next version of a document ends the writer.
    const file = readdirSync(service.data).find((name) => /^read-.*\.db$/.test(name)) ?? '';
    const db = new Database(join(service.data, file));
    db.exec('DROP TABLE "versions posts"');
    db.close();
    const patched = await service.call('PATCH', `/api/collections/posts/${body.id}`, { title: 'two' });
    assert.equal(patched.status, 503);
    const later = await service.call('GET', '/api/collections/posts');
    assert.deepEqual(
      [later.status, later.body],
      [
        503,
        { statusCode: 503, error: 'Service Unavailable', code: 'unavailable', message: 'the service is not available' },
      ],
    );
    const [fatal, ...others] = service.lines().filter(({ level }) => level === 60);
    assert.match(
      fatal.msg,
      /^the writer failed, .*; requests are answered with 503 until the service is started again$/,
    );
    assert.deepEqual(others, []);
    // The stopped service releases the directory, so that another one can be started there.
    await service.stop();
    const again = await startHere(t, config, { data: service.data });
    assert.equal((await again.call('GET', '/api/collections/posts')).status, 200);
  });

  it('leaves nothing running and no trace in the environment', (t) =>
    assertEnds(t, config, { path: '/health', told: 'result', expected: '{"status":"ok"}' }));
});
