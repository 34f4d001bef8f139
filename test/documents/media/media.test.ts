import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { rmSync, truncateSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { anonymous, type LoggedIn, loggedIn } from '../../helpers/accounts.ts';
import { downloadsFrom, get as getFrom, type Kept, upload as uploadTo } from '../../helpers/downloads.ts';
import { type Answer, apiKey, type CallOptions } from '../../helpers/service.ts';
import { eventually, logLines, sendRaw, useService } from '../../helpers/shared.ts';

const service = useService(
  `
const yes = () => true;
const upload = { maxFileSize: 50_000_000 };
const alt = { name: 'alt', type: 'text' };
export default {
  bcryptCost: 4,
  collections: [
    { slug: 'people', auth: { cookies: {} }, fields: [], access: { create: yes } },
    { slug: 'files', upload, fields: [alt], access: { read: yes } },
    { slug: 'closed', upload, fields: [alt] },
    { slug: 'ruled', upload, fields: [alt], access: { read: ({ user }) => user ? true : { alt: { equals: 'for all' } } } },
    { slug: 'looking', upload, fields: [alt], access: { read: ({ doc }) => doc.alt === 'for all' } },
    { slug: 'hooked', upload, fields: [alt], access: { read: yes }, hooks: { afterRead: ({ data, req }) => {
      if (data.alt === 'hidden' && req.method === 'GET') throw Object.assign(new Error('not for your eyes'), { statusCode: 451 });
      return { ...data, filename: 'made by a hook' };
    } } },
    { slug: 'notes', fields: [alt], access: { read: yes } },
  ],
}`,
  { ANNALS_THREADS: '1' },
);

const content = Buffer.from(Uint8Array.from({ length: 10_000 }, (_, index) => 97 + (index % 26)));
const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script>${'<g/>'.repeat(2000)}</svg>`;
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

const upload = (slug: string, bytes: BlobPart, filename: string, alt?: string) =>
  uploadTo(service, slug, bytes, filename, alt);
const get = (path: string, headers?: Record<string, string>, method?: string) =>
  getFrom(service, path, headers, method);

/** A request line as it is: fetch would tidy it up. */
function getRaw(target: string): Promise<Answer> {
  return sendRaw(service.url, `GET ${target} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\n\r\n`);
}

function assertNotFound({ status, body, headers }: Answer, what: string): void {
  assert.equal(status, 404, what);
  assert.deepEqual(Object.keys(body).sort(), ['code', 'error', 'message', 'statusCode'], what);
  assert.deepEqual([body.statusCode, body.error], [404, 'Not Found'], what);
  assert.match(headers.get('x-request-id') ?? '', /^[\da-f-]{36}$/, what);
}

const blobPath = (sha256: string) => join(service.data, 'blobs', sha256.slice(0, 2), sha256);

let file: Kept;
let ada: LoggedIn;

before(async () => {
  const password = 'correct horse battery';
  await service.call('POST', '/api/collections/people', { email: 'ada@example.org', password });
  file = await upload('files', content, 'letters.txt');
  ada = await loggedIn(service, 'people', 'ada@example.org', password);
});

describe('GET /api/media/<slug>/{id}/{filename}', () => {
  it('gives the bytes, with what a client has to know of them', async () => {
    const { status, headers, bytes } = await get(file.url);
    assert.equal(status, 200);
    assert.ok(bytes.equals(content));
    const shown = ['content-type', 'content-length', 'etag', 'accept-ranges', 'content-disposition', 'cache-control'];
    assert.deepEqual(
      shown.map((name) => headers.get(name)),
      [
        'text/plain; charset=utf-8',
        '10000',
        `"${createHash('sha256').update(content).digest('hex')}"`,
        'bytes',
        'inline; filename=letters.txt',
        'no-cache',
      ],
    );
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('cross-origin-resource-policy'), 'cross-origin');
    assert.equal(headers.get('content-security-policy'), null);
  });

  it('tells the same in a HEAD', async () => {
    const changing = ['date', 'x-request-id', 'connection', 'keep-alive'];
    const plain = (headers: Headers) => [...headers].filter(([name]) => !changing.includes(name));
    const [asked, told] = [await get(file.url), await get(file.url, { range: 'bytes=0-1' }, 'HEAD')];
    assert.deepEqual([told.status, told.bytes.length], [200, 0]);
    assert.deepEqual(plain(told.headers), plain(asked.headers));
    assert.equal((await get(`${file.url}x`, {}, 'HEAD')).status, 404);
  });

  it('is not compressed', async () => {
    const image = await upload('files', svg, 'image.svg');
    for (const [url, size] of [
      [file.url, content.length],
      [image.url, svg.length],
    ] as const) {
      const { status, headers, bytes } = await get(url, { 'accept-encoding': 'gzip' });
      assert.deepEqual(
        [status, headers.get('content-encoding'), headers.get('content-length')],
        [200, null, String(size)],
      );
      assert.equal(bytes.length, size);
      const part = await get(url, { 'accept-encoding': 'gzip', range: 'bytes=10-' });
      assert.deepEqual([part.status, part.headers.get('content-encoding')], [206, null]);
      assert.ok(part.bytes.equals(bytes.subarray(10)));
    }
  });

  it('keeps from running what a browser would run', async () => {
    for (const [bytes, name] of [
      [svg, 'image.svg'],
      ['<!doctype html><script>alert(1)</script>', 'page.html'],
    ] as const) {
      const { url } = await upload('files', bytes, name);
      for (const headers of [{}, { range: 'bytes=0-5' }]) {
        const policy = (await get(url, headers)).headers.get('content-security-policy') ?? '';
        assert.match(policy, /^sandbox; default-src 'none'/);
        assert.doesNotMatch(policy, /allow-|script-src/);
      }
    }
    const { url } = await upload('files', Buffer.from([0, 1, 2, 255]), 'data.bin');
    const { headers } = await get(url);
    assert.deepEqual(
      [headers.get('content-type'), headers.get('content-disposition')],
      ['application/octet-stream', 'attachment; filename=data.bin'],
    );
    const image = await upload('files', png, 'dot.png');
    assert.equal((await get(image.url)).headers.get('content-type'), 'image/png');
  });

  it('takes no query but what gets past caches', async () => {
    assert.equal((await get(`${file.url}?_=1`)).status, 200);
    const { status, body } = await service.call('GET', `${file.url}?depth=1`);
    assert.deepEqual([status, body.errors[0].field], [400, 'depth']);
  });

  it('knows no other method', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const { status, headers } = await service.call(method, file.url);
      assert.deepEqual([status, headers.get('allow')], [405, 'GET, HEAD, OPTIONS'], method);
    }
  });

  it('is the file of today', async () => {
    const { id, url } = await upload('files', 'before', 'changing.txt');
    const before = await get(url);
    const form = new FormData();
    form.set('file', new Blob(['after']), 'changed.txt');
    const path = `/api/collections/files/${id}`;
    const response = await fetch(service.url + path, { method: 'PATCH', headers: { 'x-api-key': apiKey }, body: form });
    const changed = (await response.json()) as Kept;
    assert.equal(response.status, 200, JSON.stringify(changed));
    assert.equal((await get(changed.url, { 'if-none-match': before.headers.get('etag') ?? '' })).status, 200);
    assert.equal((await get(changed.url)).bytes.toString(), 'after');
    assert.equal((await get(url)).status, 404);
    await service.call('DELETE', path);
    assert.equal((await get(changed.url)).status, 404);
  });
});

describe('Ranges of a file', () => {
  const wanted: Record<string, [number, number]> = {
    'bytes=0-0': [0, 0],
    'bytes=0-9': [0, 9],
    'bytes=9990-20000': [9990, 9999],
    'bytes=9999-': [9999, 9999],
    'bytes=0-': [0, 9999],
    'bytes=-1': [9999, 9999],
    'bytes=-10000': [0, 9999],
    'bytes=-10001': [0, 9999],
    'bytes=-99999999999999999999999': [0, 9999],
    'BYTES=5-6': [5, 6],
  };
  for (const [range, [start, end]] of Object.entries(wanted)) {
    it(`${range} is ${start} to ${end}`, async () => {
      const { status, headers, bytes } = await get(file.url, { range });
      assert.deepEqual([status, headers.get('content-range')], [206, `bytes ${start}-${end}/10000`]);
      assert.equal(headers.get('content-length'), String(end - start + 1));
      assert.ok(bytes.equals(content.subarray(start, end + 1)));
    });
  }

  for (const range of ['bytes=10000-', 'bytes=10000-10001', 'bytes=-0', 'bytes=99999999999999999999-', 'bytes=2-1']) {
    it(`${range} is not part of it: 416`, async () => {
      const { status, headers, body } = await service.call('GET', file.url, undefined, { headers: { range } });
      assert.deepEqual([status, headers.get('content-range')], [416, 'bytes */10000']);
      assert.deepEqual([body.statusCode, body.error], [416, 'Requested Range Not Satisfiable']);
      assert.match(body.message, /10000 bytes/);
    });
  }

  for (const range of ['bytes=0-1,3-4', 'bytes=0-1,99999-', 'lines=0-1', 'bytes', 'bytes=', 'bytes=a-b', 'bytes=--1']) {
    it(`${range} is all of it`, async () => {
      const { status, headers, bytes } = await get(file.url, { range });
      assert.deepEqual([status, headers.get('content-range'), bytes.length], [200, null, 10_000]);
    });
  }

  it('count only under an If-Range that is the tag', async () => {
    const range = 'bytes=0-1';
    const tag = `"${file.sha256}"`;
    assert.equal((await get(file.url, { range, 'if-range': tag })).status, 206);
    const others = [`W/${tag}`, '"other"', file.sha256, 'Wed, 21 Oct 2015 07:28:00 GMT', '*'];
    for (const other of others) {
      assert.equal((await get(file.url, { range, 'if-range': other })).status, 200, other);
      assert.equal((await get(file.url, { range: 'bytes=99999-', 'if-range': other })).status, 200, other);
    }
  });
});

describe('A file that the client has', () => {
  it('is not sent again: 304', async () => {
    const tag = `"${file.sha256}"`;
    for (const method of ['GET', 'HEAD']) {
      for (const header of [tag, `W/${tag}`, `"other" , ${tag}`, '*']) {
        const { status, headers, bytes } = await get(file.url, { 'if-none-match': header }, method);
        assert.deepEqual([status, bytes.length], [304, 0], header);
        assert.deepEqual([headers.get('etag'), headers.get('cache-control')], [tag, 'no-cache']);
      }
      for (const header of ['"other"', file.sha256, `"${file.sha256}-gzip"`, '']) {
        assert.equal((await get(file.url, { 'if-none-match': header }, method)).status, 200, header);
      }
    }
  });

  it('is refused to those who may not read it, like everything else', async () => {
    const { url, sha256 } = await upload('closed', 'secret', 'secret.txt');
    assert.equal((await get(url, { 'if-none-match': `"${sha256}"` })).status, 401);
    assert.equal((await get(url, { 'if-none-match': '*', range: 'bytes=99-' })).status, 401);
  });
});

describe('The access to a file', () => {
  /** Both answers, of which only the status and the message are compared. */
  async function both(slug: string, id: string, filename: string, options: CallOptions): Promise<[number, string]> {
    const document = await service.call('GET', `/api/collections/${slug}/${id}`, undefined, options);
    const answer = await get(`/api/media/${slug}/${id}/${filename}`, {
      ...(options.key === null ? {} : { 'x-api-key': options.key ?? apiKey }),
      ...options.headers,
    });
    assert.equal(answer.status, document.status);
    const { message = '' } = answer.status === 200 ? {} : JSON.parse(answer.bytes.toString());
    assert.equal(message, document.body.message ?? '');
    return [answer.status, message];
  }

  it('is that to the document', async () => {
    const cookie = { key: null, headers: { cookie: `annals-people=${ada.token}` } };
    const bad = { key: null, headers: { authorization: 'Bearer no' } };
    const badCookie = { key: null, headers: { cookie: 'annals-people=no' } };
    const callers = { key: {}, user: ada.as, cookie, anonymous, bad, badKey: { key: 'no' }, badCookie };
    const found: Record<string, number[]> = {};
    for (const [slug, alt] of [
      ['files', ''],
      ['closed', ''],
      ['ruled', ''],
      ['ruled', 'for all'],
      ['looking', ''],
      ['looking', 'for all'],
      ['hooked', 'hidden'],
      ['hooked', ''],
    ] as const) {
      const { id } = await upload(slug, `for ${slug}`, 'file.txt', alt);
      const statuses = Object.values(callers).map((options) => both(slug, id, 'file.txt', options));
      found[`${slug} ${alt}`] = (await Promise.all(statuses)).map(([status]) => status);
    }
    assert.deepEqual(found, {
      'files ': [200, 200, 200, 200, 401, 401, 200],
      'closed ': [200, 200, 200, 401, 401, 401, 401],
      'ruled ': [200, 200, 200, 401, 401, 401, 401],
      'ruled for all': [200, 200, 200, 200, 401, 401, 200],
      'looking ': [200, 403, 403, 401, 401, 401, 401],
      'looking for all': [200, 200, 200, 200, 401, 401, 200],
      'hooked hidden': [451, 451, 451, 451, 401, 401, 451],
      'hooked ': [200, 200, 200, 200, 401, 401, 200],
    });
  });

  it('does not tell a caller without the right that a document is missing', async () => {
    const id = '00000000-0000-7000-8000-000000000000';
    assert.deepEqual(await both('closed', id, 'x', anonymous), [401, 'an API key or a token is needed']);
    assert.equal((await both('looking', id, 'x', anonymous))[0], 401);
    assert.equal((await both('looking', id, 'x', ada.as))[0], 404);
    assert.equal((await both('closed', id, 'x', {}))[0], 404);
    assert.equal((await both('files', id, 'x', anonymous))[0], 404);
    const { url } = await upload('closed', 'secret', 'secret.txt');
    assert.equal((await get(url.replace('secret.txt', 'guess.txt'))).status, 401);
  });

  it('is not lent to others by a proxy', async () => {
    const { url, sha256 } = await upload('ruled', 'for all', 'file.txt', 'for all');
    const cachingOf = async (headers: Record<string, string>) => {
      const answer = await get(url, headers);
      return ['cache-control', 'cross-origin-resource-policy'].map((name) => answer.headers.get(name));
    };
    assert.deepEqual(await cachingOf({}), ['no-cache', 'cross-origin']);
    assert.deepEqual(await cachingOf({ 'if-none-match': `"${sha256}"` }), ['no-cache', 'cross-origin']);
    assert.deepEqual(await cachingOf({ cookie: 'annals-people=no' }), ['private, no-cache', 'cross-origin']);
    for (const headers of [{ 'x-api-key': apiKey }, ada.as.headers, { cookie: `annals-people=${ada.token}` }]) {
      assert.deepEqual(await cachingOf({ ...headers }), ['private, no-cache', null]);
      assert.deepEqual(await cachingOf({ ...headers, 'if-none-match': '*' }), ['private, no-cache', null]);
    }
  });
});

describe('A path that is no file', () => {
  it('is a 404: another name, another document, another collection', async () => {
    const other = await upload('files', 'other', 'other.txt');
    for (const path of [
      `/api/media/files/${file.id}/other.txt`,
      `/api/media/files/${other.id}/letters.txt`,
      `/api/media/closed/${file.id}/letters.txt`,
      `/api/media/notes/${file.id}/letters.txt`,
      `/api/media/none/${file.id}/letters.txt`,
      `/api/media/files/${file.id}/LETTERS.TXT`,
      `/api/media/files/${file.id}/letters.txt/`,
      `/api/media/files/${file.id}/letters.txt/x`,
      `/api/media/files/${file.id}/`,
      `/api/media/files/${file.id}`,
      '/api/media/files',
      '/api/media/files/',
      '/api/media/',
      '/api/media',
      `/api/media/files/${file.id}/made%20by%20a%20hook`,
      `/api/media/files/${file.id}/letters`,
      `/api/media/files/${file.id}/null`,
      `/api/media/files/__proto__/constructor`,
      `/api/media/files/${file.id.toUpperCase()}/letters.txt`,
    ]) {
      assertNotFound(await service.call('GET', path), path);
    }
  });

  it('is a 404 however it is spelled to get out of the folder', async () => {
    const here = `/api/media/files/${file.id}`;
    const ups = ['..', '%2e%2e', '%2E%2e', '.%2e', '..%2f..', '%2e%2e%2f%2e%2e', '..%5c..', '..\\..', '%252e%252e'];
    const targets = [
      ...ups.flatMap((up) => [
        `${here}/${up}`,
        `${here}/${up}/`,
        `${here}/${up}/${up}/${up}/${up}/${up}/etc/passwd`,
        `${here}/${up}/${file.id}/letters.txt`,
        `${here}/${up}%2f${up}%2flog.db`,
        `/api/media/files/${up}/letters.txt`,
        `/api/media/${up}/collections/files/${file.id}`,
        `/api/media/${up}/${up}/health`,
      ]),
      `${here}/./letters.txt`,
      `${here}/%2e/letters.txt`,
      `${here}/x/../letters.txt`,
      `${here}/..;/letters.txt`,
      `${here}/letters.txt;x=1`,
      `${here}/;letters.txt`,
      `${here}//letters.txt`,
      `${here}/%2fletters.txt`,
      `${here}//etc/passwd`,
      `${here}/%2fetc%2fpasswd`,
      `${here}/%5cletters.txt`,
      `${here}/\\letters.txt`,
      `${here}/C:%5cwindows`,
      `${here}/%c0%ae%c0%ae`,
      `${here}/..%c0%af..%c0%afpasswd`,
      `${here}/%e0%80%af`,
      `${here}/%ed%a0%80`,
      `${here}/%ff`,
      `${here}/%00`,
      `${here}/letters.txt%00`,
      `${here}/letters.txt%00.png`,
      `${here}/%zz`,
      `${here}/%`,
      `${here}/%2`,
      `${here}/%u002e%u002e`,
      `${here}/letters%20.txt`,
      `${here}/letters.txt%20`,
      `${here}/letters.txt.`,
      `${here}/letters.txt::$DATA`,
      `${here}/${'a'.repeat(10_000)}`,
      `${here}/${'%f0%9f%a6%9c'.repeat(1000)}`,
      `${here}/${'../'.repeat(3000)}`,
      `${here}/${'%25'.repeat(3000)}2e`,
      `/api/media/%zz/x/y`,
      `/%61pi/media/files/${file.id}/%zz`,
      `/api/media/files/%00/letters.txt`,
      `http://x${here}/../letters.txt`,
      `http://x${here}/..\\..\\letters.txt`,
      `http://x${here}/%zz`,
    ];
    for (const target of targets) assertNotFound(await getRaw(target), target);
    const { body } = await getRaw(`${here}/%ff`);
    assert.equal(body.message, 'there is no such file: the path must be UTF-8 in percent-encoding, got "%ff"');
    // The intended names are found.
    for (const target of [
      file.url,
      `http://x${file.url}`,
      file.url.replace('letters', '%6cetters'),
      `${file.url}?_=/../%zz`,
    ]) {
      const text = await head(target);
      assert.match(text, /^HTTP\/1\.1 200 /, target);
    }
  });

  /** The head of an answer. */
  async function head(target: string): Promise<string> {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    socket.write(`HEAD ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
    const [chunk] = await once(socket, 'data');
    socket.destroy();
    return String(chunk);
  }
});

describe('Files on the disk', () => {
  it('that are missing or cut short are a bare 500, and the log says what to do', async () => {
    const damages: Record<string, (path: string) => void> = {
      'is missing': (path) => rmSync(path),
      'is short': (path) => truncateSync(path, 5),
    };
    for (const [what, damage] of Object.entries(damages)) {
      const { url, sha256, id } = await upload('files', `this one ${what}`, 'file.txt');
      damage(blobPath(sha256));
      for (const headers of [{}, { range: 'bytes=0-1' }]) {
        const { status, body } = await service.call('GET', url, undefined, { headers });
        assert.deepEqual([status, body.message], [500, 'An internal server error occurred'], what);
        await eventually(() => logLines(service).some(({ err }) => err?.message.includes(id)));
      }
      assert.equal((await get(url, {}, 'HEAD')).status, 500);
      const { err } = logLines(service).find((line) => line.err?.message.includes(id));
      assert.match(err.message, /annals blobs verify/);
      assert.ok(err.stack.includes(sha256), err.stack);
    }
    assert.equal((await get(file.url)).status, 200);
  });
});

describe('A file in a folder', () => {
  downloadsFrom(service, 16);
});
