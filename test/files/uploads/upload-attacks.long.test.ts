import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { bearer } from '../../helpers/accounts.ts';
import { apiKey, type Service, startService, temporaryFolder } from '../../helpers/service.ts';
import {
  dial,
  eventually,
  fieldsOf,
  type RawAnswer,
  received,
  recordedEvents,
  sendRaw,
  useService,
} from '../../helpers/shared.ts';

const maxFileSize = 100_000;
const maxTextBytes = 50_000;
const config = `
const yes = () => true;
export default {
  bcryptCost: 4,
  limits: { body: ${maxTextBytes} },
  collections: [
    { slug: 'media', upload: { maxFileSize: ${maxFileSize} }, fields: [{ name: 'alt', type: 'text' }, { name: 'data', type: 'json' }] },
    { slug: 'images', upload: { mimeTypes: ['image/*'] }, fields: [] },
    { slug: 'closed', upload: true, fields: [], access: { create: () => false, update: ({ doc }) => doc.filename === 'mine' } },
    { slug: 'ruled', upload: true, fields: [{ name: 'alt', type: 'text' }], access: { create: ({ data }) => data.alt === 'mine' } },
    { slug: 'slow', upload: true, fields: [], hooks: { beforeChange: [
      ({ data }) => new Promise((resolve) => setTimeout(() => resolve(data), 50)),
    ] } },
    { slug: 'edited', upload: true, fields: [], access: { create: ({ user }) => user?.role === 'editor' } },
    { slug: 'users', auth: { useAPIKey: true }, fields: [{ name: 'role', type: 'text' }] },
  ],
};`;
const service = useService(config, { ANNALS_THREADS: '1' });
const media = '/api/collections/media';
const key = `x-api-key: ${apiKey}`;
const type = 'content-type: multipart/form-data; boundary=b';

