import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { corsOf } from '../../server/http/cors.ts';
import { anonymous, bearer, login } from '../helpers/accounts.ts';
import { type HereService, startHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { eventually, logLines, sendRaw, useService } from '../helpers/shared.ts';

const app = 'https://app.example.org';
const local = 'http://localhost:5173';
const foreign = 'https://evil.example';

const service = useService(`export default {
  cors: ['${app}', '${local}'],
  bcryptCost: 4,
  rateLimit: { address: 30 },
  limits: { body: 20_000 },
  collections: [
    { slug: 'users', auth: true, fields: [], access: { create: () => true } },
    { slug: 'posts', access: { read: () => true, delete: () => false }, fields: [{ name: 'text', type: 'text', required: true }] },
    { slug: 'files', upload: true, access: { read: () => true }, fields: [] },
  ],
};`);

const password = 'correct horse battery';
const user = { email: 'ada@example.org', password };
let post = '';
let media = '';
let token = '';

before(async () => {
  await service.call('POST', '/api/collections/users', user, anonymous);
  token = (await login(service, 'users', user.email, password)).body.token;
  post = (await service.call('POST', '/api/collections/posts', { text: 'x'.repeat(6000) })).body.id;
  const form = new FormData();
  form.append('file', new Blob(['some bytes of a text']), 'a.txt');
  const sent = await fetch(`${service.url}/api/collections/files`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey },
    body: form,
  });
  media = ((await sent.json()) as { url: string }).url;
});

type Headers = Record<string, string>;

/** The preflight of a browser before a request that is not a simple one; it sends no credential with it. */
async function preflight(path: string, origin: string, others: Headers = {}): Promise<Response> {
  const asked = { origin, 'access-control-request-method': 'POST', ...others };
  return fetch(service.url + path, { method: 'OPTIONS', headers: asked });
}

/** The headers of an answer that are for browsers. */
function corsHeaders(headers: globalThis.Headers): Headers {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));
}

/** The request headers on which an answer depends. */
const caller = ['authorization', 'cookie', 'x-api-key'];
const listOf = (value: string | null) => (value ?? '').split(/, ?/);

describe('A preflight', () => {
  it('is answered to a listed origin, for every route, and takes no credential', async () => {
    const paths = [
      '/api/collections/posts',
      `/api/collections/posts/${post}`,
      '/api/collections/users/login',
      '/api/preview-token',
      '/api/audit/feed',
      '/api/there/is/none',
      '/',
    ];
    for (const path of paths) {
      const asked = { 'access-control-request-headers': 'authorization,content-type' };
      const { status, headers } = await preflight(path, local, asked);
      assert.equal(status, 204, path);
      assert.deepEqual(Object.keys(corsHeaders(headers)), [
        'access-control-allow-headers',
        'access-control-allow-methods',
        'access-control-allow-origin',
        'access-control-max-age',
      ]);
      assert.equal(headers.get('access-control-allow-origin'), local);
      assert.equal(headers.get('access-control-max-age'), '7200');
      assert.deepEqual(listOf(headers.get('access-control-allow-methods')), [
        'GET',
        'HEAD',
        'POST',
        'PUT',
        'PATCH',
        'DELETE',
      ]);
      assert.ok(listOf(headers.get('vary')).includes('origin'));
      const allowed = listOf(headers.get('access-control-allow-headers'));
      const needed = 'authorization content-type x-api-key x-site-id if-match if-none-match if-range range';
      const more = 'idempotency-key x-change-reason last-event-id annals-position *';
      for (const name of `${needed} ${more}`.split(' ')) assert.ok(allowed.includes(name), name);
    }
  });

  it('from another origin gets nothing that would let it in', async () => {
    const near = ['null', `${app}.evil.example`, `${app}:8443`, 'http://app.example.org', app.toUpperCase(), '*'];
    for (const origin of [foreign, ...near]) {
      const { status, headers } = await preflight('/api/collections/posts', origin);
      assert.deepEqual([status, corsHeaders(headers)], [204, {}], origin);
      assert.ok(listOf(headers.get('vary')).includes('origin'));
    }
  });

  it('says nothing of routes for our own pages alone: the operator, and our own pages for accounts', async () => {
    for (const path of [
      '/api/operator/unlock',
      '/account/users/setup',
      '/account/account.js',
      '/admin',
      '/admin/setup',
    ]) {
      const { status, headers } = await preflight(path, app);
      const found = path.startsWith('/api/operator/') ? 404 : 204;
      assert.deepEqual([status, corsHeaders(headers)], [found, {}], path);
    }
  });

  it('is no error in the log, and counts in no limit', async () => {
    let requestId: string | null = null;
    for (let count = 0; count < 40; count += 1) {
      const { status, headers } = await preflight('/api/collections/users/login', app);
      assert.equal(status, 204);
      requestId = headers.get('x-request-id');
    }
    assert.equal((await login(service, 'users', user.email, password)).status, 200);
    const line = await eventually(() => logLines(service).find((logged) => logged.requestId === requestId));
    assert.deepEqual([line.level, line.method, line.status], [30, 'OPTIONS', 204]);
  });

  it('is told from another OPTIONS', async () => {
    const plain = await service.call('OPTIONS', '/api/collections/posts', undefined, { headers: { origin: app } });
    assert.deepEqual([plain.status, plain.headers.get('access-control-allow-methods')], [204, null]);
    assert.equal(plain.headers.get('allow'), 'GET, HEAD, POST, OPTIONS');
    const { status, headers } = await fetch(`${service.url}/health`, {
      method: 'OPTIONS',
      headers: { 'access-control-request-method': 'GET' },
    });
    assert.deepEqual([status, headers.get('allow')], [204, 'GET, HEAD, OPTIONS']);
    const bad = { key: 'wrong', headers: { origin: app } };
    assert.equal((await service.call('OPTIONS', '/api/collections/posts', undefined, bad)).status, 401);
  });
});

