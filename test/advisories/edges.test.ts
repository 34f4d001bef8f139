import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it, type TestContext } from 'node:test';
import { richTextToHtml } from '../../client/index.ts';
import type { Config } from '../../config/define.ts';
import { readOptions } from '../../server/running/embedded/options.ts';
import { startEmbedded } from '../../server/running/embedded/service.ts';
import { anonymous, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { quietOptions, useServiceHere } from '../helpers/embedded.ts';
import { apiKey, type CallOptions } from '../helpers/service.ts';
import { eventually, sendRaw } from '../helpers/shared.ts';
import { unzip } from '../helpers/unzip.ts';

/** A server inside the network: it leads a request for `/away` on to `/secret`. */
const asked: string[] = [];
const inside = createServer((request, response) => {
  asked.push(`${request.url} ${request.headers.authorization ?? request.headers['x-api-key'] ?? ''}`.trim());
  if (request.url === '/away') response.writeHead(307, { location: '/secret' }).end();
  else response.writeHead(204).end();
}).listen(0, '127.0.0.1');
await once(inside, 'listening');
after(() => {
  inside.close();
  inside.closeAllConnections();
});
const { port } = inside.address() as AddressInfo;

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
/** Names of this machine, each of which a filter of names or of numbers has once missed. */
const own = [
  '127.0.0.1',
  'localhost',
  '127.0.0.2',
  '127.127.127.127',
  '0.0.0.0',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '[::1]',
  '[::]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[64:ff9b::7f00:1]',
];
const webhooks = [
  ...own.map((host, index) => ({ name: `own${index}`, url: `http://${host}:${port}/secret`, secret })),
  { name: 'away', url: `http://127.0.0.1:${port}/away`, secret, allowPrivate: true },
];

const origin = 'https://app.example';
const config = {
  bcryptCost: 4,
  rateLimit: false,
  cors: [origin],
  webhooks,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    { slug: 'posts', access: { read: () => true }, fields: [{ name: 'title', type: 'text' }] },
    {
      slug: 'faulty',
      access: {
        read: ({ req }) => {
          if (req.headers['x-fail'] === 'rule') throw new Error(`the rule of ${process.cwd()} knows sesame`);
          return true;
        },
      },
      hooks: {
        beforeChange: [
          () => {
            throw new Error(`SQLITE_ERROR at ${process.cwd()}: sesame`);
          },
        ],
        afterRead: [
          ({ req }) => {
            if (req.headers['x-fail'] === 'hook') throw Object.assign(new Error('sesame'), { env: process.env });
            return undefined;
          },
        ],
      },
      fields: [{ name: 'title', type: 'text' }],
    },
  ],
} satisfies Config;

const service = useServiceHere(config);
const posts = '/api/collections/posts';
const get = (path: string, as: CallOptions = anonymous) => service.call('GET', path, undefined, as);
const page = (path: string, url = service.url) =>
  fetch(url + path, { headers: { accept: 'text/html' }, redirect: 'manual' });

/** A service that has an address for itself, as `annals serve` has: it answers `/` too. */
async function startAtRoot(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    whole.answer(request, response, String(request.url), '');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { options } = quietOptions(t, { collections: [{ slug: 'users', auth: true, fields: [] }] }, url);
  const whole = startEmbedded(readOptions(options));
  t.after(async () => {
    server.close();
    await whole.close();
    server.closeAllConnections();
  });
  await whole.ready;
  return url;
}

let ann: LoggedIn;
before(async () => {
  const account = { email: 'ann@example.org', password: 'correct horse' };
  assert.equal((await service.call('POST', '/api/collections/users', account)).status, 201);
  ann = await loggedIn(service, 'users', account.email, account.password);
});

