import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, it } from 'node:test';
import type { Config } from '../../config/define.ts';
import { anonymous, type LoggedIn, loggedIn } from '../helpers/accounts.ts';
import { useServiceHere } from '../helpers/embedded.ts';
import { assertRecorded, assertRefusalRecordsNothing } from '../helpers/recorded.ts';
import type { Answer, CallOptions } from '../helpers/service.ts';
import { dial, sendRaw } from '../helpers/shared.ts';

const service = useServiceHere({
  bcryptCost: 4,
  rateLimit: false,
  collections: [
    { slug: 'users', auth: { useAPIKey: true }, fields: [] },
    {
      slug: 'media',
      upload: { maxFileSize: 200_000 },
      access: {
        read: ({ user, doc }) => user !== null || doc?.owner !== 'bob',
        create: ({ user }) => user !== null,
        update: ({ user, doc }) => user !== null && doc?.owner === user.email?.toString().split('@')[0],
        delete: () => false,
      },
      fields: [{ name: 'owner', type: 'text' }],
    },
    { slug: 'images', upload: { mimeTypes: ['image/png'] }, access: { read: () => true }, fields: [] },
  ],
} satisfies Config);

const media = '/api/collections/media';
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let eve: LoggedIn;
let bob: LoggedIn;

/** A server inside the network, which nothing may ask. */
const asked: string[] = [];
const inside = createServer((request, response) => {
  asked.push(request.url ?? '');
  response.end('inside');
}).listen(0, '127.0.0.1');
await once(inside, 'listening');
after(() => inside.close());
const insideUrl = `http://127.0.0.1:${(inside.address() as AddressInfo).port}`;

type Sent = { name?: string; type?: string; fields?: Record<string, string>; method?: string };

/** Sends a file in a form, by POST unless said otherwise. */
async function send(path: string, bytes: string | Buffer, as: CallOptions, sent: Sent = {}): Promise<Answer> {
  const { name = 'file.txt', type = '', fields = {}, method = 'POST' } = sent;
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append('file', new Blob([Buffer.from(bytes as string)], { type }), name);
  const headers = { ...(as.key ? { 'x-api-key': as.key } : {}), ...as.headers };
  const response = await fetch(service.url + path, { method, body: form, headers });
  const answer = { status: response.status, headers: response.headers, body: await response.json() };
  assertRefusalRecordsNothing(service.data, `${method} ${path}`, answer);
  return answer;
}

function okay({ status, body }: Answer, expected = 201): Answer['body'] {
  assert.equal(status, expected, JSON.stringify(body));
  return body;
}

const read = (url: string, as: CallOptions = eve.as) => fetch(service.url + url, { headers: { ...as.headers } });
const textOf = async (url: string, as?: CallOptions) => (await read(url, as)).text();

before(async () => {
  for (const name of ['eve', 'bob'])
    okay(
      await service.call('POST', '/api/collections/users', { email: `${name}@example.org`, password: 'correct horse' }),
    );
  eve = await loggedIn(service, 'users', 'eve@example.org', 'correct horse');
  bob = await loggedIn(service, 'users', 'bob@example.org', 'correct horse');
});