describe('An answer', () => {
  const json = { 'content-type': 'application/json' };
  const key = { 'x-api-key': apiKey };
  type Sent = { method?: string; headers?: Headers; body?: string };
  const answers: [what: string, status: number, path: () => string, sent?: Sent][] = [
    ['a list', 200, () => '/api/collections/posts'],
    ['a document', 200, () => `/api/collections/posts/${post}`],
    ['its head', 200, () => `/api/collections/posts/${post}`, { method: 'HEAD' }],
    ['what is created', 201, () => '/api/collections/posts', post201()],
    [
      'a field that is wrong',
      400,
      () => '/api/collections/posts',
      { method: 'POST', headers: { ...key, ...json }, body: '{}' },
    ],
    [
      'a body that is no JSON',
      400,
      () => '/api/collections/posts',
      { method: 'POST', headers: { ...key, ...json }, body: '{' },
    ],
    ['a path that is no UTF-8', 400, () => '/api/collections/%ff'],
    ['no credential', 401, () => '/api/schemas'],
    ['a key that is wrong', 401, () => '/api/collections/posts', { headers: { 'x-api-key': 'wrong' } }],
    [
      'a rule that says no',
      403,
      () => `/api/collections/posts/${post}`,
      { method: 'DELETE', headers: { authorization: '' } },
    ],
    ['no document', 404, () => '/api/collections/posts/none'],
    ['no route', 404, () => '/api/there/is/none'],
    ['no file', 404, () => '/api/media/files/%2e%2e%2fx/y'],
    [
      'a body too large',
      413,
      () => '/api/collections/posts',
      { method: 'POST', headers: { ...key, ...json }, body: 'x'.repeat(30_000) },
    ],
    ['a type that is not taken', 415, () => '/api/collections/posts', { method: 'POST', headers: key, body: 'x' }],
    [
      'a tag that is stale',
      412,
      () => `/api/collections/posts/${post}`,
      { method: 'PATCH', headers: { ...key, ...json, 'if-match': '"9"' }, body: '{}' },
    ],
    ['a file', 200, () => media],
    ['a part of it', 206, () => media, { headers: { range: 'bytes=0-3' } }],
    ['no part of it', 416, () => media, { headers: { range: 'bytes=99-' } }],
    ['a bad preview', 401, () => '/api/preview-data?token=x'],
    ['the health', 200, () => '/health'],
    ['the page of the API', 200, () => '/api/docs'],
  ];
  function post201(): Sent {
    return { method: 'POST', headers: { ...key, ...json }, body: '{"text":"new"}' };
  }

  for (const [what, status, path, { method = 'GET', headers = {}, body } = {}] of answers) {
    it(`that is ${status} for ${what} can be read by a listed origin, and by no other`, async () => {
      const ask = async (origin: string | null) => {
        const sent: Headers = { ...headers, ...(origin === null ? {} : { origin }) };
        if (sent.authorization === '') sent.authorization = `Bearer ${token}`;
        const answer = await fetch(service.url + path(), {
          method,
          headers: sent,
          ...(body === undefined ? {} : { body }),
        });
        await answer.arrayBuffer();
        assert.equal(answer.status, status);
        assert.ok(listOf(answer.headers.get('vary')).includes('origin'), `vary: ${answer.headers.get('vary')}`);
        return corsHeaders(answer.headers);
      };
      const { 'access-control-expose-headers': exposed = '', ...others } = await ask(app);
      assert.deepEqual(others, { 'access-control-allow-origin': app });
      for (const name of ['etag', 'retry-after', 'x-request-id', 'annals-position', 'content-range']) {
        assert.ok(listOf(exposed).includes(name), name);
      }
      for (const origin of [foreign, 'null', null]) assert.deepEqual(await ask(origin), {});
    });
  }

  it('that is a 304 says it too', async () => {
    for (const path of [`/api/collections/posts/${post}`, media, '/api/docs']) {
      const etag = (await fetch(service.url + path, { headers: { origin: app } })).headers.get('etag') ?? '';
      const again = await fetch(service.url + path, { headers: { origin: app, 'if-none-match': etag } });
      assert.deepEqual([again.status, again.headers.get('access-control-allow-origin')], [304, app], path);
      assert.ok(listOf(again.headers.get('vary')).includes('origin'));
    }
  });

  it('that is a stream of events says it at its beginning', async () => {
    const headers = { origin: app, 'x-api-key': apiKey, accept: 'text/event-stream' };
    const stream = await fetch(`${service.url}/api/audit/feed`, { headers });
    assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8');
    assert.equal(stream.headers.get('access-control-allow-origin'), app);
    assert.deepEqual(listOf(stream.headers.get('vary')), ['accept', 'origin', ...caller, 'accept-encoding']);
    await stream.body?.cancel();
  });

  it('that is compressed depends on all of it', async () => {
    const { text } = await sendRaw(
      service.url,
      `GET /api/collections/posts/${post} HTTP/1.1\r\nhost: x\r\norigin: ${app}\r\naccept-encoding: gzip\r\n\r\n`,
    );
    assert.match(text, /^content-encoding: gzip\r$/m);
    assert.ok(text.includes(`\r\nvary: origin,${caller},accept-encoding\r\n`), text.slice(0, 1000));
  });

  it('about routes for our own pages cannot be read, and is the same for all', async () => {
    for (const path of [
      '/api/operator/unlock',
      '/account/users/setup',
      '/account/account.js',
      '/admin',
      '/admin/setup',
    ]) {
      const method = path.includes('operator') ? 'POST' : 'GET';
      const { headers } = await fetch(service.url + path, { method, headers: { origin: app } });
      assert.deepEqual([corsHeaders(headers), listOf(headers.get('vary')).includes('origin')], [{}, false], path);
    }
  });
});

