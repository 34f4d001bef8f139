import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { before, describe, it, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import { readSecret } from '../../../events/vault/vault.ts';
import { runHere } from '../../helpers/in-process.ts';
import { useMailbox } from '../../helpers/mail.ts';
import { routesOf, withApp } from '../../helpers/openapi.ts';
import { eventually, type Launched, launch, sendRaw, useFolder } from '../../helpers/shared.ts';

const config = {
  bcryptCost: 4,
  rateLimit: false,
  publicSchema: true,
  cors: ['https://app.example.org'],
  collections: [
    { slug: 'users', auth: { maxLoginAttempts: 2 }, fields: [{ name: 'name', type: 'text' }] },
    {
      slug: 'posts',
      fields: [
        { name: 'title', type: 'text' },
        { name: 'cover', type: 'upload', relationTo: 'pictures' },
      ],
    },
    { slug: 'pictures', upload: true, fields: [] },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'title', type: 'text' }] }],
};
/** The source of a module, because it has rules and hooks. Readers of posts may be anonymous. */
const source = `const config = ${JSON.stringify(config)};
for (const slug of ['posts', 'pictures']) config.collections.find((one) => one.slug === slug).access = { read: () => true };
config.collections[1].hooks = { beforeChange: [({ data }) => {
  if (data.title === 'throw later') setTimeout(() => { throw new Error('no handler catches this'); });
  return data;
}] };
export default config;`;

const password = 'correct horse battery';
const folder = useFolder();
const mailbox = await useMailbox();
const sites = [
  { id: 'acme', apiKeys: ['key of acme'] },
  { id: 'beta', apiKeys: ['key of beta'] },
  { id: 'gamma', apiKeys: ['key of gamma'] },
  { id: 'wrong', config: 'wrong.config.json' },
  { id: 'broken', data: 'broken' },
].map((site) => ({ config: 'annals.config.ts', smtpUrl: mailbox.url, mailFrom: 'a@example.org', ...site }));
const environment = {
  ANNALS_SITES: join(folder, 'sites.json'),
  ANNALS_DATA: join(folder, 'data'),
  ANNALS_THREADS: '2',
};
let service: Launched;
let url: string;

type Headers = Record<string, string>;
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
type Called = { status: number; headers: globalThis.Headers; text: string; body: any };

async function call(method: string, path: string, headers: Headers = {}, body?: unknown): Promise<Called> {
  const isJson = body !== undefined && !(body instanceof FormData);
  const response = await fetch(url + path, {
    method,
    headers: { ...(isJson && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: isJson ? JSON.stringify(body) : (body as FormData) }),
  });
  const text = await response.text();
  const isParsed = response.headers.get('content-type')?.includes('json') && text !== '';
  return { status: response.status, headers: response.headers, text, body: isParsed ? JSON.parse(text) : null };
}

const at = (site: string, headers: Headers = {}): Headers => ({ 'x-site-id': site, ...headers });
const key = (site: string): Headers => ({ 'x-api-key': `key of ${site}` });
const owner = (site: string): Headers => at(site, key(site));

/** The things of a site, for others to try. */
type Known = { user: string; token: string; cookie: string; post: string; picture: string; operator: string };
const known = new Map<string, Known>();

async function fill(site: string): Promise<Known> {
  const email = 'ada@example.org';
  const make = { ...environment, ANNALS_LOG_LEVEL: 'silent' };
  const made = await runHere(['create-user', 'users', '--site', site, '--email', email], {
    environment: make,
    input: `${password} of ${site}\n`,
  });
  assert.equal(made.code, 0, made.stderr);
  const login = await call('POST', '/api/collections/users/login', at(site), {
    email,
    password: `${password} of ${site}`,
  });
  assert.equal(login.status, 200, login.text);
  const form = new FormData();
  form.set('file', new Blob([`of ${site}`]), 'note.txt');
  const picture = await call('POST', '/api/collections/pictures', owner(site), form);
  const post = await call('POST', '/api/collections/posts', owner(site), { title: site, cover: picture.body.id });
  assert.equal(post.status, 201, post.text);
  return {
    user: made.stdout.trim(),
    token: login.body.token,
    cookie: (login.headers.get('set-cookie') ?? '').split(';')[0] as string,
    post: post.body.id,
    picture: picture.body.id,
    operator: `Annals-Operator ${readSecret(join(folder, 'data', site, 'vault.db'), 'operator')}`,
  };
}

