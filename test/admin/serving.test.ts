import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import type { Config } from '../../config/define.ts';
import { readOptions } from '../../server/running/embedded/options.ts';
import { urlBelow } from '../../server/running/embedded/paths.ts';
import { startEmbedded } from '../../server/running/embedded/service.ts';
import { quietOptions } from '../helpers/embedded.ts';
import { callerOf, temporaryFolder } from '../helpers/service.ts';
import { useStarted } from '../helpers/shared.ts';

const script = `console.log(${JSON.stringify('x'.repeat(5000))});\n`;

/** The files of a small application, as Vite writes them. */
const built: Record<string, string> = {
  'index.html': `<!doctype html>
<html lang="en" data-mount="" data-site="">
  <head>
    <title>Annals</title>
    <link rel="icon" href="./assets/icon-D3.svg">
    <script type="module" crossorigin src="./assets/index-B1x_9-Az.js"></script>
    <link rel="stylesheet" crossorigin href="./assets/index-C2.css">
  </head>
  <body><div id="root"></div></body>
</html>
`,
  'assets/icon-D3.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  'assets/index-B1x_9-Az.js': script,
  'assets/index-C2.css': 'body { margin: 0 }',
  'assets/.hidden.js': 'hidden',
  'secret.txt': 'no file of the application',
};

const config = {
  collections: [
    { slug: 'users', auth: true, fields: [] },
    {
      slug: 'posts',
      admin: { preview: 'https://www.example.org:8443/preview?token={token}' },
      fields: [{ name: 'title', type: 'text' }],
    },
    { slug: 'pages', admin: { preview: 'https://www.example.org:8443/p/{token}' }, fields: [] },
  ],
  globals: [{ slug: 'site', admin: { preview: 'http://localhost:3000/?t={token}' }, fields: [] }],
} satisfies Config;

type Options = { files?: Record<string, string>; path?: string; site?: string | null; admin?: Config['admin'] };