it('CVE-2024-46990, CVE-2026-35409, CVE-2026-61835 (Directus), CVE-2024-52588 (Strapi): a webhook reaches no address inside the network, however the address is written, and follows no redirect', async () => {
  assert.equal((await service.call('POST', posts, { title: 'told' })).status, 201);
  const errors: Record<string, string> = {};
  for (const { name } of webhooks) {
    while (!errors[name] && !asked.includes('/secret')) {
      const { body } = await get(`/api/webhooks/${name}/deliveries?limit=1`, {});
      errors[name] = body.docs[0]?.error ?? '';
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
  assert.deepEqual([...new Set(asked)], ['/away'], 'without a credential');
  for (const [index, host] of own.entries()) assert.match(errors[`own${index}`] ?? '', /address|private|allow/i, host);
  assert.match(errors.away ?? '', /307/);
});

it('CVE-2025-53092 (Strapi), CVE-2026-34749 (Payload), GHSA-mww8-4gwh-rjfw (Directus): only listed origins are allowed, and a cookie writes only from our own pages', async () => {
  const others = [
    'https://evil.example',
    'null',
    'http://app.example',
    `${origin}.evil.example`,
    'https://xapp.example',
    'https://APP.example:8443',
  ];
  for (const other of others) {
    for (const method of ['GET', 'OPTIONS']) {
      const headers = { origin: other, 'access-control-request-method': 'PATCH' };
      const answer = await fetch(service.url + posts, { method, headers });
      assert.equal(answer.headers.get('access-control-allow-origin'), null, `${method} ${other}`);
      assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    }
  }
  const listed = await fetch(service.url + posts, { headers: { origin } });
  assert.equal(listed.headers.get('access-control-allow-origin'), origin);
  assert.equal(listed.headers.get('access-control-allow-credentials'), null);

  const cookie = `annals-users=${ann.token}`;
  const write = async (headers: Record<string, string>) =>
    (await service.call('POST', posts, { title: 'x' }, { key: null, headers: { cookie, ...headers } })).status;
  for (const headers of [
    {},
    { origin },
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example', referer: `${service.url}/admin` },
    { origin: 'https://evil.example', 'x-forwarded-host': 'evil.example' },
    { 'content-type': 'text/plain', origin: 'https://evil.example' },
  ])
    assert.ok((await write(headers as Record<string, string>)) >= 400, JSON.stringify(headers));
  assert.equal(await write({ origin: service.url }), 201);
});

it('CVE-2024-28239, CVE-2026-22032, CVE-2026-35410, CVE-2026-35411 (Directus), CVE-2026-105846 (Payload), CVE-2024-34065 (Strapi): no request chooses the target of a redirect or link', async (t) => {
  const url = await startAtRoot(t);
  const led = await page('/', url);
  assert.deepEqual([led.status, led.headers.get('location')], [302, '/admin']);
  const targets = [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    'javascript:alert(1)',
    '/%09/evil.example',
  ];
  const names = ['redirect', 'next', 'to', 'url', 'returnTo', 'RelayState', 'callbackUrl', 'continue'];
  const paths = ['/', '/admin/login', '/account/users/reset-password'];
  for (const target of targets) {
    const query = names.map((name) => `${name}=${encodeURIComponent(target)}`).join('&');
    for (const path of paths) {
      const answer = await page(`${path}?${query}`, url);
      const location = answer.headers.get('location');
      if (location !== null) assert.match(location, /^\/(admin|account)/, `${path} ${location}`);
      assert.equal(answer.headers.get('refresh'), null);
      await answer.arrayBuffer();
    }
  }
  for (const line of [
    '//evil.example',
    '//evil.example/%2e%2e',
    '/\\evil.example',
    '/%5cevil.example',
    'https://evil.example/',
  ]) {
    const { headers } = await sendRaw(url, `GET ${line} HTTP/1.1\r\nhost: evil.example\r\naccept: text/html\r\n\r\n`);
    assert.ok([null, '/admin'].includes(headers.get('location')), line);
  }
});

it('CVE-2025-53887, CVE-2024-27296, CVE-2026-35413 (Directus): a caller without a credential learns neither the version nor the schema', async () => {
  for (const path of [
    '/api/schemas',
    '/api/openapi.json',
    '/api/audit/openapi.json',
    '/api/webhooks',
    '/api/keys',
    '/api/counts',
  ]) {
    const { status, body } = await get(path);
    assert.ok(status === 401 || path === '/api/counts', path);
    assert.doesNotMatch(JSON.stringify(body), /faulty.*fields|"version"/, path);
  }
  for (const path of [
    '/health',
    '/ready',
    '/api/admin/boot',
    '/api/none',
    posts,
    '/admin',
    '/api/docs',
    '/api/docs/docs.js',
    '/account/account.js',
  ]) {
    const answer = await page(path);
    assert.deepEqual([answer.headers.get('server'), answer.headers.get('x-powered-by')], [null, null], path);
    assert.doesNotMatch(await answer.text(), /annals[^\n]{0,20}\d+\.\d+\.\d+/i, path);
  }
});

it('CVE-2026-35408 (Directus), CVE-2026-34748 (Payload), CVE-2024-54128, CVE-2024-6533, GHSA-788p-cvgf-q973 (Directus): pages of the service run only their own scripts, and no other window keeps access to them', async () => {
  for (const path of ['/admin', '/admin/users/1', '/account/users/reset-password', '/api/docs']) {
    const { status, headers } = await page(path);
    assert.equal(status, 200, path);
    const policy = headers.get('content-security-policy') ?? '';
    const scripts = /(?:script-src|default-src) ([^;]*)/.exec(
      /script-src/.test(policy) ? policy.replace(/default-src[^;]*;/, '') : policy,
    );
    assert.doesNotMatch(scripts?.[1] ?? '*', /unsafe-|\*|https?:|data:|blob:/, path);
    assert.match(policy, /(object-src|default-src) 'none'/, path);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin', path);
  }
  const link = (href: string) => ({
    type: 'doc',
    content: [
      {
        type: 'paragraph',
        content: [{ type: 'text', text: '<img src=x onerror=alert(1)>', marks: [{ type: 'link', attrs: { href } }] }],
      },
    ],
  });
  for (const href of [
    'javascript:alert(1)',
    ' java\nscript:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '" onclick="alert(1)',
  ])
    assert.doesNotMatch(richTextToHtml(link(href)), /<img|script:|data:|onclick="/, href);
});

it('CVE-2025-30353 (Directus): an error in a rule or a hook reveals nothing to the caller', async () => {
  const { body } = await service.call('POST', '/api/collections/faulty', { title: 'x' });
  const path = '/api/collections/faulty';
  const answers = [
    body,
    (await get(path, { key: null, headers: { 'x-fail': 'rule' } })).body,
    (await service.call('POST', `${path}/bulk`, { docs: [{ title: 'x' }] })).body,
    (await service.call('POST', path, '{"title":')).body,
    (await service.call('POST', path, { title: { $where: 'sleep(1)' } })).body,
    (await get('/api/collections/%ff')).body,
    (await get(`${path}/1`, { key: null, headers: { 'x-fail': 'hook' } })).body,
  ];
  for (const answer of answers) {
    assert.ok(answer.statusCode >= 400);
    assert.doesNotMatch(JSON.stringify(answer), /sesame|sqlite|node_modules|\.ts\b|at async/i);
    assert.ok(!JSON.stringify(answer).includes(process.cwd()));
  }
});

it('CVE-2026-105854 (Payload): the time to read the header of a form grows only with its length', async () => {
  const long = 15_000;
  const types = [
    `multipart/form-data; boundary=${'-'.repeat(long)}`,
    `multipart/form-data;${' '.repeat(long)}x`,
    `multipart/form-data;${';='.repeat(long / 2)}`,
    `multipart/form-data; boundary="${'\\'.repeat(long)}`,
    `multipart/${'form-'.repeat(long / 5)}`,
    `${'a'.repeat(long)}/`,
    `application/json;${' charset=utf-8;'.repeat(long / 15)}`,
  ];
  const { user, system } = process.cpuUsage();
  for (const type of types) {
    const head = `POST ${posts} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\ncontent-type: ${type}\r\ncontent-length: 2\r\n\r\n{}`;
    const { status } = await sendRaw(service.url, head);
    assert.ok(status >= 200 && status < 500, type.slice(0, 40));
  }
  const spent = process.cpuUsage({ user, system });
  assert.ok(spent.user + spent.system < 2_000_000, `${spent.user + spent.system} microseconds`);
});

it('CVE-2026-82410 (PocketBase), CVE-2023-45820, CVE-2024-36128 (Directus): no malformed frame, body or value ends the service, or uses up resources that others need', async () => {
  const upgrade = `GET /api/audit/feed HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: x\r\n\r\n`;
  assert.ok([400, 401, 426].includes((await sendRaw(service.url, upgrade)).status));
  await sendRaw(service.url, Buffer.from([0xc1, 0xff, 0xff, 0xff, 0xff, 0x0d, 0x0a, 0x0d, 0x0a])).catch(() => {});
  const wide = 'x'.repeat(200_000);
  for (const [path, body] of [
    [posts, '[['.repeat(5000)],
    [posts, `{"title":${'['.repeat(50_000)}${']'.repeat(50_000)}}`],
    [posts, { title: Number.MAX_VALUE }],
    [posts, { title: [wide] }],
    [`${posts}/bulk`, { docs: Array.from({ length: 1001 }, () => ({})) }],
    ['/api/collections/users/login', { email: { length: 1e9 }, password: ['x'] }],
    ['/api/collections/users/forgot-password', { email: wide }],
  ] as const)
    assert.equal(Math.floor((await service.call('POST', path, body)).status / 100), 4, path);
  for (const query of [
    'limit=1e9',
    'limit=-1',
    'limit=x',
    'page=1e308',
    'depth=1e9',
    'limit[length]=9',
    'page=NaN',
    'where=null',
    'sort[]=x',
  ])
    assert.ok([200, 400].includes((await get(`${posts}?${query}`)).status), query);
  const large = await get(`${posts}?limit=1000000`);
  assert.ok(large.status === 400 || large.body.limit <= 1000);
  assert.equal((await get('/health')).status, 200);
  assert.equal((await service.call('POST', '/api/collections/users/refresh-token', undefined, ann.as)).status, 200);
});

it('GHSA-97w9-jq7h-73pq (Payload): no cell of an exported table is a formula', async () => {
  const formulas = ['=1+1', '+1', '-1', '@SUM(1)', "'=1", '"=1', 'x;=1', '＝1+1'];
  for (const title of formulas) {
    const headers = { 'x-change-reason': `UTF-8''${encodeURIComponent(title)}` };
    assert.equal((await service.call('POST', posts, { title }, { key: apiKey, headers })).status, 201);
  }
  const path = `${service.url}/api/audit/export?format=csv&collection=posts`;
  const answer = await fetch(path, { headers: { 'x-api-key': apiKey } });
  assert.equal(answer.status, 200);
  const csv = String(unzip(Buffer.from(await answer.arrayBuffer())).get('events.csv')).replace(/^\ufeff/, '');
  const cells = [...csv.matchAll(/"((?:[^"]|"")*)"[,\r]/g)].map(([, cell = '']) => cell.replaceAll('""', '"'));
  assert.equal(cells.filter((cell) => cell.includes('1+1') && !cell.includes('{')).length, 2, 'the reasons are in it');
  for (const cell of cells) assert.doesNotMatch(cell, /^[\s"]*[=+\-@＝]|;[\s"]*[=+\-@＝]/);
});

it('answers none of this with an error that its own hooks did not make', async () => {
  await eventually(() => service.lines().length > 0);
  const bad = service
    .lines()
    .filter(({ status, path }) => status >= 500 && !path.startsWith('/api/collections/faulty'));
  assert.deepEqual(bad, []);
});