before(async () => {
  writeFileSync(join(folder, 'annals.config.ts'), source);
  writeFileSync(join(folder, 'wrong.config.json'), '{ "collections": [{ "slug": "posts", "feilds": [] }] }');
  writeFileSync(join(folder, 'sites.json'), JSON.stringify(sites));
  mkdirSync(join(folder, 'broken'));
  writeFileSync(join(folder, 'broken', 'log.db'), 'this is no log '.repeat(1000));
  const context = { after: (run: () => void) => process.on('exit', run) } as unknown as TestContext;
  service = launch(context, ['serve', '--port', '0'], environment);
  url = await service.listening;
  for (const site of ['acme', 'beta']) known.set(site, await fill(site));
});

/** Routes that are the same for everybody, and need no site. */
const ofNoSite = new Set([
  'GET /health',
  'GET /ready',
  'GET /api/docs',
  'GET /api/docs/docs.js',
  'GET /api/docs/docs.css',
  'GET /api/docs/overview.js',
  'GET /api/docs/swagger.js',
  'GET /api/docs/swagger-ui-bundle.js',
  'GET /api/docs/swagger-ui.css',
  'GET /account/account.js',
  'GET /account/account.css',
  'GET /admin/assets/{name*}',
]);

/** Routes that look at no credential: the named site answers, with its own content. */
const ofAnybody = new Set([
  ...ofNoSite,
  'GET /account/users/accept-invite',
  'GET /account/users/reset-password',
  'GET /account/users/setup',
  'GET /admin/{path*}',
  'GET /api/admin/boot',
  'GET /api/collections/users/init',
  'POST /api/collections/users/login',
  'POST /api/collections/users/accept-invite',
  'POST /api/collections/users/first-user',
  'POST /api/collections/users/forgot-password',
  'POST /api/collections/users/reset-password',
]);

/** A route as it is called, with what there is at acme. */
function pathOf(route: string): [method: string, path: string] {
  const { user, post, picture } = known.get('acme') as Known;
  const [method = '', pattern = ''] = route.split(' ');
  const id = pattern.includes('/users') ? user : pattern.includes('/pictures') ? picture : post;
  const values: Record<string, string> = {
    filename: 'note.txt',
    stream: `posts/${post}`,
    any: 'nothing',
    collection: 'posts',
  };
  const path = pattern.replace(/\{(\w+)\*?\d*\}/g, (_, name) =>
    name.toLowerCase().endsWith('id') ? id : (values[name] ?? '1'),
  );
  return [method === '*' ? 'GET' : method, path];
}

