import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Server } from '@hapi/hapi';
import Hapi from '@hapi/hapi';
import { parse as parseDisposition } from 'content-disposition';
import { mediaPath } from '../../../config/uploads.ts';
import { registerAuthentication } from '../../../server/callers/authentication.ts';
import { media } from '../../../server/documents/media/routes.ts';
import { answerErrors } from '../../../server/http/errors.ts';
import { createLog } from '../../../server/platform/logging.ts';
import { BlobMissingError, type BlobStore, BlobsRefusedError, BlobsUnavailableError } from '../../../storage/blobs.ts';
import { withApp } from '../../helpers/openapi.ts';
import { eventually } from '../../helpers/shared.ts';

const size = 950_000;
const sha256 = 'a'.repeat(64);
const patience = 150;
const kept = { mimeType: 'text/plain', filesize: size, width: null, height: null, sha256 };

const name = { filename: 'file.txt' };
// biome-ignore lint/suspicious/noExplicitAny: a log line may hold anything
let lines: any[] = [];
let store: Pick<BlobStore, 'open' | 'size'>;
let server: Server;
let root = '';
const done = Promise.withResolvers<void>();
let running: Promise<void>;

/** A service of one file, whose store the tests replace. */
before(async () => {
  const { promise: started, resolve, reject } = Promise.withResolvers<void>();
  const config = { collections: [{ slug: 'files', upload: true, fields: [], access: { read: () => true } }] };
  running = withApp(config, async (app) => {
    const [target] = app.collections.values();
    assert.ok(target);
    const text = (id: string) => JSON.stringify({ id, ...name, ...kept, url: mediaPath('files', id, name.filename) });
    const stored = (id: string) => ({ text: text(id), version: 1 });
    const changed = {
      ...app,
      collections: new Map([['files', { ...target, documents: { ...target.documents, stored } }]]),
      log: createLog('warn', { write: (line) => lines.push(JSON.parse(line)) }),
      blobs: { open: (...args) => store.open(...args), size: (...args) => store.size(...args) } as BlobStore,
    };
    server = Hapi.server({ host: '127.0.0.1', port: 0, debug: false, compression: { minBytes: 4096 } });
    registerAuthentication(server, changed);
    server.ext(
      'onPreResponse',
      answerErrors(
        (err) => {
          changed.log.error({ err });
          return undefined;
        },
        { backlog: { admit: () => null, hold: () => {} }, addTo: () => {} },
      ),
    );
    media(server, changed, patience);
    await server.start();
    root = server.info.uri;
    resolve();
    await done.promise;
    await server.stop({ timeout: 1000 });
  });
  running.catch(reject);
  await started;
});

after(async () => {
  done.resolve();
  await running;
});

afterEach(() => {
  lines = [];
  name.filename = 'file.txt';
  Object.assign(kept, { filesize: size, sha256 });
});

/** A store of one file, which gives `bytes` however many are asked for. */
function storeOf(bytes: () => Readable): typeof store {
  return { size: async () => size, open: async () => bytes() };
}

/** So many bytes; `end` comes after the last of them. */
function bytesOf(count: number, end: () => void = () => {}): Readable {
  async function* chunks() {
    for (let left = count; left > 0; left -= 100_000) yield Buffer.alloc(Math.min(left, 100_000), 'x');
    end();
  }
  return Readable.from(chunks(), { objectMode: false });
}

/** A file of which there is always more, in the store until the end of the test. */
function endless(): Readable {
  const bytes = bytesOf(Number.MAX_SAFE_INTEGER);
  kept.filesize = Number.MAX_SAFE_INTEGER;
  store = { size: async () => kept.filesize, open: async () => bytes };
  return bytes;
}