const head = (line: string, ...headers: string[]) => [`${line} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n');
const filePart = (content: string, filename = 'a.txt') => part(`name="file"; filename="${filename}"`, content);
const part = (disposition: string, content: string) =>
  `--b\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`;
const form = (...parts: string[]) => `${parts.join('')}--b--\r\n`;

type Sending = { headers?: string[]; line?: string; isChunked?: boolean; url?: string };

/** Sends a form over a bare socket, whole or in chunks, and gives what comes back on it. */
function send(
  body: string | Buffer,
  { headers = [key, type], line, isChunked, url }: Sending = {},
): Promise<RawAnswer> {
  const bytes = Buffer.from(body as string);
  const framing = isChunked ? 'transfer-encoding: chunked' : `content-length: ${bytes.length}`;
  const first = Buffer.from(head(line ?? `POST ${media}`, ...headers, framing));
  return sendRaw(url ?? service.url, Buffer.concat([first, ...(isChunked ? chunked(bytes) : [bytes])]));
}

function chunked(bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 10_000) {
    const piece = bytes.subarray(at, at + 10_000);
    chunks.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
  }
  return [...chunks, Buffer.from('0\r\n\r\n')];
}

const incoming = ({ data }: Service = service) => readdirSync(join(data, 'blobs/incoming'));

function isKept(content: string | Buffer, { data }: Service = service): boolean {
  const sha256 = createHash('sha256').update(content).digest('hex');
  return readdirSync(join(data, 'blobs'), { recursive: true }).some((path) => String(path).endsWith(sha256));
}

/** Asserts that nothing was kept or recorded, and that the service goes on. */
async function assertSound(sound: Service = service): Promise<void> {
  await eventually(() => incoming(sound).length === 0);
  const { status, body } = await send(form(filePart('still here')), { url: sound.url });
  assert.equal(status, 201, JSON.stringify(body));
}

const created = ({ data }: Service = service) =>
  recordedEvents(data).filter(({ type }) => type === 'document.created').length;

describe('A form that is wrong', () => {
  it('is refused with what is wrong about it', async () => {
    const before = created();
    const multipart = 'content-type: multipart/form-data';
    const longName = 'n'.repeat(201);
    for (const [status, message, body, headers] of [
      [400, /lacks the boundary/, form(filePart('x')), [key, multipart]],
      [400, /has a boundary that cannot be/, form(filePart('x')), [key, `${multipart}; boundary=${'b'.repeat(71)}`]],
      [400, /has a boundary that cannot be/, form(filePart('x')), [key, `${multipart}; boundary="b\\"`]],
      [415, /Unsupported/, form(filePart('x')), [key, 'content-type: multipart/mixed; boundary=b']],
      [415, /Unsupported/, form(filePart('x')), [key, 'content-type: application/x-www-form-urlencoded']],
      [415, /must not be encoded/, form(filePart('x')), [key, type, 'content-encoding: gzip']],
      [400, /ends before its closing boundary/, filePart('x')],
      [400, /ends before its closing boundary/, form(filePart('x')).slice(0, -3)],
      [400, /ends before its closing boundary/, ''],
      [400, /the name of a field must be at most 200 characters/, form(part(`name="${longName}"`, 'x'))],
      [400, /alt is not valid UTF-8/, Buffer.from(form(part('name="alt"', '\xff')), 'latin1')],
      [400, /not valid UTF-8/, Buffer.from(form(filePart('x', '\xff.txt')), 'latin1')],
      [
        400,
        /is multipart itself/,
        form(filePart('x').replace('\r\n\r\n', '\r\ncontent-type: multipart/mixed\r\n\r\n')),
      ],
      [400, /headers of a part are longer/, form(filePart('x', 'x'.repeat(20_000)))],
      [400, /at most 1000 parts/, form(filePart('x'), ...Array.from({ length: 10_000 }, () => part('name="alt"', '')))],
      [413, /at most 50000 bytes together/, form(part('name="alt"', 'x'.repeat(1024 * 1024)), filePart('x'))],
      [
        413,
        /at most 50000 bytes together/,
        form(filePart('x'), ...Array.from('abc', (name) => part(`name="${name}"`, 'x'.repeat(20_000)))),
      ],
      [413, /too long beside its file|file must be at most/, `${'x'.repeat(1_200_000)}\r\n${form(filePart('x'))}`],
      [413, /too long beside its file|file must be at most/, `${form(filePart('x'))}${'x'.repeat(1_200_000)}`],
    ] as const) {
      for (const isChunked of [false, true]) {
        const answer = await send(body, { headers: [...(headers ?? [key, type])], isChunked });
        assert.deepEqual([answer.status, answer.body.statusCode], [status, status], `${message}`);
        assert.match(answer.body.message, message);
      }
    }
    assert.equal(created(), before);
    await assertSound();
  });

  it('is read whole when all it has is odd', async () => {
    const quoted = [key, 'content-type: Multipart/Form-Data; charset=utf-8; boundary="b c"'];
    const body = `preamble\r\n${form(filePart('x')).replaceAll('--b', '--b c')}epilogue`;
    assert.equal((await send(body, { headers: quoted })).status, 201);
    const many = Array.from({ length: 999 }, (_, index) => part(`name="f${index}"`, 'x'));
    const answer = await send(form(...many, filePart('x')));
    assert.deepEqual([answer.status, fieldsOf(answer).length], [400, 100]);
    const alt = randomBytes(maxTextBytes / 2).toString('hex');
    for (const isChunked of [false, true]) {
      const texts = await send(form(part('name="alt"', alt), filePart('x')), { isChunked });
      assert.deepEqual([texts.status, texts.body.alt], [201, alt]);
      assert.equal((await send(form(part('name="alt"', `${alt}x`), filePart('x')), { isChunked })).status, 413);
    }
  });
});

describe('The name of a file', () => {
  it('is cleaned of all but a name, whatever the client sends', async () => {
    for (const [given, filename] of [
      ['../../etc/passwd', 'passwd'],
      ['..\\..\\windows\\win.ini', 'win.ini'],
      ['..', 'file'],
      ['nul\0byte.txt', 'nulbyte.txt'],
      ['CON', /^CON.+$/],
      ['😀'.repeat(200), /^😀{10,63}$/u],
      ['a%22b%0d%0a.txt', /^a.b.*\.txt$/],
      ['x"; filename*=UTF-8\'\'%2e%2e%2f%2e%2e%2fna%C3%AFve.txt; x="', 'naïve.txt'],
    ] as const) {
      const { status, body } = await send(form(filePart('x', given)));
      assert.equal(status, 201, given);
      if (typeof filename === 'string') assert.equal(body.filename, filename);
      else assert.match(body.filename, filename);
      assert.equal(body.url, `/api/media/media/${body.id}/${encodeURIComponent(body.filename)}`);
      assert.ok(Buffer.byteLength(body.filename) <= 255);
    }
  });
});

describe('A file of the largest size', () => {
  for (const isChunked of [false, true]) {
    it(`is taken, one byte less too, and one more is a 413, ${isChunked ? 'in chunks' : 'with Content-Length'}`, async () => {
      for (const [size, status] of [
        [maxFileSize - 1, 201],
        [maxFileSize, 201],
        [maxFileSize + 1, 413],
        [maxFileSize * 10, 413],
        [maxFileSize * 100, 413],
      ] as const) {
        const content = randomBytes(size).toString('hex').slice(0, size);
        const answer = await send(form(filePart(content), part('name="alt"', 'x')), { isChunked });
        assert.equal(answer.status, status, `${size}`);
        assert.equal(isKept(content), status === 201);
        if (status === 201) continue;
        const message = 'file must be at most 100000 bytes';
        assert.partialDeepStrictEqual(answer.body, { message, errors: [{ field: 'file', in: 'body', message }] });
      }
      await assertSound();
    });
  }

  it('is refused at once by its announced length, and so is a type that is not allowed', async () => {
    const promised = head(`POST ${media}`, key, type, 'content-length: 20000000000');
    assert.equal((await sendRaw(service.url, promised)).status, 413);
    const program = form(filePart(`MZ${'\0'.repeat(5_000_000)}`));
    const answer = await send(program, { line: 'POST /api/collections/images' });
    assert.deepEqual([answer.status, fieldsOf(answer)], [400, ['file']]);
  });
});

describe('A caller who waits to be told to go on', () => {
  const wait = 'expect: 100-continue';
  /** The answers before a byte of the body is sent, and after it. */
  async function ask(
    line: string,
    headers: string[],
    body = form(filePart('asked for')),
    contentType = type,
    meanwhile = async () => {},
  ) {
    const socket = dial(
      service.url,
      head(line, contentType, wait, `content-length: ${Buffer.byteLength(body)}`, ...headers),
    );
    const answered = received(socket);
    try {
      const first = await eventually(() => /^HTTP\/1\.1 (\d+)/.exec(answered())?.[1]);
      if (first !== '100') return first;
      await meanwhile();
      socket.write(body);
      return `100 ${await eventually(() => /\r\nHTTP\/1\.1 (\d+)/.exec(answered())?.[1])}`;
    } finally {
      socket.destroy();
    }
  }

  it('is told so only when the access rules let it pass', async () => {
    const { body: mine } = await send(form(filePart('x', 'mine')), { line: 'POST /api/collections/closed' });
    const { body: other } = await send(form(filePart('x')), { line: 'POST /api/collections/closed' });
    const users = '/api/collections/users';
    await service.call('POST', users, { email: 'ada@example.org', password: 'a long password' });
    const { body: session } = await service.call('POST', `${users}/login`, {
      email: 'ada@example.org',
      password: 'a long password',
    });
    const token = `authorization: Bearer ${session.token}`;
    const closed = '/api/collections/closed';
    for (const [line, headers, wanted] of [
      [`POST ${media}`, [], '401'],
      [`POST ${media}`, ['x-api-key: wrong'], '401'],
      [`POST ${media}`, [key], '100 201'],
      [`POST ${closed}`, [token], '403'],
      [`POST ${closed}`, [key], '100 201'],
      [`PATCH ${closed}/${mine.id}`, [token], '100 200'],
      [`PATCH ${closed}/${other.id}`, [token], '403'],
      [`PATCH ${closed}/${other.id}`, [], '401'],
      [`PATCH ${closed}/nope`, [token], '404'],
      [`PATCH ${closed}/nope`, [], '401'],
      ['POST /api/collections/ruled', [token], '100 403'],
    ] as const) {
      assert.equal(await ask(line, [...headers]), wanted, `${line} ${headers}`);
    }
    const large = form(filePart('x'.repeat(2_000_000)));
    assert.equal(await ask(`POST ${media}`, [key], large), '413');
    assert.equal(await ask('POST /api/collections/images', [key], large), '100 400');
    assert.equal(await ask(`POST ${media}`, [key], large, 'content-type: text/plain'), '415');
    assert.equal(await ask(`POST ${media}`, [key], large, 'content-type: multipart/form-data'), '400');
    await assertSound();
  });

  it('is judged by who they are when the file is there, not by who they were', async () => {
    const users = '/api/collections/users';
    const login = { email: 'eve@example.org', password: 'a long password' };
    const { body: user } = await service.call('POST', users, { ...login, role: 'editor' });
    const { body: session } = await service.call('POST', `${users}/login`, login);
    const token = `authorization: Bearer ${session.token}`;
    const edited = 'POST /api/collections/edited';
    const demote = async () => {
      assert.equal((await service.call('PATCH', `${users}/${user.id}`, { role: 'reader' })).status, 200);
    };
    assert.equal(await ask(edited, [token]), '100 201');
    assert.equal(await ask(edited, [token], form(filePart('too late')), type, demote), '100 403');
    const logout = async () => {
      assert.equal((await service.call('POST', `${users}/logout`, undefined, bearer(session.token))).status, 200);
    };
    assert.equal(await ask(`POST ${media}`, [token], form(filePart('too late')), type, logout), '100 401');
    assert.ok(!isKept('too late'));
  });
});

describe('A client that goes away', () => {
  it('in the middle leaves nothing, wherever it was', async () => {
    const before = created();
    const whole = form(part('name="alt"', 'x'), filePart(randomBytes(45_000).toString('hex')));
    for (let sent = 1; sent < whole.length; sent += 6000) {
      const socket = dial(
        service.url,
        head(`POST ${media}`, key, type, `content-length: ${whole.length}`) + whole.slice(0, sent),
      );
      if (sent > 1000) await eventually(() => incoming().length > 0);
      socket.destroy();
      await eventually(() => incoming().length === 0);
    }
    assert.equal(created(), before);
    await assertSound();
  });

  it('after its body leaves the document with its file, or nothing, and no temporary file', async () => {
    const content = 'sent by one who did not wait';
    const body = form(filePart(content));
    const line = 'POST /api/collections/slow';
    const socket = dial(service.url, head(line, key, type, `content-length: ${body.length}`) + body);
    await eventually(() => incoming().length > 0);
    socket.destroy();
    await eventually(() => incoming().length === 0);
    // The bytes of a file are kept a moment before its document exists.
    let total = 0;
    const documents = async () => {
      total = (await service.call('GET', '/api/collections/slow')).body.total;
      return total === 1;
    };
    for (let tries = 0; tries < 100 && isKept(content) !== (await documents()); tries += 1);
    assert.equal(isKept(content), total === 1);
    await assertSound();
  });
});

describe('50 uploads at once', () => {
  it('all succeed, and each has its own bytes', async () => {
    const contents = Array.from({ length: 50 }, (_, index) => `${index} `.repeat(10_000));
    const answers = await Promise.all(contents.map((content) => send(form(filePart(content)), { isChunked: true })));
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body.filesize]),
      contents.map((content) => [201, content.length]),
    );
    for (const content of contents) assert.ok(isKept(content));
    assert.deepEqual(incoming(), []);
  });
});

describe('A full disk', () => {
  const skip = process.getuid?.() === 0 ? false : 'only root may mount a small file system';

  it('during an upload is a 503 that says so, and nothing is kept', { skip }, async (t) => {
    let folder = '';
    // Before the folder around it can be removed.
    t.after(() => execFileSync('umount', ['--lazy', folder]));
    const data = join(temporaryFolder(t), 'data');
    folder = join(data, 'blobs');
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
    const open = { collections: [{ slug: 'media', upload: true, fields: [] }] };
    const single = await startService(t, open, { data, environment: { ANNALS_THREADS: '1' } });
    const large = 'x'.repeat(3_000_000);
    for (const isChunked of [false, true]) {
      const { status, body, headers } = await send(form(filePart(large)), { url: single.url, isChunked });
      const { message } = body;
      assert.deepEqual([status, message], [503, 'there is no room for the file: nothing was kept']);
      assert.ok(headers.get('retry-after'));
      assert.ok(!isKept(large, single));
    }
    assert.equal(created(single), 0);
    await assertSound(single);
  });
});