describe('Every route across sites', () => {
  let routes: string[] = [];

  before(async () => {
    routes = await withApp(config, routesOf);
  });

  /** The routes that answer a caller with something else than 401; many are asked, and `fetch` takes twice as long. */
  async function admitting(headers: Headers, asked = routes): Promise<string[]> {
    const agent = new Agent({ keepAlive: true, maxSockets: 4 });
    const admitted = await Promise.all(
      asked.map(async (route) => {
        const [method, path] = pathOf(route);
        const body = method === 'GET' ? '' : '{}';
        const typed = body === '' ? {} : { 'content-type': 'application/json', 'content-length': '2' };
        const sent = request(url + path, { method, agent, headers: { ...typed, ...headers } }).end(body);
        const [answer] = (await once(sent, 'response')) as [IncomingMessage];
        const said = await text(answer);
        assert.ok(Number(answer.statusCode) < 500, `${route}: ${answer.statusCode} ${said}`);
        return answer.statusCode === 401 ? [] : [route];
      }),
    );
    agent.destroy();
    return admitted.flat().sort();
  }

  it('are 401 without a site, and under an unknown one, whatever the credential', async () => {
    const { cookie, operator } = known.get('acme') as Known;
    const credentials: Headers[] = [{}, { ...key('acme'), cookie, authorization: operator }];
    for (const headers of credentials) assert.deepEqual(await admitting(headers), [...ofNoSite].sort());
    assert.deepEqual(await admitting(at('__proto__', key('acme'))), []);
    for (const site of ['ACME', 'acme, acme', '', 'acme.', 'delta', '%61cme'])
      assert.equal((await call('GET', '/api/schemas', at(site, key('acme')))).status, 401, site);
  });

  it('are 400 if their URL is no UTF-8, with a site and without one', async () => {
    for (const [path, said] of [
      ['/api/schemas?_=%ff', '_ must be UTF-8 in percent-encoding, got "%ff"'],
      ['/api/globals/%c0%ae', 'the path must be UTF-8 in percent-encoding, got "%c0%ae"'],
    ] as const) {
      for (const headers of [at('acme', key('acme')), {}]) {
        const { status, body } = await call('GET', path, headers);
        assert.deepEqual([status, body.message], [400, said]);
      }
    }
    assert.equal((await call('GET', '/api/docs?site=%ff')).status, 401);
  });

  it('are 401 with a key of another site, of its environment or made there', async () => {
    const scopes = [{ collections: '*', globals: '*', operations: ['read', 'create', 'update', 'delete'] }];
    const made = await call('POST', '/api/keys', owner('acme'), { name: 'of acme', scopes });
    const ofAcme = { 'x-api-key': made.body.secret };
    assert.equal((await call('GET', '/api/collections/posts', at('acme', ofAcme))).status, 200);
    for (const headers of [key('acme'), ofAcme])
      assert.deepEqual(await admitting(at('beta', headers)), [...ofAnybody].sort());
  });

  it('are 401 with the token or the operator of another site', async () => {
    const { token, operator } = known.get('acme') as Known;
    const bearer = { authorization: `Bearer ${token}` };
    for (const headers of [bearer, { authorization: operator }])
      assert.deepEqual(await admitting(at('beta', headers)), [...ofAnybody].sort());
    assert.equal((await call('GET', '/api/schemas', at('beta', { ...bearer, ...key('beta') }))).status, 401);
  });

  it("take another site's cookie for none", async () => {
    const { cookie } = known.get('acme') as Known;
    assert.match(cookie, /^annals-acme\.users=/);
    // To make those of OpenAPI takes longer than all others: they are asked below.
    const cheap = routes.filter((route) => !route.endsWith('openapi.json'));
    const anonymously = await admitting(at('beta'), cheap);
    assert.deepEqual(await admitting(at('beta', { cookie, 'sec-fetch-site': 'same-origin' }), cheap), anonymously);
    // Under the name that the other site has for it, it is a bad one, and taken away.
    const renamed = cookie.replace('acme', 'beta');
    const me = await call('GET', '/api/collections/users/me', at('beta', { cookie: renamed }));
    assert.deepEqual([me.status, /^annals-beta\.users=;/.test(me.headers.get('set-cookie') ?? '')], [401, true]);
    const own = await call(
      'GET',
      '/api/collections/users/me',
      at('acme', { cookie: `${cookie}; annals-beta.users=x` }),
    );
    assert.equal(own.status, 200);
  });

  it('find the site of a token by itself', async () => {
    const { token, user } = known.get('acme') as Known;
    const headers = { authorization: `Bearer ${token}` };
    const { status, body } = await call('GET', '/api/collections/users/me', headers);
    assert.deepEqual([status, body.id], [200, user]);
    const claims = JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString());
    assert.equal(claims.site, 'acme');
    const forged = Buffer.from(JSON.stringify({ ...claims, site: 'beta' })).toString('base64url');
    const other = token.replace(/\.[^.]+\./, `.${forged}.`);
    assert.equal((await call('GET', '/api/schemas', { authorization: `Bearer ${other}` })).status, 401);
  });
});