it('CVE-2026-34750, CVE-2026-105865, CVE-2026-105867 (Payload), CVE-2025-55746, CVE-2026-39942, CVE-2026-35412, GHSA-3742-46gx-c8cc, GHSA-xjxq-pj7h-g676 (Directus): no name or field in a request leads out of the store, or to the file of another document', async () => {
  const victim = okay(await send(media, 'of bob', bob.as, { fields: { owner: 'bob' } }));
  const folder = () =>
    readdirSync(service.data)
      .filter((name) => !/-(wal|shm)$/.test(name))
      .sort();
  const [before, above] = [folder(), readdirSync(`${service.data}/..`).sort()];
  for (const name of [
    '../../log.db',
    '..\\..\\log.db',
    '/etc/passwd',
    'C:\\boot.ini',
    '....//....//log.db',
    '%2e%2e%2flog.db',
    '..%c0%af..%c0%aflog.db',
    '.htaccess',
    'a\0.png',
    'con',
    `${'x'.repeat(300)}.txt`,
    victim.filename,
  ]) {
    const made = okay(await send(media, `of eve ${name}`, eve.as, { name, fields: { owner: 'eve' } }));
    assert.doesNotMatch(made.filename, /[/\\\0]|^\./, name);
    assert.ok(Buffer.byteLength(made.filename) <= 255);
    assert.equal(await textOf(made.url), `of eve ${name}`);
  }
  assert.deepEqual([folder(), readdirSync(`${service.data}/..`).sort()], [before, above]);

  const hers = okay(await send(media, 'of eve', eve.as, { fields: { owner: 'eve' } }));
  const pointed = {
    filename: victim.filename,
    url: victim.url,
    sha256: victim.sha256,
    filesize: 6,
    mimeType: 'text/html',
  };
  okay(await service.call('PATCH', `${media}/${hers.id}`, pointed, eve.as), 200);
  okay(await send(`${media}/${hers.id}`, 'of eve', eve.as, { method: 'PATCH', fields: pointed as never }), 200);
  for (const field of ['filename_disk', 'path', 'prefix', 'storage', 'key', 'uploaded_by', 'replace'])
    assert.equal(
      (await service.call('PATCH', `${media}/${hers.id}`, { [field]: victim.id }, eve.as)).status,
      400,
      field,
    );
  for (const path of [`${media}/${victim.id}`, `${media}/${victim.id}/../${victim.id}`]) {
    const refused = await assertRecorded(service, () => send(path, 'by eve', eve.as, { method: 'PATCH' }), []);
    assert.equal(refused.status, 403);
  }
  assert.equal(await textOf(victim.url), 'of bob');
  assert.equal(await textOf(hers.url), 'of eve');
  for (const name of ['../../log.db', '..%2f..%2flog.db', '%2e%2e/log.db', `../${victim.id}/${victim.filename}`]) {
    const { status } = await sendRaw(
      service.url,
      `GET /api/media/media/${hers.id}/${name} HTTP/1.1\r\nhost: x\r\n\r\n`,
    );
    assert.ok([400, 401, 404].includes(status), name);
  }
  // Bytes that two documents share are not taken from one with the other.
  const twin = okay(await send(media, 'of bob', eve.as, { fields: { owner: 'eve' } }));
  okay(await send(`${media}/${twin.id}`, 'another', eve.as, { method: 'PATCH' }), 200);
  okay(await service.call('DELETE', `${media}/${twin.id}`), 200);
  assert.equal(await textOf(victim.url), 'of bob');
});

it('GHSA-g6p9-6gm4-cj6m, GHSA-mc8m-rr6c-r5qr, CVE-2026-93363 (Payload): no file is accepted from a caller who may not create, or shown to a caller who may not read its document', async () => {
  for (const as of [anonymous, { headers: { authorization: 'Bearer x.y.z' } }]) {
    assert.equal((await send(media, 'from a stranger', as)).status, 401);
    for (const [method, path] of [
      ['PUT', `${media}/file.txt`],
      ['POST', '/api/media/media'],
      ['PUT', '/api/media/media/1/file.txt'],
      ['POST', '/api/upload'],
      ['PATCH', '/api/files/tus'],
    ] as const) {
      const headers = { 'tus-resumable': '1.0.0', 'upload-length': '4', ...as.headers };
      assert.ok(
        [401, 404, 405].includes((await service.call(method, path, undefined, { key: null, headers })).status),
        path,
      );
    }
  }
  const { id, url } = okay(await send(media, 'of bob alone', bob.as, { fields: { owner: 'bob' } }));
  assert.equal((await read(url, bob.as)).status, 200);
  for (const path of [url, `${url}?asOf=2099-01-01T00:00:00Z`, `${url}?token=x`, url.toUpperCase()])
    assert.ok([400, 401, 404].includes((await read(path, anonymous)).status), path);
  assert.equal((await fetch(service.url + url, { method: 'HEAD' })).status, 401);
  assert.equal((await fetch(service.url + url, { headers: { range: 'bytes=0-3' } })).status, 401);
  assert.equal((await service.call('GET', `${media}/${id}`, undefined, anonymous)).status, 401);
});