/** A service with an application of these files; without an application if there are none. */
async function start(t: TestContext, { files = {}, path = '', site = null, admin }: Options) {
  const folder = join(temporaryFolder(t), 'built');
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const server = createServer((request, response) => {
    const url = urlBelow({ path, hasAdmin: true }, request.url ?? '');
    // At the root, all is for it here.
    service.answer(request, response, url ?? String(request.url), path);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  const { options } = quietOptions(t, { ...config, ...(admin === undefined ? {} : { admin }) }, url);
  const given = readOptions(options);
  const service = startEmbedded({ ...given, settings: { ...given.settings, site, adminFolder: folder } });
  t.after(async () => {
    server.close();
    await service.close();
    server.closeAllConnections();
  });
  const { adminUrl, setupUrl } = await service.ready;
  return { url, folder, adminUrl, setupUrl, call: callerOf(url, options.data) };
}

const use = (options: Options) => useStarted((t) => start(t, options));

/** Asks for a path as it is, which fetch would resolve. */
async function getRaw(url: string, path: string): Promise<{ status: number | undefined; text: string }> {
  const outgoing = request(url, { path }).end();
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return { status: incoming.statusCode, text: await readText(incoming) };
}

const policyOf = ({ headers }: Response) => headers.get('content-security-policy') ?? '';

describe('The admin application', () => {
  const service = use({ files: built });

  it('is one page under /admin and all that is below it, for everybody', async () => {
    const pages = [
      '/admin',
      '/admin/',
      '/admin/c/posts',
      '/admin/c/posts/new?x=1',
      '/admin/assetsx',
      '/admin/setup?token=x',
    ];
    for (const path of pages) {
      for (const headers of [{}, { authorization: 'Bearer wrong' }, { cookie: 'annals-users=wrong' }]) {
        const response = await fetch(service.url + path, { headers });
        const seen = [path, response.status, response.headers.get('content-type')];
        assert.deepEqual(seen, [path, 200, 'text/html; charset=utf-8']);
        const { 'index.html': page = '' } = built;
        assert.equal(await response.text(), page.replaceAll('"./', '"/admin/'));
      }
    }
    assert.equal((await fetch(`${service.url}/adminx`)).status, 404);
  });

  it('names files that are there, each with its type, to be kept for ever', async () => {
    const html = await (await fetch(`${service.url}/admin/c/posts`)).text();
    const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address = '']) => address);
    assert.equal(named.length, 3);
    for (const address of named) {
      const response = await fetch(new URL(address, `${service.url}/admin/c/posts`));
      assert.deepEqual([address, response.status, await response.text()], [address, 200, built[address.slice(7)]]);
      assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
      assert.equal(response.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      assert.match(response.headers.get('content-type') ?? '', /^(text\/javascript|text\/css|image\/svg\+xml)/);
    }
  });

  it('is sent compressed to those who take it', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const response = await fetch(`${service.url}/admin/assets/index-B1x_9-Az.js`, { headers });
    assert.equal(response.headers.get('content-encoding'), 'gzip');
    assert.match(response.headers.get('vary') ?? '', /accept-encoding/);
    assert.equal(await response.text(), script);
  });

  it('is asked for each time, and not sent again to a browser that has it', async () => {
    for (const path of ['/admin', '/admin/c/posts', '/admin/assets/index-C2.css']) {
      const first = await fetch(service.url + path);
      await first.arrayBuffer();
      const etag = first.headers.get('etag') ?? '';
      assert.match(etag, /^"[^"]+"$/);
      assert.equal(first.headers.get('cache-control')?.includes('no-cache'), !path.includes('assets'));
      const again = await fetch(service.url + path, { headers: { 'if-none-match': etag } });
      assert.deepEqual([path, again.status, await again.text()], [path, 304, '']);
    }
  });

  it('is another page, with another tag, once it is built anew', async () => {
    const { 'index.html': page = '' } = built;
    const first = await fetch(`${service.url}/admin`);
    assert.doesNotMatch(await first.text(), /New/);
    writeFileSync(join(service.folder, 'index.html'), page.replace('Annals', 'New'));
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' };
    const second = await fetch(`${service.url}/admin`, { headers });
    assert.deepEqual([second.status, /New/.test(await second.text())], [200, true]);
    writeFileSync(join(service.folder, 'index.html'), page);
  });

  it('answers HEAD as GET, without a body', async () => {
    for (const path of ['/admin', '/admin/c/posts', '/admin/assets/index-C2.css']) {
      const [head, get] = await Promise.all(['HEAD', 'GET'].map((method) => fetch(service.url + path, { method })));
      assert.deepEqual([head?.status, await head?.text()], [200, '']);
      for (const name of ['content-type', 'etag', 'cache-control', 'content-security-policy'])
        assert.equal(head?.headers.get(name), get?.headers.get(name), `${path} ${name}`);
      await get?.arrayBuffer();
    }
  });

  it('takes no other method', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const path of ['/admin', '/admin/c/posts', '/admin/assets/index-C2.css']) {
        const { status, body } = await service.call(method, path);
        const message = `there is no ${method} ${path}; it takes GET, HEAD, OPTIONS`;
        assert.deepEqual([status, body.message], [405, message]);
      }
    }
  });

  it('answers 404 for a file that is gone, and not with the page, and that is not kept', async () => {
    const gone = ['/admin/assets/index-old.js', '/admin/assets', '/admin/assets/', '/admin/assets/sub/index-C2.css'];
    for (const path of [...gone, '/admin/assets/.hidden.js', '/admin/assets/index-C2.css/']) {
      const { status, headers, body } = await service.call('GET', path, undefined, { key: null });
      assert.deepEqual([path, status, body.statusCode, body.error], [path, 404, 404, 'Not Found']);
      assert.equal(headers.get('cache-control'), 'no-cache');
      assert.doesNotMatch(JSON.stringify(body), /annals-test|built/);
    }
  });

  it('reaches no file but those of the application', async () => {
    for (const path of [
      '/admin/assets/../secret.txt',
      '/admin/assets/..%2fsecret.txt',
      '/admin/assets/%2e%2e/secret.txt',
      '/admin/assets/%2e%2e%2fsecret.txt',
      '/admin/assets/..%5csecret.txt',
      '/admin/assets//secret.txt',
      '/admin/assets/./../secret.txt',
      '/admin/assets/index-C2.css%00.js',
      '/admin/assets/%2fetc%2fpasswd',
      '/admin/assets//etc/passwd',
    ]) {
      const { status, text } = await getRaw(service.url, path);
      assert.doesNotMatch(text, /no file of the application|root:/, path);
      // A path that leaves /admin/assets/ is a page, as all others.
      assert.ok(status === 404 || text.includes('data-mount'), `${path}: ${status}`);
    }
  });

  it('allows nothing of other origins but the frames of previews, and is in no frame itself', async () => {
    const response = await fetch(`${service.url}/admin/c/posts`);
    assert.equal(
      policyOf(response),
      "default-src 'self'; img-src 'self' data: blob:; " +
        "frame-src 'self' http://localhost:3000 https://www.example.org:8443; connect-src 'self'; object-src 'none'; " +
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    assert.equal(response.headers.get('x-frame-options'), 'DENY');
    assert.equal(response.headers.get('referrer-policy'), 'no-referrer');
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  });

  it('is where a browser is led that opens the address of the service, and no other client', async () => {
    const get = (accept: string, headers = {}) =>
      fetch(`${service.url}/`, { redirect: 'manual', headers: { accept, ...headers } });
    const led = await get('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    assert.deepEqual([led.status, led.headers.get('location')], [302, '/admin']);
    assert.match(led.headers.get('vary') ?? '', /accept/);
    assert.match(led.headers.get('cache-control') ?? '', /no-cache/);
    for (const accept of ['*/*', 'application/json', 'text/htmlx', 'x-text/html']) {
      const response = await get(accept);
      const { message } = await response.json();
      assert.deepEqual([accept, response.status, message], [accept, 404, 'there is no GET /']);
    }
    assert.equal((await get('text/html', { 'x-api-key': 'wrong' })).status, 401);
  });

  it('tells its address, and is where the setup link leads', async () => {
    assert.equal(service.adminUrl, `${service.url}/admin`);
    assert.match(service.setupUrl ?? '', /^http:\/\/127\.0\.0\.1:\d+\/admin\/setup\?token=[\w-]+$/);
  });
});