describe('A page of another origin', () => {
  it('logs in for a token, and gets no cookie', async () => {
    const headers = { origin: app, 'sec-fetch-site': 'cross-site' };
    const answer = await service.call('POST', '/api/collections/users/login', user, { key: null, headers });
    assert.deepEqual([answer.status, answer.headers.get('set-cookie')], [200, null]);
    assert.equal(answer.headers.get('access-control-allow-origin'), app);
    const me = await service.call('GET', '/api/collections/users/me', undefined, {
      key: null,
      headers: { ...headers, ...bearer(answer.body.token).headers },
    });
    assert.equal(me.status, 200);
  });

  it('does nothing by a cookie, though it is listed', async () => {
    const options = { key: null, headers: { origin: app, cookie: `annals-users=${token}` } };
    const write = await service.call('POST', '/api/collections/posts', { text: 'forged' }, options);
    assert.equal(write.status, 403);
    const read = await service.call('GET', '/api/collections/users/me', undefined, options);
    // Without this header no browser gives a page what it got with cookies.
    assert.equal(read.headers.get('access-control-allow-credentials'), null);
  });
});

describe('Origins', () => {
  it('that are all open are told the same', () => {
    const cors = corsOf(['*']);
    for (const origin of [foreign, 'null', undefined]) {
      const headers: Record<string, unknown> = {};
      cors?.addTo(headers, origin === undefined ? {} : { origin });
      assert.equal(headers['access-control-allow-origin'], '*');
      assert.equal(headers.vary, undefined);
    }
    const asked = { origin: foreign, 'access-control-request-method': 'PATCH' };
    assert.equal(cors?.preflight(asked)?.['access-control-allow-origin'], '*');
    assert.equal(cors?.preflight({ origin: foreign }), null);
  });

  it('that are not listed at all have nothing to be told', () => {
    assert.equal(corsOf([]), null);
  });
});