it('CVE-2026-22707 (Strapi): the type of a file is decided by its bytes, on each way to send the file', async () => {
  const { id } = okay(await send('/api/collections/images', png, eve.as, { name: 'a.png' }));
  for (const bytes of ['<html><script>1</script>', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'GIF89a', 'plain']) {
    for (const [path, method] of [
      ['/api/collections/images', 'POST'],
      [`/api/collections/images/${id}`, 'PATCH'],
    ] as const) {
      const fields = { mimeType: 'image/png' };
      const sent = { name: 'a.png', type: 'image/png', method, fields };
      const { status } = await assertRecorded(service, () => send(path, bytes, eve.as, sent), []);
      assert.equal(status, 400, `${method} ${bytes}`);
    }
  }
});

it('CVE-2026-105862, CVE-2026-105868 (Payload), CVE-2025-64747 (Directus): no uploaded file of any type runs a script in our origin', async () => {
  const script = '<script>alert(document.domain)</script>';
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)">${script}</svg>`;
  const stylesheet = `<?xml version="1.0"?><xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"/>`;
  const files: Record<string, string | Buffer> = {
    'page.html': `<!doctype html>${script}`,
    'late.html': `${' '.repeat(600)}<html>${script}`,
    'comment.html': `<!-- ${'x'.repeat(300)} -->${script}`,
    'fragment.html': script,
    'body.html': `<body onload=alert(1)>`,
    'drawing.svg': svg,
    'marked.svg': `\ufeff<?xml version="1.0"?><!DOCTYPE svg><!-- x -->${svg}`,
    'wide.svg': Buffer.from(`\ufeff${svg}`, 'utf16le'),
    'page.xhtml': `<html xmlns="http://www.w3.org/1999/xhtml">${script}</html>`,
    'feed.xml': `<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="sheet.xsl"?><a/>`,
    'sheet.xsl': stylesheet,
    'math.mml': `<math xmlns="http://www.w3.org/1998/Math/MathML"><a xmlns="http://www.w3.org/1999/xhtml" href="javascript:alert(1)">x</a></math>`,
    'code.js': 'alert(document.domain)',
    'module.mjs': 'export default 1',
    'seven.html': '+ADw-script+AD4-alert(1)+ADw-/script+AD4-',
    'picture.png': Buffer.concat([png, Buffer.from(script)]),
    'both.gif': `GIF89a/*${script}*/=1;alert(1)`,
    'paper.pdf': `%PDF-1.4\n${script}`,
    'mail.eml': `Content-Type: text/html\r\n\r\n${script}`,
    'archive.mht': `MIME-Version: 1.0\nContent-Type: text/html\n\n${script}`,
  };
  // Browsers run scripts in these types; all others are text, images, or downloads.
  const active = /^(text\/html|application\/xhtml\+xml|image\/svg\+xml|.*xml.*)/;
  const scripts = /javascript|ecmascript/;
  for (const [name, bytes] of Object.entries(files)) {
    const { url } = okay(await send(media, bytes, eve.as, { name, type: 'text/html', fields: { owner: 'eve' } }));
    const { headers, status } = await read(url);
    const type = headers.get('content-type') ?? '';
    assert.equal(status, 200);
    assert.equal(headers.get('x-content-type-options'), 'nosniff', name);
    assert.doesNotMatch(type, scripts, name);
    const policy = headers.get('content-security-policy') ?? '';
    if (active.test(type)) {
      assert.match(policy, /(^|; ?)sandbox(;|$)/, `${name}: a sandbox that allows nothing`);
      assert.match(policy, /default-src 'none'/, name);
    }
    if (type.startsWith('application/octet-stream'))
      assert.match(headers.get('content-disposition') ?? '', /^attachment/, name);
  }
});