describe('Sites of one process', () => {
  it('have data of their own', async () => {
    for (const site of ['acme', 'beta']) {
      const { body } = await call('GET', '/api/collections/posts?depth=1', at(site));
      assert.deepEqual(
        body.docs.map(({ title, cover }: Called['body']) => [title, cover.url]),
        [[site, `/api/media/pictures/${known.get(site)?.picture}/note.txt?site=${site}`]],
      );
      assert.equal((await call('GET', body.docs[0].cover.url)).text, `of ${site}`);
    }
    // Under one address, and with as many versions: no cache may take one for the other.
    const tags = await Promise.all(
      ['acme', 'beta'].map(async (site) => {
        await call('PATCH', '/api/globals/site', owner(site), { title: site });
        return (await call('GET', '/api/globals/site', owner(site))).headers.get('etag') ?? '';
      }),
    );
    const global = await call(
      'GET',
      '/api/globals/site',
      at('beta', { ...key('beta'), 'if-none-match': tags[0] ?? '' }),
    );
    assert.deepEqual([global.status, global.body?.title, tags[0] === tags[1]], [200, 'beta', false]);
    const { post, picture } = known.get('acme') as Known;
    const file = `/api/media/pictures/${picture}/note.txt`;
    assert.equal((await call('GET', `/api/collections/posts/${post}`, at('beta'))).status, 404);
    assert.equal((await call('GET', `${file}?site=beta`)).status, 404);
    assert.equal((await call('GET', `${file}?site=beta`, key('acme'))).status, 401);
    assert.equal((await call('GET', `${file}?site=beta`, at('acme'))).status, 401);
    assert.equal((await call('GET', file)).status, 401);
  });

  it('name themselves in the URL of a file, also in the past, and its answer has its own tag', async () => {
    const path = `/api/collections/pictures/${known.get('acme')?.picture}`;
    const { headers, body } = await call('GET', path, at('acme'));
    const again = await call('GET', path, at('acme', { 'if-none-match': headers.get('etag') ?? '' }));
    assert.equal(again.status, 304);
    const then = await call('GET', `${path}?asOf=${new Date().toISOString()}`, owner('acme'));
    assert.match(then.body?.url ?? then.text, /\?asOf=\d+&site=acme$/);
    assert.equal((await call('GET', then.body.url, key('acme'))).text, 'of acme');
    const renamed = await call(
      'PATCH',
      path,
      at('acme', { ...key('acme'), 'if-match': headers.get('etag') ?? '' }),
      {},
    );
    assert.deepEqual([renamed.status, renamed.body.url], [200, body.url]);
  });

  it('lock accounts, and open links of mails, each for itself', async () => {
    const login = (site: string, of: string) =>
      call('POST', '/api/collections/users/login', at(site), {
        email: 'ada@example.org',
        password: `${password} of ${of}`,
      });
    assert.equal((await login('beta', 'acme')).status, 401);
    assert.equal((await login('beta', 'acme')).status, 401);
    assert.deepEqual([(await login('beta', 'beta')).status, (await login('acme', 'acme')).status], [429, 200]);
    const unlock = ['unlock', 'users', '--email', 'ada@example.org', '--site'];
    assert.equal((await runHere([...unlock, 'acme'], { environment })).code, 1);
    assert.equal((await runHere([...unlock, 'beta'], { environment })).code, 0);
    assert.equal((await login('beta', 'beta')).status, 200);

    await call('POST', '/api/collections/users/forgot-password', at('acme'), { email: 'ada@example.org' });
    const { text = '' } = await mailbox.next('ada@example.org');
    const link = new URL(/http\S+/.exec(text)?.[0] ?? '');
    assert.equal(link.searchParams.get('site'), 'acme');
    const page = await call('GET', link.pathname + link.search);
    assert.deepEqual([page.status, page.headers.get('content-type')], [200, 'text/html; charset=utf-8']);
    const reset = (site: string) =>
      call('POST', '/api/collections/users/reset-password', at(site), {
        token: link.searchParams.get('token'),
        password,
      });
    assert.deepEqual([(await reset('beta')).status, (await reset('acme')).status], [400, 200]);
  });

  it('describe themselves with what a client has to send', async () => {
    // With the cookie of another site, which makes no caller known.
    const { cookie } = known.get('acme') as Known;
    const { body } = await call('GET', '/api/openapi.json', at('beta', { cookie, 'sec-fetch-site': 'same-origin' }));
    assert.equal(body.components.securitySchemes.site.name, 'x-site-id');
    assert.equal(body.components.securitySchemes['cookie.users'].name, 'annals-beta.users');
    assert.deepEqual(body.paths['/api/collections/posts'].post.security[0], { apiKey: [], site: [] });
    assert.deepEqual(body.paths['/api/collections/users/login'].post.security, [{ site: [] }]);
    assert.deepEqual(body.paths['/health'].get.security ?? [], []);
  });

  it('let pages of other origins in, who ask without naming a site', async () => {
    const asking = { origin: 'https://app.example.org', 'access-control-request-method': 'PATCH' };
    const allowed = (answer: Called) => answer.headers.get('access-control-allow-origin');
    const asked = await call('OPTIONS', '/api/collections/posts', asking);
    assert.deepEqual([asked.status, allowed(asked)], [204, asking.origin]);
    assert.match(asked.headers.get('access-control-allow-headers') ?? '', /x-site-id/);
    const stranger = await call('OPTIONS', '/api/collections/posts', { ...asking, origin: 'https://other.example' });
    assert.deepEqual([stranger.status, allowed(stranger)], [204, null]);
    assert.equal((await call('OPTIONS', '/api/operator/unlock', asking)).status, 401);
    for (const site of ['acme', 'delta', 'wrong']) {
      const { headers } = await call('GET', '/api/collections/posts', at(site, { origin: asking.origin }));
      assert.equal(headers.get('access-control-allow-origin'), asking.origin, site);
      const caller = site === 'acme' ? ',cookie,x-api-key' : '';
      assert.equal(headers.get('vary'), `origin,x-site-id,authorization${caller}`, site);
    }
    const { headers } = await call('GET', '/health', at('acme'));
    assert.equal(headers.get('vary'), 'origin,x-site-id,authorization');
  });

  it('tell once of a page that none of them lets in, whichever thread it asks', async () => {
    const asking = { origin: 'https://stranger.example', 'sec-fetch-mode': 'cors', connection: 'close' };
    for (let count = 0; count < 20; count += 1) assert.equal((await call('GET', '/api/schemas', asking)).status, 401);
    const told = () => service.output().stderr.split('a page of https://stranger.example may not call').length - 1;
    await eventually(() => told() > 0);
    // Lines of threads come in pieces.
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(told(), 1);
  });

  it('show drafts by tokens that name their site', async () => {
    const { post } = known.get('acme') as Known;
    const draft = { collection: 'posts', id: post, data: { title: 'soon' } };
    const { body } = await call('POST', '/api/preview-token', owner('acme'), draft);
    const path = `/api/preview-data?token=${body.token}`;
    assert.deepEqual((await call('GET', path)).body, draft);
    assert.equal((await call('GET', path, at('acme'))).status, 200);
    assert.equal((await call('GET', path, at('beta'))).status, 401);
    const bearer = { authorization: `Bearer ${body.token}` };
    assert.equal((await call('GET', '/api/schemas', bearer)).status, 401);
  });

  it('say what is wrong in the form of the contract, also to what is hardly a request', async () => {
    const { status, body, headers } = await call('GET', '/api/collections/posts');
    assert.deepEqual([status, Object.keys(body).sort()], [401, ['code', 'error', 'message', 'statusCode']]);
    assert.ok(headers.get('x-request-id'));
    assert.equal((await call('GET', '/api/collections/posts', at('delta'))).text, JSON.stringify(body));
    const twice = 'GET /api/schemas HTTP/1.1\r\nhost: x\r\nx-site-id: acme\r\nx-site-id: acme\r\n\r\n';
    assert.equal((await sendRaw(url, twice)).status, 401);
    const noHost = 'GET /api/schemas HTTP/1.1\r\nx-site-id: acme\r\n\r\n';
    assert.equal((await sendRaw(url, noHost)).status, 400);
    const waiting = 'POST /api/collections/posts HTTP/1.1\r\nhost: x\r\nx-site-id: acme\r\nx-api-key: key of acme\r\n';
    const body20 = 'content-type: application/json\r\ncontent-length: 13\r\nexpect: 100-continue\r\n\r\n{"title":"x"}';
    assert.equal((await sendRaw(url, waiting + body20)).status, 201);
    assert.equal((await sendRaw(url, 'nonsense\r\n\r\n')).status, 400);
  });
});