/** A caller who only asks. */
async function call(): Promise<Socket> {
  const socket = connect(Number(server.info.port), '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  socket.write(`GET ${mediaPath('files', '1', name.filename)} HTTP/1.1\r\nhost: x\r\n\r\n`);
  return socket;
}

const get = (headers: Record<string, string> = {}) => fetch(root + mediaPath('files', '1', name.filename), { headers });

describe('A file that the store does not give as it was received', () => {
  const refusals: Record<string, [typeof store, RegExp]> = {
    'is missing': [
      { size: async () => null, open: () => Promise.reject(new BlobMissingError(sha256)) },
      /the bytes with SHA-256 a{64} are missing/,
    ],
    'goes missing': [
      { size: async () => size, open: () => Promise.reject(new BlobMissingError(sha256)) },
      /the bytes with SHA-256 a{64} are missing/,
    ],
    'has another size': [
      { size: async () => size - 1, open: () => assert.fail('it is not opened') },
      /of the bytes with SHA-256 a{64} there are 949999, not 950000/,
    ],
  };

  for (const [what, [given, cause]] of Object.entries(refusals)) {
    it(`${what}: a bare 500, and the log says what to do`, async () => {
      store = given;
      const answer = await get();
      assert.equal(answer.status, 500);
      assert.deepEqual(await answer.json(), {
        statusCode: 500,
        error: 'Internal Server Error',
        code: 'internal',
        message: 'An internal server error occurred',
      });
      assert.equal(lines.length, 1);
      assert.match(lines[0].err.message, /files\/1.*annals blobs verify/s);
      assert.match(lines[0].err.stack, cause);
    });
  }

  it('cannot be reached, or refuses reads: 503 with Retry-After, and the log says why', async () => {
    const away = () => Promise.reject(new BlobsUnavailableError('unreachable', 'connect ECONNREFUSED 10.0.0.1:9000'));
    const denied = () => Promise.reject(new BlobsRefusedError('the bucket denies access: the keys must be right'));
    const known = async () => size;
    for (const [given, cause] of [
      [{ size: away, open: away }, /ECONNREFUSED/],
      [{ size: known, open: away }, /ECONNREFUSED/],
      [{ size: denied, open: denied }, /denies access/],
      [{ size: known, open: denied }, /denies access/],
    ] as const) {
      store = given;
      const answer = await get();
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5']);
      assert.deepEqual(await answer.json(), {
        statusCode: 503,
        error: 'Service Unavailable',
        code: 'unavailable',
        message: 'files can be neither kept nor read at the moment: nothing was changed',
      });
      assert.match(lines.pop().err.message, cause);
    }
  });

  const broken: Record<string, [() => Readable, RegExp]> = {
    'breaks off': [
      () =>
        bytesOf(500_000, () => {
          throw new Error('the connection was lost');
        }),
      /the connection was lost/,
    ],
    'ends early': [() => bytesOf(500_000), /450000 bytes less/],
    'is longer': [() => bytesOf(size + 1), /more bytes/],
    'is closed without a word': [
      () => {
        const stream: Readable = bytesOf(500_000, () => stream.destroy());
        return stream;
      },
      /450000 bytes less/,
    ],
  };

  for (const [what, [bytes, message]] of Object.entries(broken)) {
    it(`${what}: the connection ends before the file does, logged once`, async () => {
      store = storeOf(bytes);
      const answer = await get();
      assert.deepEqual([answer.status, answer.headers.get('content-length')], [200, String(size)]);
      await assert.rejects(answer.arrayBuffer());
      await eventually(() => lines.length > 0);
      assert.deepEqual(
        lines.map(({ level, msg }) => [level, msg]),
        [[40, 'a download was cut off']],
      );
      assert.match(lines[0].err.message, message);
      store = storeOf(() => bytesOf(size));
      assert.equal((await (await get()).arrayBuffer()).byteLength, size);
    });
  }
});

describe('The bytes of the store', () => {
  it('are asked for once, and only those that are sent', async () => {
    const asked: unknown[] = [];
    store = {
      size: async () => size,
      open: async (...args) => {
        asked.push(args);
        return bytesOf(10);
      },
    };
    await (await get({ range: 'bytes=5-14' })).arrayBuffer();
    assert.deepEqual(asked, [[sha256, { start: 5, end: 14 }]]);
  });

  it('are not asked for if no byte is sent', async () => {
    store = { size: async () => size, open: () => assert.fail('the file was opened') };
    const tag = `"${sha256}"`;
    for (const header of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      assert.equal((await get({ 'if-none-match': header, range: 'bytes=0-1' })).status, 304, header);
    }
    assert.equal((await get({ range: `bytes=${size}-` })).status, 416);
    assert.equal((await fetch(root + mediaPath('files', '1', 'file.txt'), { method: 'HEAD' })).status, 200);
  });

  it('are none of a document that was written before there were files', async () => {
    store = { size: () => assert.fail('a file was looked for'), open: () => assert.fail('a file was opened') };
    for (const other of [null, '', '../../log.db', `../${sha256}`, sha256.toUpperCase(), ['a'], 1]) {
      Object.assign(kept, { sha256: other });
      assert.equal((await get()).status, 404, String(other));
    }
  });

  it('come without the headers of the answer that they are in', async () => {
    const headers = { 'x-amz-request-id': '1', 'content-type': 'image/png', server: 'bucket', etag: '"other"' };
    store = storeOf(() => Object.assign(bytesOf(size), { statusCode: 206, headers }));
    const answer = await get();
    assert.deepEqual(
      ['x-amz-request-id', 'server', 'content-type', 'etag'].map((header) => answer.headers.get(header)),
      [null, null, 'text/plain; charset=utf-8', `"${sha256}"`],
    );
    assert.equal((await answer.arrayBuffer()).byteLength, size);
    assert.equal(answer.status, 200);
  });

  it('are let go of when the caller leaves', async () => {
    const bytes = endless();
    const leaving = new AbortController();
    const answer = await fetch(root + mediaPath('files', '1', 'file.txt'), { signal: leaving.signal });
    assert.equal(answer.status, 200);
    leaving.abort();
    await eventually(() => bytes.destroyed);
    assert.deepEqual(lines, []);
  });

  it('are let go of when the caller leaves before there are any', async () => {
    const bytes = bytesOf(size);
    const opening = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    store = {
      size: async () => size,
      open: async () => {
        opening.resolve();
        await left.promise;
        return bytes;
      },
    };
    const [[socket], caller] = await Promise.all([once(server.listener, 'connection'), call()]);
    await opening.promise;
    caller.destroy();
    await once(socket, 'close');
    left.resolve();
    await eventually(() => bytes.destroyed);
    assert.deepEqual(lines, []);
  });

  it('are let go of when the caller reads no more', async () => {
    const bytes = endless();
    const caller = await call();
    await once(caller, 'readable');
    await eventually(() => bytes.destroyed);
    assert.deepEqual(lines, []);
    caller.destroy();
  });

  it('leave the connection as patient as it was', async () => {
    store = storeOf(() => bytesOf(size));
    const [[socket], caller] = await Promise.all([once(server.listener, 'connection'), call()]);
    let received = 0;
    caller.on('data', (chunk) => {
      received += chunk.length;
    });
    await eventually(() => received > size && socket.timeout !== patience);
    assert.ok(socket.timeout > server.listener.keepAliveTimeout - 1, String(socket.timeout));
    caller.destroy();
  });
});

describe('The name of a download', () => {
  for (const filename of [
    'plain.txt',
    'two words.txt',
    'a "quoted" \\ name.txt',
    "it's; 100%25 of=it, (all).txt",
    'naïve € œuvre.txt',
    'Ελληνικά 漢字 العربية.txt',
    '🦜'.repeat(60),
    '%2e%2e',
    '%',
    'é'.normalize('NFD'),
    '...',
    '.htaccess',
    '__proto__',
    '?#&+.txt',
  ]) {
    it(`may be ${filename.slice(0, 30)}`, async () => {
      store = storeOf(() => bytesOf(1));
      name.filename = filename;
      const answer = await get({ range: 'bytes=0-0' });
      await answer.body?.cancel();
      assert.equal(answer.status, 206);
      const { type, parameters } = parseDisposition(answer.headers.get('content-disposition') ?? '');
      assert.deepEqual([type, parameters.filename], ['inline', filename]);
      const other = await fetch(root + mediaPath('files', '1', `${filename}x`));
      assert.equal(other.status, 404);
      await other.body?.cancel();
    });
  }
});