it('CVE-2026-27567, CVE-2026-34746, CVE-2026-105861 (Payload), CVE-2023-26492, CVE-2024-39699 (Directus), CVE-2024-37818 (Strapi): no upload makes the service request a URL', async () => {
  const address = `${insideUrl}/secret`;
  for (const body of [
    { url: address },
    { file: address },
    { importUrl: address, data: {} },
    { sha256: 'x', url: address },
  ])
    assert.ok((await service.call('POST', media, body, eve.as)).status >= 400);
  for (const fields of [{ url: address }, { src: address }, { external: address }])
    assert.ok((await send(media, 'x', eve.as, { fields })).status < 500);
  const entity = `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY x SYSTEM "${address}">]>`;
  const nested = `<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">&x;<image href="${address}"/></svg>`;
  for (const bytes of [entity + nested, nested, `<html><img src="${address}">`, `[InternetShortcut]\nURL=${address}`])
    okay(await send(media, bytes, eve.as, { fields: { owner: 'eve' } }));
  for (const path of ['/api/files/import', '/api/proxy', '/_next/image'])
    assert.equal(
      (await service.call('GET', `${path}?url=${encodeURIComponent(address)}`, undefined, eve.as)).status,
      404,
    );
  assert.deepEqual(asked, []);
});

it('CVE-2024-31217 (Strapi), CVE-2025-30225, CVE-2025-30350 (Directus): an interrupted or invalid upload, a partial read and a HEAD request affect no other request', async () => {
  const { url } = okay(await send(media, 'x'.repeat(100_000), eve.as, { fields: { owner: 'eve' } }));
  const head = [
    `POST ${media} HTTP/1.1`,
    'host: x',
    `authorization: Bearer ${eve.token}`,
    'content-type: multipart/form-data; boundary=b',
    'content-length: 100000',
    '',
    '--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n',
  ].join('\r\n');
  for (const bytes of [head, `${head}\x89PNG\r\n\x1a\n`, `${head}${'x'.repeat(50_000)}`]) {
    const socket = dial(service.url, bytes);
    await new Promise((resolve) => setTimeout(resolve, 20));
    socket.destroy();
  }
  const broken = [
    png.subarray(0, 20),
    Buffer.concat([png.subarray(0, 16), Buffer.alloc(64, 0xff)]),
    Buffer.from('\xff\xd8\xff'),
  ];
  for (const bytes of broken) assert.ok((await send(media, bytes, eve.as, { fields: { owner: 'eve' } })).status < 500);
  for (const body of [
    '',
    '--b',
    '--b--',
    '--b\r\n\r\n\r\n--b--',
    '--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n--b--\r\n',
  ]) {
    const headers = { ...eve.as.headers, 'content-type': 'multipart/form-data; boundary=b' };
    assert.equal((await service.call('POST', media, body, { key: null, headers })).status, 400, JSON.stringify(body));
  }
  const { authorization = '' } = eve.as.headers ?? {};
  const heads = Array.from({ length: 60 }, () =>
    fetch(service.url + url, { method: 'HEAD', headers: { authorization } }),
  );
  assert.ok((await Promise.all(heads)).every(({ status }) => status === 200));
  for (const range of [
    'bytes=5-1',
    'bytes=-0',
    'bytes=99999999999-',
    'bytes=a-b',
    `bytes=${'0-1,'.repeat(500)}0-1`,
    'items=0-1',
  ])
    assert.ok(
      [200, 206, 416].includes((await fetch(service.url + url, { headers: { authorization, range } })).status),
      range,
    );
  // Parts that are asked for and not read.
  for (let count = 0; count < 20; count += 1)
    dial(service.url, `GET ${url} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n\r\n`).destroy();
  assert.equal((await textOf(url)).length, 100_000);
  okay(await send(media, 'after all', eve.as, { fields: { owner: 'eve' } }));
});