describe('A page that is refused', () => {
  const fields: never[] = [];
  const posts = { slug: 'posts', fields, access: { read: () => true } };
  const asked = { 'access-control-request-method': 'POST', 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'cross-site' };
  const said = (here: HereService) => here.lines().flatMap(({ level, msg }) => (level === 40 ? [msg] : []));
  const from = (here: HereService, origin: string, method = 'GET', headers: Headers = {}) =>
    fetch(`${here.url}/api/collections/posts`, { method, headers: { origin, ...headers } });

  it('is in the log with the line that lets it in, once', async (t) => {
    const here = await startHere(t, { cors: [app], collections: [posts] });
    for (const [origin, method, headers] of [
      [foreign, 'OPTIONS', asked],
      [foreign, 'OPTIONS', asked],
      [foreign, 'GET', {}],
      ['http://localhost:3000', 'GET', { 'sec-fetch-mode': 'cors' }],
      ['capacitor://localhost', 'DELETE', {}],
      ['http://[::1]:8080', 'GET', {}],
      [app, 'OPTIONS', asked],
      ['null', 'GET', {}],
    ] as const)
      await from(here, origin, method, headers);
    const lineFor = (origin: string) =>
      `a page of ${origin} may not call the service: to let it in, write cors: ['${app}', '${origin}'] in the configuration`;
    assert.deepEqual(said(here), [
      lineFor(foreign),
      lineFor('http://localhost:3000'),
      lineFor('capacitor://localhost'),
      lineFor('http://[::1]:8080'),
      'a page without an origin, from a file or in a sandbox, may not call the service: serve it over http, and let in what it then has',
    ]);
  });

  it('is in it too if no page is let in', async (t) => {
    const here = await startHere(t, { collections: [posts] });
    assert.equal((await from(here, foreign, 'OPTIONS', asked)).status, 204);
    assert.deepEqual(said(here), [
      `a page of ${foreign} may not call the service: to let it in, write cors: ['${foreign}'] in the configuration`,
    ]);
  });

  it('is in it in production without the advice, because a stranger can make up an origin', async (t) => {
    const before = process.env.NODE_ENV;
    process.env.NODE_ENV = 'production';
    t.after(() => {
      if (before === undefined) delete process.env.NODE_ENV;
      else process.env.NODE_ENV = before;
    });
    const here = await startHere(t, { cors: [app], collections: [posts] });
    for (const origin of [foreign, 'null']) await from(here, origin);
    assert.deepEqual(said(here), [
      `a page of ${foreign} may not call the service`,
      'a page without an origin, from a file or in a sandbox, may not call the service',
    ]);
  });

  it('is not in it if it is our own, calls nothing, or wants routes for our own pages', async (t) => {
    const here = await startHere(t, { collections: [posts] });
    const { origin } = new URL(here.url);
    await from(here, origin, 'POST');
    for (const more of ['sec-fetch-mode: navigate', 'sec-fetch-mode: cors\r\nsec-fetch-site: same-origin']) {
      const lines = `host: x\r\norigin: ${foreign}\r\n${more}\r\nconnection: close\r\n\r\n`;
      assert.equal((await sendRaw(here.url, `GET /api/collections/posts HTTP/1.1\r\n${lines}`)).status, 200);
    }
    await fetch(`${here.url}/api/operator/unlock`, { method: 'POST', headers: { origin: foreign } });
    await fetch(`${here.url}/account/account.js`, { headers: { origin: foreign } });
    const any = await startHere(t, { cors: ['*'], collections: [posts] });
    await from(any, foreign, 'OPTIONS', asked);
    await from(any, foreign);
    assert.deepEqual([said(here), said(any)], [[], []]);
  });

  it('is not in it by an invalid origin, nor if it is one of very many', async (t) => {
    const here = await startHere(t, { collections: [posts] });
    for (const odd of [
      "https://a',process.exit(),'",
      'https://a`',
      'https://a"',
      'x',
      '',
      'https://a/b',
      'https://a b',
      'HTTPS://A',
      `https://${'a'.repeat(400)}`,
      'https://ü.example',
    ])
      await from(here, encodeURI(odd) === odd ? odd : Buffer.from(odd).toString('latin1'));
    assert.deepEqual(said(here), []);
    for (let count = 0; count < 40; count += 1) await from(here, `https://p${count}.example`);
    const lines = said(here);
    assert.equal(lines.length, 21);
    assert.match(lines[19] ?? '', /^a page of https:\/\/p19\.example /);
    assert.equal(lines[20], 'pages of 20 origins were refused; of more nothing is logged');
  });
});
