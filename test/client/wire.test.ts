import assert from 'node:assert/strict';
import { once } from 'node:events';
import http, { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { ApiError, type Client, type ClientOptions, createClient } from '../../client/index.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';

const service = useServiceHere({
  bcryptCost: 4,
  collections: [
    { slug: '__admins', auth: { useAPIKey: true }, fields: [] },
    { slug: 'posts', fields: [{ name: 'title', type: 'text', required: true }] },
    { slug: 'files', upload: true, fields: [{ name: 'alt', type: 'text' }] },
  ],
});

const credentials = { email: 'ada@example.org', password: 'notes on the engine' };

function clientOf(options: Partial<ClientOptions> = {}): Client {
  return createClient({ baseUrl: service.url, ...options });
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

/** A server in the place of the service, or in front of it; it ends with the test. */
async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('The position of what a client has written', () => {
  /** A service of nodes, by its headers alone: gives what each read was sent with. */
  async function positions(t: TestContext, told: Record<string, string>) {
    const sent: (string | undefined)[] = [];
    const url = await serve(t, ({ method = '', url: path = '', headers }, response) => {
      sent.push(headers['annals-position'] as string | undefined);
      const position = told[`${method} ${path}`];
      if (position !== undefined) response.setHeader('annals-position', position);
      response.setHeader('content-type', 'application/json').end('{"id":"1","docs":[]}');
    });
    return { url, sent };
  }

  it('is sent with its reads, and is the furthest of all', async (t) => {
    const path = '/api/collections/posts';
    const { url, sent } = await positions(t, {
      [`POST ${path}`]: '41',
      [`PATCH ${path}/1`]: '40',
      [`DELETE ${path}/1`]: 'no position',
      [`GET ${path}/1?asOf=99`]: '99',
    });
    const posts = createClient({ baseUrl: url, apiKey }).collection('posts');
    await posts.findOne('1');
    await posts.create({ title: 'one' });
    await posts.update('1', { title: 'two' });
    await posts.delete('1');
    await posts.findOne('1', { asOf: 99 });
    await posts.findOne('1');
    await posts.findOne('1', { headers: { 'Annals-Position': '7' } });
    assert.deepEqual(sent, [undefined, undefined, undefined, undefined, '41', '41', '7']);
    // Another client may talk to another service.
    await createClient({ baseUrl: url, apiKey }).collection('posts').findOne('1');
    assert.equal(sent.at(-1), undefined);
  });

  it('is not sent to a service that tells none', async () => {
    const sent: (string | null)[] = [];
    const client = trusted({
      fetch: (url, init) => {
        sent.push(new Headers(init.headers).get('annals-position'));
        return fetch(url, init);
      },
    });
    const { id } = await client.collection('posts').create({ title: 'one' });
    await client
      .collection('posts')
      .findOne(id, { asOf: 1 })
      .catch(() => {});
    await client.collection('posts').findOne(id);
    assert.deepEqual(sent, [null, null, null]);
  });
});

describe('Failures between the client and the service', { concurrency: true }, () => {
  /** Passes on what comes; answers to the first `lost` writes never arrive. */
  async function lossy(t: TestContext, lost: number): Promise<{ url: string; keys: (string | undefined)[] }> {
    const keys: (string | undefined)[] = [];
    const url = await serve(t, (request, response) => {
      const { method, headers } = request;
      const passed = http.request(service.url + request.url, { method, headers }, (answer) => {
        if (method !== 'GET') keys.push(headers['idempotency-key'] as string | undefined);
        if (method !== 'GET' && keys.length <= lost) {
          answer.resume().on('end', () => request.socket.destroy());
          return;
        }
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      });
      request.pipe(passed);
    });
    return { url, keys };
  }

  it('lose no write, and do none twice', async (t) => {
    const { url, keys } = await lossy(t, 1);
    const posts = trusted({ baseUrl: url }).collection('posts');
    const made = await posts.create({ title: 'arrived once' });
    assert.equal((await posts.find({ where: { title: { equals: 'arrived once' } } })).total, 1);
    assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
    assert.match(keys[0] ?? '', /^[0-9a-f-]{36}$/);
    keys.length = 0;
    await posts.delete(made.id);
    assert.deepEqual(
      (await posts.history(made.id)).docs.map(({ type }) => type),
      ['document.created', 'document.deleted'],
    );
    keys.length = 0;
    const file = await trusted({ baseUrl: url })
      .collection('files')
      .upload(new Blob(['x']), { alt: 'sent again' });
    assert.deepEqual([keys.length, file.alt], [2, 'sent again']);
    keys.length = 0;
    await trusted({ baseUrl: url })
      .collection('files')
      .replaceFile(file.id, new Blob(['y']), {}, { onProgress: () => {} });
    assert.equal(keys.length, 2);
    keys.length = 0;
    const { id, secret } = await trusted({ baseUrl: url }).keys.create({ name: 'made once' });
    assert.deepEqual([keys.length, new Set(keys).size], [2, 1]);
    assert.ok(secret.startsWith(`annals_${id}_`));
    const all = (await trusted().keys.list()).docs.filter(({ name }) => name === 'made once');
    assert.deepEqual(
      all.map((key) => key.id),
      [id],
    );
  });

  it('leave it to the caller if a write could be done twice', async (t) => {
    const { url, keys } = await lossy(t, 99);
    const admins = trusted({ baseUrl: url }).collection('__admins');
    const stream = () => new Blob(['x']).stream();
    const calls: Record<string, () => Promise<unknown>> = {
      'a login': () => clientOf({ baseUrl: url }).collection('__admins').login(credentials),
      anonymous: () => clientOf({ baseUrl: url }).collection('posts').create({ title: 'x' }),
      'a password': () => admins.create({ email: 'x@example.org', password: 'notes on the engine' }),
      'a stream': () => trusted({ baseUrl: url }).collection('files').upload(stream()),
      'no retries': () => trusted({ baseUrl: url, retries: 0 }).collection('posts').create({ title: 'x' }),
      'no retry': () => trusted({ baseUrl: url }).collection('posts').create({ title: 'x' }, { retries: 0 }),
    };
    for (const [name, call] of Object.entries(calls)) {
      const { status, error } = await refusalOf(call());
      assert.deepEqual([status, error], [0, 'Network Error'], name);
    }
    assert.deepEqual(keys, Array(6).fill(undefined));
    keys.length = 0;
    const named = trusted({ baseUrl: url }).collection('posts').create({ title: 'x' }, { idempotencyKey: 'mine' });
    assert.equal((await refusalOf(named)).error, 'Network Error');
    assert.deepEqual(keys, ['mine', 'mine', 'mine']);
  });

  it('are waited for as long as it is asked for', async (t) => {
    const times: Record<string, number> = {};
    const url = await serve(t, ({ url: path = '' }, response) => {
      times[path] = (times[path] ?? 0) + 1;
      const [, status = 200, after = ''] = /(\d+)\?_after=(.*)/.exec(path) ?? [];
      const isOver = times[path] > 1;
      const headers = after === '' ? {} : { 'retry-after': decodeURIComponent(after).replaceAll('+', ' ') };
      response.writeHead(isOver ? 200 : Number(status), headers).end('{"is":"there"}');
    });
    const at = (status: number, after: string, options = {}) =>
      createClient({ baseUrl: url, ...options })
        .collection('posts')
        .findOne(String(status), { _after: after } as object);
    for (const status of [429, 502, 503, 504]) assert.deepEqual(await at(status, '0'), { is: 'there' });
    assert.deepEqual(await at(503, ''), { is: 'there' });
    assert.deepEqual(await at(503, new Date(Date.now() - 5000).toUTCString()), { is: 'there' });
    for (const [after, seconds] of [
      ['31', 31],
      [new Date(Date.now() + 900_000).toUTCString(), 900],
    ] as const) {
      const { status, retryAfter } = await refusalOf(at(503, after));
      assert.ok(status === 503 && retryAfter !== null && Math.abs(retryAfter - seconds) <= 2, String(retryAfter));
    }
    assert.equal((await refusalOf(at(503, '61', { timeout: 0 }))).retryAfter, 61);
    assert.equal((await refusalOf(at(500, '0'))).status, 500);
    const controller = new AbortController();
    const waiting = refusalOf(
      createClient({ baseUrl: url })
        .collection('posts')
        .findOne('429', { _after: '20', signal: controller.signal } as object),
    );
    setTimeout(() => controller.abort(new Error('never mind')), 50);
    const { error, cause } = await waiting;
    assert.deepEqual([error, (cause as Error).message], ['Aborted', 'never mind']);
  });

  it('are errors of one class, whatever came', async (t) => {
    let count = 0;
    const url = await serve(t, ({ url: path = '' }, response) => {
      count += 1;
      const name = path.split('/').at(-1)?.replace(/\?.*/, '');
      const html = { 'content-type': 'text/html' };
      if (name === 'empty') response.writeHead(500).end();
      else if (name === 'nothing') response.writeHead(200).end();
      else if (name === 'html')
        response.writeHead(403, html).end('<html><style>b{}</style><h1>Blocked</h1> by the &quot;wall&quot;');
      else if (name === 'portal')
        response.writeHead(200, html).end('<!doctype html><title>Log in to the hotel</title>');
      else if (name === 'moved') response.writeHead(301, { location: 'https://www.example.org/x?token=secret' }).end();
      else if (name === 'odd') response.writeHead(400).end('{"error":7,"message":null,"errors":"none"}');
      else if (name === 'bare') response.writeHead(404, html).end('<h1>Not Found</h1>');
      else if (name === 'short')
        response.writeHead(200, { 'content-length': 100 }).write('{"id":', () => response.destroy());
      else if (name === 'stuck') response.writeHead(200).write('{"id":');
      else if (name === 'reset') response.destroy();
    });
    const posts = createClient({ baseUrl: url }).collection('posts');
    async function failing(id: string, options: object = {}): Promise<ApiError & { attempts: number }> {
      count = 0;
      const error = await refusalOf(posts.findOne(id, { _secret: 'x', ...options } as object));
      return Object.assign(error, { attempts: count });
    }
    assert.equal(await posts.findOne('nothing'), null);
    const at = (id: string) => `GET ${url}/api/collections/posts/${id}`;
    const whole = 'error,status,message,attempts'.split(',') as ('error' | 'status' | 'message' | 'attempts')[];
    for (const [id, expected] of Object.entries({
      empty: ['Internal Server Error', 500, `${at('empty')} was answered 500 Internal Server Error`, 1],
      html: ['Forbidden', 403, `${at('html')} was answered 403 Forbidden: "Blocked by the &quot;wall&quot;"`, 1],
      portal: [
        'Invalid Answer',
        200,
        `${at('portal')} was answered 200 with a body that is not JSON: "Log in to the hotel"`,
        1,
      ],
      moved: [
        'Invalid Answer',
        301,
        `${at('moved')} was redirected to https://www.example.org/x: baseUrl must be the address of the service itself`,
        1,
      ],
      odd: ['Bad Request', 400, `${at('odd')} was answered 400 Bad Request`, 1],
      bare: ['Not Found', 404, `${at('bare')} was answered 404 Not Found: "Not Found"`, 1],
      short: ['Network Error', 0, `${at('short')} failed: terminated (other side closed)`, 3],
      reset: ['Network Error', 0, `${at('reset')} failed: fetch failed (other side closed)`, 3],
    })) {
      const error = await failing(id);
      assert.deepEqual(
        whole.map((name) => error[name]),
        expected,
      );
      assert.deepEqual(error.errors, []);
    }
    for (const id of ['stuck', 'silent']) {
      const late = await failing(id, { timeout: 60 });
      assert.deepEqual(
        whole.map((name) => late[name]),
        ['Timeout', 0, `${at(id)}: no answer within 60 ms`, 1],
      );
      assert.equal((late.cause as Error).name, 'TimeoutError');
      const signal = AbortSignal.timeout(60);
      const stopped = await failing(id, { signal });
      assert.deepEqual([stopped.error, stopped.cause, stopped.attempts], ['Aborted', signal.reason, 1]);
      assert.equal((await failing(id, { signal })).attempts, 0);
    }
    const closed = await refusalOf(createClient({ baseUrl: 'http://127.0.0.1:1' }).global('x').get({ retries: 0 }));
    assert.deepEqual([closed.error, closed.cause instanceof TypeError], ['Network Error', true]);
  });

  it('are errors too if what came is JSON of somebody else', async (t) => {
    let answer: unknown;
    let count = 0;
    const url = await serve(t, (_request, response) => {
      count += 1;
      response.end(JSON.stringify(answer));
    });
    const client = createClient({ baseUrl: url, token: 'kept' });
    const users = client.collection('users');
    const calls = {
      find: () => users.find(),
      findOne: () => users.findOne({}),
      findAll: () => listOf(users.findAll()),
      count: () => users.count(),
      counts: () => client.counts(),
      login: () => users.login(credentials),
      refreshToken: () => users.refreshToken(),
    };
    for (answer of [null, [], {}, { docs: {}, token: { a: 1 } }]) {
      for (const [name, call] of Object.entries(calls)) {
        const { error, status, message } = await refusalOf(call());
        assert.deepEqual([error, status], ['Invalid Answer', 200], name);
        assert.match(message, /^\w+ http:\S+ was answered 200 with a body that is not of the service: /);
      }
    }
    assert.equal(client.token, 'kept');
    // A place for which there is no end, and a cache that passes by the parameters.
    answer = { docs: [], next: 'x' };
    assert.deepEqual(await listOf(users.findAll()), []);
    for (const [wrong, expected] of [
      [{ docs: [{ id: 1 }], next: 'x' }, 2],
      [{ docs: [{ id: 1 }], page: 1, hasNextPage: true }, 1],
    ] as const) {
      answer = wrong;
      count = 0;
      assert.equal((await refusalOf(calls.findAll())).error, 'Invalid Answer');
      assert.equal(count, expected);
    }
  });
});

describe('createClient', () => {
  it('finds the service below any address', async (t) => {
    const paths: (string | undefined)[] = [];
    const url = await serve(t, (request, response) => {
      paths.push(request.url);
      response.end('{"id":1}');
    });
    const baseUrls = [url, `${url}/`, new URL(url), `${url}/cms`, `${url}/cms/`];
    for (const baseUrl of baseUrls) await createClient({ baseUrl }).global('site').get();
    const [own, mounted] = ['/api/globals/site', '/cms/api/globals/site'];
    assert.deepEqual(paths, [own, own, own, mounted, mounted]);
    const file = '/api/media/files/1/x.txt?site=acme';
    assert.equal(createClient({ baseUrl: `${url}/cms/` }).mediaUrl(file), `${url}/cms${file}`);
    assert.equal(createClient({ baseUrl: url }).mediaUrl({ url: file }), url + file);
    for (const prefix of ['', '/cms', '/deep/cms', '/api/media']) {
      assert.equal(createClient({ baseUrl: `${url}/cms` }).mediaUrl(prefix + file), `${url}/cms${file}`);
      assert.equal(createClient({ baseUrl: url }).mediaUrl({ url: prefix + file }), url + file);
    }
    assert.throws(
      () => createClient({ baseUrl: url }).mediaUrl({ id: 'x' } as object),
      /mediaUrl needs a document of a file/,
    );
  });

  it('sends what every call needs', async (t) => {
    const seen: IncomingHttpHeaders[] = [];
    const url = await serve(t, ({ headers }, response) => {
      seen.push(headers);
      response.end('{}');
    });
    const options = { apiKey: 'key', siteId: 'acme', token: 'jwt', headers: { 'x-trace': '1', accept: 'text/plain' } };
    const client = createClient({ baseUrl: url, ...options });
    await client.global('site').update({}, { headers: { authorization: 'Basic x', 'X-Trace': '2' }, reason: 'ж' });
    await client
      .collection('users')
      .login({ email: 'a', password: 'b' })
      .catch(() => {});
    const common = { 'x-api-key': 'key', 'x-site-id': 'acme', accept: 'application/json' };
    assert.partialDeepStrictEqual(seen[0], {
      ...common,
      authorization: 'Basic x',
      'x-trace': '2',
      'x-change-reason': "UTF-8''%D0%B6",
    });
    assert.partialDeepStrictEqual(seen[1], { ...common, 'x-trace': '1' });
    assert.equal(seen[1]?.authorization, undefined);
    const unsendable: [Partial<ClientOptions>, object, string][] = [
      [{ apiKey: 'secret\nb' }, {}, 'x-api-key'],
      [{ token: 'secret\u20ac' }, {}, 'authorization'],
      [{ headers: { 'x-own': 'secret\0' } }, {}, 'x-own'],
      [{}, { ifMatch: 'secret\r\nx-api-key: a' }, 'if-match'],
      [{}, { headers: { 'x own': 'secret' } }, 'x own'],
    ];
    for (const [own, call, name] of unsendable) {
      const message = `the value for the header "${name}" cannot be sent: it holds characters that no header may have`;
      const refused = createClient({ baseUrl: url, ...own })
        .global('site')
        .update({}, call);
      await assert.rejects(refused, { name: 'TypeError', message });
    }
    const half = '\ud800';
    const posts = createClient({ baseUrl: url }).collection('posts');
    await assert.rejects(posts.findOne(half), { name: 'TypeError', message: /^id must be Unicode/ });
    await assert.rejects(posts.delete('x', { reason: half }), {
      name: 'TypeError',
      message: /^reason must be Unicode/,
    });
    // A reference to no user must not give a user.
    await assert.rejects(posts.findOne(null as never), {
      name: 'TypeError',
      message: /findOne needs an id.*got null$/,
    });
    assert.equal(seen.length, 2);
  });

  for (const [options, message] of [
    [{}, /baseUrl must be an http or https URL.*got "undefined"$/],
    [{ baseUrl: '' }, /got ""$/],
    [{ baseUrl: 'localhost:4000' }, /got "localhost:4000"; did you mean "http:\/\/localhost:4000"\?/],
    [{ baseUrl: 'cms.example.org/x' }, /did you mean "https:\/\/cms\.example\.org\/x"\?/],
    [{ baseUrl: 'ftp://example.org' }, /got "ftp:\/\/example\.org"$/],
    [{ baseUrl: '/cms' }, /must be an http or https URL/],
    [{ baseUrl: 'https://example.org/?x=1' }, /must end with its path/],
    [{ baseUrl: 'https://ada:secret@example.org' }, /must not hold a name and password, got "example\.org"$/],
    [{ baseURL: 'https://example.org' }, /createClient has no option "baseURL"; it has baseUrl, apiKey/],
  ] as const) {
    it(`refuses ${JSON.stringify(options)}`, () => {
      assert.throws(() => createClient(options as unknown as ClientOptions), { name: 'TypeError', message });
    });
  }
});