describe('The admin application below a path', () => {
  const service = use({ files: built, path: '/a&b/cms' });

  it('is told the path, and names its files below it', async () => {
    for (const path of ['/admin', '/admin/c/posts/1']) {
      const html = await (await fetch(service.url + path)).text();
      assert.match(html, /<html lang="en" data-mount="\/a&amp;b\/cms" data-site="">/);
      assert.match(html, /src="\/a&amp;b\/cms\/admin\/assets\/index-B1x_9-Az\.js"/);
      assert.doesNotMatch(html, /"\.\//);
    }
    assert.equal((await fetch(`${service.url}/admin/assets/index-C2.css`)).status, 200);
  });

  it('is where a browser is led that opens the path', async () => {
    for (const path of ['', '/']) {
      const headers = { accept: 'text/html' };
      const { status, headers: answered } = await fetch(service.url + path, { redirect: 'manual', headers });
      assert.deepEqual([status, answered.get('location')], [302, '/a&b/cms/admin']);
    }
    assert.equal(service.adminUrl, `${service.url}/admin`);
  });
});

describe('The admin application of one of several sites', () => {
  const logo = 'https://cdn.example.org/a/logo.svg';
  const service = use({ files: built, site: 'acme', admin: { logo } });

  it('is told the site, in its page and in its links', async () => {
    const response = await fetch(`${service.url}/admin/c/posts?site=acme`);
    assert.match(await response.text(), /<html lang="en" data-mount="" data-site="acme">/);
    assert.match(response.headers.get('vary') ?? '', /x-site-id/);
    assert.equal(service.adminUrl, `${service.url}/admin?site=acme`);
    assert.match(service.setupUrl ?? '', /\/admin\/setup\?token=[\w-]+&site=acme$/);
  });

  it('may load a logo of the author from another origin', async () => {
    const policy = policyOf(await fetch(`${service.url}/admin`));
    assert.match(policy, /; img-src 'self' data: blob: https:\/\/cdn\.example\.org; /);
  });
});

describe('The admin application that is turned off', () => {
  const service = use({ files: built, admin: false });

  it('is not there: neither its page nor its files, and no browser is led to it', async () => {
    const paths = ['/admin', '/admin/', '/admin/c/posts', '/admin/assets/index-C2.css', '/'];
    for (const path of paths) {
      const response = await fetch(service.url + path, { headers: { accept: 'text/html' } });
      const { message } = await response.json();
      assert.deepEqual([path, response.status, message], [path, 404, `there is no GET ${path}`]);
    }
  });

  it('leaves the setup link to the page that it was', async () => {
    assert.equal(service.adminUrl, null);
    assert.match(service.setupUrl ?? '', /^http:\/\/127\.0\.0\.1:\d+\/account\/users\/setup\?token=[\w-]+$/);
    assert.equal((await fetch(service.setupUrl ?? '')).status, 200);
  });
});

describe('The admin application that was not built', () => {
  const service = use({ path: '/cms' });

  it('says the command that builds it', async () => {
    for (const path of ['/admin', '/admin/c/posts', '/admin/login']) {
      const response = await fetch(service.url + path);
      assert.deepEqual([response.status, response.headers.get('content-type')], [404, 'text/html; charset=utf-8']);
      assert.match(await response.text(), /<pre>npm run build --workspace admin<\/pre>/);
      assert.equal(response.headers.get('cache-control'), 'no-store');
      assert.match(policyOf(response), /^default-src 'none'; /);
    }
    assert.equal((await fetch(`${service.url}/admin/assets/index-C2.css`)).status, 404);
  });

  it('leaves the pages that its links open to those of accounts', async () => {
    const pages = { 'accept-invite': 'accept-invite', reset: 'reset-password', setup: 'setup' };
    for (const [page, other] of Object.entries(pages)) {
      const { status, headers } = await fetch(`${service.url}/admin/${page}?token=a%26b`, { redirect: 'manual' });
      assert.deepEqual([status, headers.get('location')], [302, `/cms/account/users/${other}?token=a%26b`]);
    }
    const page = await fetch(service.setupUrl ?? '');
    assert.deepEqual([page.status, new URL(page.url).pathname], [200, '/cms/account/users/setup']);
  });
});