describe('A site that does not work', () => {
  const health = async () => (await call('GET', '/health')).body;
  const logged = (site: string) =>
    service
      .output()
      .stderr.split('\n')
      .filter((line) => line.includes(`"site":"${site}"`) && line.includes('"level":50'));

  it('is a 503 by itself, and the log says why', async () => {
    assert.deepEqual(await health(), { status: 'ok', sites: 5, unavailable: 2 });
    for (const site of ['wrong', 'broken']) {
      for (const path of ['/api/collections/posts', '/health', '/ready', '/no/such']) {
        const { status, body } = await call('GET', path, at(site));
        assert.deepEqual([status, body?.message], [503, 'the site is not available'], path);
      }
    }
    assert.match(logged('wrong')[0] ?? '', /feilds.*did you mean.*fields/);
    assert.match(logged('broken')[0] ?? '', /not a database/);
    assert.match(service.output().stdout, /^ {2}wrong +not available: /m);
  });

  it('may also cease to work later, and the others go on', async () => {
    assert.equal((await call('POST', '/api/collections/posts', owner('gamma'), { title: 'x' })).status, 201);
    const db = new Database(join(folder, 'data/gamma/log.db'));
    db.exec('ALTER TABLE events RENAME TO gone');
    db.close();
    assert.equal((await call('POST', '/api/collections/posts', owner('gamma'), { title: 'x' })).status, 503);
    await eventually(() => logged('gamma')[0]?.includes('the writer failed'));
    await eventually(async () => (await call('GET', '/api/collections/posts', at('gamma'))).status === 503);
    assert.deepEqual(await health(), { status: 'ok', sites: 5, unavailable: 3 });
    assert.equal((await call('POST', '/api/collections/posts', owner('beta'), { title: 'x' })).status, 201);
  });

  it('takes the thread along with what its configuration throws, and all sites are there again', async () => {
    await call('POST', '/api/collections/posts', owner('acme'), { title: 'throw later' }).catch(() => {});
    await eventually(() => service.output().stderr.includes('another one takes its place'));
    const status = (site: string) =>
      call('GET', '/api/collections/posts', at(site)).then(
        (answer) => answer.status,
        () => 0,
      );
    await eventually(async () => (await status('beta')) === 200 && (await status('acme')) === 200);
    assert.deepEqual([await status('wrong'), await status('gamma')], [503, 503]);
  });

  it('ends with all others at SIGTERM, and not at SIGHUP', async () => {
    service.child.kill('SIGHUP');
    await eventually(() => service.output().stderr.includes('"msg":"SIGHUP is ignored'));
    assert.equal((await fetch(`${url}/health`)).status, 200);
    service.child.kill('SIGTERM');
    assert.equal(await service.exited, 0, service.output().stderr);
  });
});
