import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import fc from 'fast-check';
import { assertCoded } from '../helpers/error-codes.ts';
import { type Answer, apiKey, type Service, startService } from '../helpers/service.ts';
import { dial, eventually, received, sendRaw, useService, useStarted } from '../helpers/shared.ts';

const config = `
const yes = () => true;
export default {
  collections: [
    { slug: 'notes', fields: [
      { name: 'text', type: 'text' },
      { name: 'n', type: 'number' },
      { name: 'data', type: 'json' },
      { name: 'part', type: 'object', fields: [{ name: 'inner', type: 'text' }] },
      { name: 'list', type: 'array', fields: [{ name: 'word', type: 'text' }] },
      { name: 'blocks', type: 'blocks', blocks: [{ slug: 'hero', fields: [{ name: 'head', type: 'text' }] }] },
      { name: 'other', type: 'relationship', relationTo: 'notes' },
    ] },
    { slug: 'open', fields: [{ name: 'text', type: 'text' }, { name: 'n', type: 'number', access: { create: yes } }], access: { read: yes, create: yes, update: yes, delete: yes } },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
};`;

const service = useService(config, { ANNALS_THREADS: '2' });
/**
 * A service with one thread: each thread has garbage of its own that is not collected yet, and of several threads, one
 * may take the descriptor that another needs to turn a client away; then clients wait instead. Windows has no ulimit.
 */
const limited = useStarted((t) => {
  const openFiles = process.platform === 'win32' ? {} : { openFiles: 160 };
  return startService(t, config, { ...openFiles, environment: { ANNALS_THREADS: '1' } });
});
const notes = '/api/collections/notes';
const json = 'content-type: application/json';
const key = `x-api-key: ${apiKey}`;

const head = (line: string, ...headers: string[]) => [`${line} HTTP/1.1`, 'host: x', ...headers, '', ''].join('\r\n');

/** The contract's body (7), and nothing of the inside of the service. */
function assertError({ status, body }: Pick<Answer, 'status' | 'body'>, about = ''): void {
  const text = JSON.stringify(body);
  assert.ok(status >= 400 && status < 500, `${status} ${text} ${about}`);
  assertCoded(about, { status, body });
  const { statusCode, error, message, code: _, errors, ...rest } = body;
  assert.deepEqual([statusCode, rest], [status, {}], about);
  assert.ok(typeof error === 'string' && error !== '' && typeof message === 'string' && message !== '', about);
  const members = ['field', 'in', 'code', 'message', 'limit', 'allowed'];
  for (const one of errors ?? []) {
    assert.deepEqual(
      Object.keys(one).filter((name) => !members.includes(name)),
      [],
      about,
    );
  }
  // A message may hold the client's own text.
  if (!/node_modules|SELECT/.test(about)) {
    assert.doesNotMatch(text, /node_modules|\.[jt]s[:"]|\n\s+at |SELECT|SQLITE|better-sqlite|\/tmp\/|\/home\//, about);
  }
  assert.ok(!text.includes(process.cwd()), about);
}

async function assertSound(sound: Service = service, text = 'still here'): Promise<void> {
  assert.equal(sound.child.exitCode, null);
  const { status, body } = await sound.call('POST', notes, { text });
  assert.equal(status, 201, JSON.stringify(body));
  assert.equal((await sound.call('GET', `${notes}/${body.id}`)).body.text, text);
}

describe('A body of 20 MB', () => {
  const large = Buffer.alloc(20_000_000, 'x');
  const streamed = (piece: Buffer, count: number) =>
    new ReadableStream({
      pull(controller) {
        if (count === 0) controller.close();
        else controller.enqueue(piece);
        count -= 1;
      },
    });
  const send = async (method: string, path: string, options: { key?: boolean; isChunked?: boolean; type?: string }) => {
    const response = await fetch(service.url + path, {
      method,
      headers: { 'content-type': options.type ?? 'application/json', ...(options.key ? { 'x-api-key': apiKey } : {}) },
      body: options.isChunked ? streamed(large.subarray(0, 500_000), 40) : large,
      duplex: 'half',
    } as RequestInit);
    return { status: response.status, body: await response.json() };
  };

  for (const isChunked of [false, true]) {
    const how = isChunked ? 'in chunks' : 'with its Content-Length';
    it(`${how} is answered with what is wrong, which the client gets to read, wherever it is sent`, async () => {
      for (const [method, path, options, status] of [
        ['POST', notes, { key: true }, 413],
        ['POST', notes, {}, 401],
        ['POST', '/api/collections/open', {}, 413],
        ['PATCH', `${notes}/nope`, { key: true }, 413],
        ['PATCH', '/api/globals/site', { key: true }, 413],
        ['DELETE', `${notes}/nope`, { key: true }, 404],
        ['POST', '/api/nowhere', {}, 404],
        ['PUT', notes, { key: true }, 405],
        ['POST', notes, { key: true, type: 'text/plain' }, 415],
      ] as const) {
        const answer = await send(method, path, { ...options, isChunked });
        assert.equal(answer.status, status, `${method} ${path}`);
        assertError(answer);
      }
      await assertSound();
    });
  }

  it('that never ends is answered or cut, and costs no memory', async () => {
    const piece = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536, 'x'), Buffer.from('\r\n')]);
    const lines = [`POST ${notes}`, 'POST /api/collections/open', `DELETE ${notes}/x`, `GET ${notes}`];
    const before = residentMegabytes(limited);
    let peak = before;
    // Often enough that what would be kept is more than that garbage: some 32 MiB of each are read.
    for (const line of [...lines, ...lines, ...lines, ...lines]) {
      const socket = dial(limited.url, head(line, key, json, 'transfer-encoding: chunked'));
      let sent = 0;
      await new Promise<void>((resolve) => {
        socket.on('close', () => resolve());
        const go = () => {
          peak = Math.max(peak, residentMegabytes(limited));
          while (!socket.destroyed && sent < 300_000_000 && socket.write(piece)) sent += piece.length;
        };
        socket.on('drain', go);
        go();
      });
      assert.ok(sent < 150_000_000, `${line}: it took ${sent} bytes`);
    }
    assert.ok(peak - before < 200, `${peak - before} MB more`);
    await assertSound(limited);
  });

  it('that is only promised is refused at once', async () => {
    for (const length of ['20000000000', '9007199254740991']) {
      const { status } = await sendRaw(service.url, head(`POST ${notes}`, key, json, `content-length: ${length}`));
      assert.equal(status, 413);
    }
  });
});

describe('A slow client', () => {
  it('does not keep others waiting, and is answered when its body is whole', async () => {
    const text = JSON.stringify({ text: 'slowly' });
    const socket = dial(service.url, head(`POST ${notes}`, key, json, `content-length: ${text.length}`));
    const answered = received(socket);
    for (const letter of text) {
      socket.write(letter);
      assert.equal((await service.call('GET', '/health')).status, 200);
    }
    assert.match(await eventually(() => /^HTTP\/1\.1 201 .*}$/s.test(answered()) && answered()), /"text":"slowly"/);
    socket.destroy();
  });

  it('that sends a byte of its headers at a time is one connection, and nothing more', async () => {
    const sockets = Array.from({ length: 50 }, () => dial(service.url));
    for (const letter of 'GET /health HTTP/1.1\r\nhost: x\r\nslow: ') {
      for (const socket of sockets) socket.write(letter);
      assert.equal((await service.call('GET', '/health')).status, 200);
    }
    for (const socket of sockets) socket.destroy();
  });

  it('that goes away in the middle of its body leaves nothing behind', async () => {
    const before = (await service.call('GET', notes)).body.total;
    for (const line of [`POST ${notes}`, `PATCH ${notes}/x`, 'POST /api/collections/open', 'POST /nope']) {
      for (const framing of ['content-length: 100', 'transfer-encoding: chunked']) {
        const socket = dial(service.url, `${head(line, key, json, framing)}{"te`);
        await wait(5);
        socket.destroy();
      }
    }
    assert.equal((await service.call('GET', notes)).body.total, before);
    await assertSound();
  });
});

/** Bytes that are almost HTTP, and the status of the first answer; null if a bare close is right too. */
const almostHttp: [string, string, number | null][] = [
  ['a line that ends with LF alone', 'GET /health HTTP/1.1\nhost: x\n\n', 400],
  ['CR in a header', 'GET /health HTTP/1.1\r\nhost: x\r\na: b\rc: d\r\n\r\n', 400],
  ['NUL in a header', 'GET /health HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n', 400],
  ['a folded header', 'GET /health HTTP/1.1\r\nhost: x\r\na: b\r\n  c\r\n\r\n', 400],
  ['a space before the colon', 'GET /health HTTP/1.1\r\nhost : x\r\n\r\n', 400],
  ['a header without a name', 'GET /health HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n', 400],
  ['a header name of 20 KB', head('GET /health', `${'n'.repeat(20_000)}: x`), 431],
  ['1,500 short headers', head('GET /health', ...Array(1500).fill('a:')), 431],
  ['1,001 headers', head('GET /health', ...Array(1000).fill('a:')), 431],
  ['1,000 headers', head('GET /health', ...Array(999).fill('a:')), 200],
  ['900 short headers', head('GET /health', ...Array(900).fill('a:')), 200],
  ['17 KB of headers', head('GET /health', `a: ${'x'.repeat(17_000)}`), 431],
  ['15 KB of headers', head('GET /health', `a: ${'x'.repeat(15_000)}`), 200],
  ['two Content-Lengths', `${head(`POST ${notes}`, key, json, 'content-length: 2', 'content-length: 3')}{}`, 400],
  ['a list of lengths', `${head(`POST ${notes}`, key, json, 'content-length: 2, 2')}{}`, 400],
  ['a length below zero', `${head(`POST ${notes}`, key, json, 'content-length: -2')}{}`, 400],
  ['a length with a sign', `${head(`POST ${notes}`, key, json, 'content-length: +2')}{}`, 400],
  ['a length in hexadecimal', `${head(`POST ${notes}`, key, json, 'content-length: 0x2')}{}`, 400],
  ['a length of 2^64 + 1', `${head(`POST ${notes}`, key, json, 'content-length: 18446744073709551617')}{}`, 400],
  [
    'a length and chunks',
    `${head(`POST ${notes}`, key, json, 'content-length: 2', 'transfer-encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`,
    400,
  ],
  ['an unknown coding', `${head(`POST ${notes}`, key, json, 'transfer-encoding: gzip')}{}`, 400],
  ['a chunk of size zz', `${head(`POST ${notes}`, key, json, 'transfer-encoding: chunked')}zz\r\n{}\r\n`, 400],
  ['a chunk of size -1', `${head(`POST ${notes}`, key, json, 'transfer-encoding: chunked')}-1\r\n{}\r\n`, 400],
  [
    'a chunk of size 2^72',
    `${head(`POST ${notes}`, key, json, 'transfer-encoding: chunked')}${'f'.repeat(18)}\r\n`,
    400,
  ],
  [
    'a chunk that is longer',
    `${head(`POST ${notes}`, key, json, 'transfer-encoding: chunked')}1\r\n{}\r\n0\r\n\r\n`,
    400,
  ],
  [
    'a chunk extension of 20 KB',
    `${head(`POST ${notes}`, key, json, 'transfer-encoding: chunked')}2;${'x'.repeat(20_000)}\r\n{}\r\n`,
    null,
  ],
  ['HTTP/1.0', 'GET /health HTTP/1.0\r\n\r\n', 200],
  ['HTTP/0.9', 'GET /health\r\n\r\n', 400],
  ['HTTP/0.9 that says so', 'GET /health HTTP/0.9\r\nhost: x\r\n\r\n', 400],
  ['a request without Host', 'GET /health HTTP/1.1\r\n\r\n', 400],
  ['a request with two lines of Host', head('GET /health', 'Host: elsewhere.example'), 400],
  ['a request with the same Host twice', head('GET /health', 'HOST: x'), 400],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400],
  ['an unknown method', 'BREW /health HTTP/1.1\r\nhost: x\r\n\r\n', 400],
  ['CONNECT', 'CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n', null],
  ['TRACE', head('TRACE /health'), 405],
  ['an absolute target of another host', head('GET http://elsewhere.example/health'), 400],
  ['an absolute target of another port', head('GET http://x:81/health'), 400],
  ['an absolute target', head('GET http://x/health'), 200],
  ['an absolute target of the same host, written otherwise', head('GET HTTP://X:80/health'), 200],
  ['an absolute target without Host', 'GET http://x/health HTTP/1.0\r\n\r\n', 200],
  ['an invalid absolute target', head('GET http://elsewhere.example:99999/health'), 400],
  ['the target *', head('GET *'), 400],
  ['a control character in the target', head('GET /hea\x01lth'), 400],
  ['an upgrade', head('GET /health', 'connection: upgrade', 'upgrade: websocket'), 200],
  ['a body with GET', `${head('GET /health', 'content-length: 5')}hello`, 200],
  ['garbage after a good request', `${head('GET /health')}\x00\x01garbage\r\n\r\n`, 200],
  ['a smuggled request', `${head('GET /health', 'content-length: 5')}helloGET /nope HTTP/1.1\r\n\r\n`, 200],
];

describe('A request that is almost HTTP', () => {
  for (const [name, bytes, expected] of almostHttp) {
    it(`${name} is ${expected ?? 'answered or cut'}`, async () => {
      const closed = { status: 0, body: null };
      const answer = await sendFirst(bytes).catch(() => closed);
      if (expected !== null) assert.equal(answer.status, expected);
      if (answer.status >= 400) assertError(answer);
    });
  }

  it('random bytes between the lines of a request neither', async () => {
    const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
    const words = [
      'GET ',
      '/health',
      ' HTTP/1.1',
      '\r\n',
      '\n',
      ':',
      'host: x',
      'content-length: ',
      '5',
      '\0',
      '\xff',
      ' ',
    ];
    const soup = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'binary-ascii', maxLength: 5 })), {
      minLength: 1,
      maxLength: 20,
    });
    await fc.assert(
      fc.asyncProperty(soup, async (list) => {
        // The end is one that no server takes for the middle of something.
        const bytes = `${list.join('')}\r\n\r\n\0\0\r\n\r\n`;
        const answer = await sendFirst(bytes).catch(() => null);
        if (answer && answer.status >= 400) assertError(answer, bytes);
      }),
      { seed, numRuns: Number(process.env.TEST_RUNS ?? 40) },
    );
    await assertSound();
  });

  it('bare bytes in the query of a list neither', async () => {
    const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 60 }), async (list) => {
        const start = Buffer.from(`GET ${notes}?where[`);
        const rest = Buffer.from(' HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
        const { status, text } = await sendRaw(service.url, Buffer.concat([start, Buffer.from(list), rest]));
        assert.ok(status >= 400 && status < 500, text);
      }),
      { seed, numRuns: Number(process.env.TEST_RUNS ?? 500) },
    );
    await assertSound();
  });
});

describe('Cookies of other applications', () => {
  it('count for nothing, whatever they look like', async () => {
    for (const cookie of [
      'a="b; c=d; x',
      '__proto__=x',
      'constructor=1; constructor=2',
      'a={"b":1}',
      '=',
      ';;;',
      'é=\x80',
    ]) {
      const { status } = await sendRaw(
        service.url,
        Buffer.from(head(`GET ${notes}?limit=1`, key, `cookie: ${cookie}`), 'latin1'),
      );
      assert.equal(status, 200, cookie);
    }
  });
});

describe('Bodies that are made to hurt', () => {
  const cases: Record<string, [string | Buffer, number]> = {
    '10,000 lists': [`{"data":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 400],
    '10,000 objects': [`{"part":${'{"inner":'.repeat(10_000)}1${'}'.repeat(10_000)}}`, 400],
    'half a million lists that never close': [`{"data":${'['.repeat(500_000)}`, 400],
    '30,000 keys': [`{${Array.from({ length: 30_000 }, (_, index) => `"k${index}":0`).join(',')}}`, 400],
    '30,000 keys of a json field': [
      `{"data":{${Array.from({ length: 30_000 }, (_, index) => `"k${index}":0`).join(',')}}}`,
      201,
    ],
    '100,000 wrong items': [`{"list":[${Array(100_000).fill('{"wrd":1}').join(',')}]}`, 400],
    'the same key 100,000 times': [`{${Array(100_000).fill('"text":1').join(',')}}`, 400],
    '__proto__ in an escape': ['{"\\u005f_proto__":{"text":"x"}}', 400],
    '__proto__ in a list in json': ['{"data":[{"a":{"__proto__":1}}]}', 400],
    '__proto__ in an object field': ['{"part":{"__proto__":{"inner":"x"}}}', 400],
    '__proto__ in an item': ['{"list":[{"__proto__":{"word":"x"}}]}', 400],
    '__proto__ in a block': ['{"blocks":[{"blockType":"hero","__proto__":{"head":"x"}}]}', 400],
    'the block type __proto__': ['{"blocks":[{"blockType":"__proto__"}]}', 400],
    'constructor.prototype': ['{"constructor":{"prototype":{"text":"x"}}}', 400],
    'constructor in an object field': ['{"part":{"constructor":{"prototype":{"inner":"x"}}}}', 400],
    'a number too large': ['{"n":1e400}', 400],
    'a number too large in json': ['{"data":[-1e309]}', 400],
    'an integer that no double holds': ['{"n":123456789012345678901234567890}', 400],
    'minus zero': ['{"n":-0}', 201],
    'the smallest number': ['{"n":5e-324}', 201],
    'NUL in a key': ['{"te\\u0000xt":1}', 400],
    'NUL in a key of json': ['{"data":{"a\\u0000":1}}', 400],
    'a lone surrogate in a key': ['{"\\ud800":1}', 400],
    'a lone surrogate in a key of json': ['{"data":{"\\udfff":1}}', 400],
    'NUL in a text': ['{"text":"a\\u0000b"}', 400],
    'a lone surrogate in an id': ['{"other":"\\ud83d"}', 400],
    'SQL in an id': [`{"other":"' OR 1=1; DROP TABLE events; --"}`, 400],
    'a byte order mark before an object': ['\ufeff{"text":"bom"}', 201],
    'UTF-16': [Buffer.from('{"text":"x"}', 'utf16le'), 400],
    'overlong UTF-8': [Buffer.from('7b2274657874223a22c0af227d', 'hex'), 400],
    'a surrogate in UTF-8': [Buffer.from('7b2274657874223a22eda080227d', 'hex'), 400],
    'gzip that does not say so': [Buffer.from('1f8b0800000000000003abae050043bfa6a302000000', 'hex'), 400],
    'white space only': [' \n\t ', 400],
    NaN: ['{"n":NaN}', 400],
    'a comment': ['{"text":"x"/**/}', 400],
    'a comma too many': ['{"text":"x",}', 400],
    'two objects': ['{}{}', 400],
  };
  for (const [name, [body, expected]] of Object.entries(cases)) {
    it(`${name}: ${expected}`, async () => {
      const { body: made } = await service.call('POST', notes, {});
      for (const [method, path] of [
        ['POST', notes],
        ['PATCH', `${notes}/${made.id}`],
      ] as const) {
        const response = await fetch(service.url + path, {
          method,
          headers: { 'content-type': 'application/json', 'x-api-key': apiKey },
          body: body as BodyInit,
        });
        const answer = { status: response.status, body: await response.json() };
        assert.equal(
          answer.status,
          expected === 201 && method === 'PATCH' ? 200 : expected,
          JSON.stringify(answer.body),
        );
        if (expected >= 400) assertError(answer);
        assert.ok(JSON.stringify(answer.body).length < 30_000 || expected < 400);
        assert.doesNotMatch(JSON.stringify(answer.body), /"inner":"x"|"word":"x"|"head":"x"/);
      }
    });
  }

  it('leave the service as it was', () => assertSound());
});

describe('Nasty requests to every route', () => {
  const texts = [
    ...[
      '',
      '0',
      '-1',
      '1e9',
      '%00',
      '%zz',
      '%ED%A0%80',
      '%F0%9F%92%A5',
      '..',
      '%2e%2e%2f',
      '%2F',
      '%5C',
      "'",
      '%22',
      ';',
    ],
    ...[
      "'%20OR%201=1--",
      '%60',
      '*',
      '%25',
      '_',
      '__proto__',
      'constructor',
      'toString',
      '%0d%0aset-cookie:a=b',
      '%7B%7D',
    ],
    ...['%E2%80%AE', '%EF%BB%BF', '$where', '{{7*7}}', '%3Cscript%3E', 'a'.repeat(3000), '%2e', '~', '[]', '(select)'],
  ];
  const text = fc.constantFrom(...texts);
  const path = fc.oneof(
    fc.constantFrom(notes, '/api/collections/open', '/api/globals/site', '/health', '/ready', '/', '/api'),
    fc
      .tuple(fc.constantFrom(notes, '/api/collections/open', '/api/globals', '/api/collections', '/api', ''), text)
      .map((parts) => parts.join('/')),
  );
  const parameter = fc.oneof(
    fc
      .tuple(fc.constantFrom('limit', 'page', 'depth', 'sort', 'where', '_', 'token'), text)
      .map((two) => two.join('=')),
    fc.tuple(text, text).map((two) => two.join('=')),
    fc.tuple(text, text, text).map(([field, operator, value]) => `where[${field}][${operator}]=${value}`),
    fc.tuple(fc.constantFrom('text', 'n', 'id', 'other.text', 'part.inner', 'data'), text).map(([field, value]) => {
      return `where[${field}][equals]=${value}`;
    }),
  );
  const query = fc.array(parameter, { maxLength: 3 }).map((list) => (list.length > 0 ? `?${list.join('&')}` : ''));
  const body = fc.oneof(
    fc.json(),
    fc.constantFrom('', '{', '[]', 'null', '{"text":3}', '{"other":"x"}', '{"text":"\\u0000"}', '{"part":{"innr":1}}'),
    fc
      .dictionary(fc.constantFrom('text', 'n', 'part', 'list', 'blocks', 'data', 'toString', 'id'), fc.jsonValue())
      .map((value) => JSON.stringify(value)),
  );
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE', 'PUT', 'OPTIONS', 'QUERY'),
    target: fc.tuple(path, query).map((two) => two.join('').replaceAll('#', '%23')),
    body,
    type: fc.constantFrom('application/json', 'application/json', 'text/plain', 'multipart/form-data', ';', ''),
    credential: fc.constantFrom(key, key, '_: ', 'x-api-key: wrong', 'authorization: Bearer x', 'authorization: \x80'),
  });

  it('are answered in the form of the contract, never by a 500, and tell nothing of the insides', async () => {
    const seed = Number(process.env.TEST_SEED ?? randomInt(2 ** 31));
    const seen = new Set<number>();
    await fc.assert(
      fc.asyncProperty(request, async ({ method, target, body: sent, type, credential }) => {
        const bytes = Buffer.from(sent);
        const lines = [credential, `content-type: ${type}`, `content-length: ${bytes.length}`, 'connection: close'];
        const start = Buffer.from(head(`${method} ${target || '/'}`, ...lines), 'latin1');
        const answer = await sendRaw(service.url, Buffer.concat([start, bytes]));
        seen.add(answer.status);
        if (answer.status >= 400) assertError(answer, `${start}${sent}`);
      }),
      { seed, numRuns: Number(process.env.TEST_RUNS ?? 400) },
    );
    for (const status of [200, 400, 401, 404]) assert.ok(seen.has(status), `seed ${seed}: no ${status}`);
    await assertSound();
  });
});

describe('Unread answers', () => {
  it('are bounded for an address: a large one more is a 503, all else is answered', async (t) => {
    const text = 'x'.repeat(1_000_000);
    for (let count = 0; count < 10; count += 1) await limited.call('POST', '/api/collections/open', { text });
    const list = '/api/collections/open?limit=10';
    const before = residentMegabytes(limited);
    const unread: Socket[] = [];
    const leave = (count: number) => {
      for (; count > 0; count -= 1) unread.push(dial(limited.url, head(`GET ${list}`)).pause());
    };
    // Connections that wait for seconds are cut off: all that fit have to come at once.
    let answer = await limited.call('GET', list);
    for (let tries = 0; answer.status === 200 && tries < 10; tries += 1) {
      leave(8);
      answer = await limited.call('GET', list);
    }
    // On a machine that makes answers more slowly than unread ones are cut off, that alone bounds them.
    if (answer.status === 200) {
      t.diagnostic('no answer was refused: those that were not read were cut off before');
      assert.match(limited.output().stderr, /answers were cut off that were read too slowly, or not at all/);
    } else {
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '5']);
      assert.deepEqual(answer.body, {
        statusCode: 503,
        error: 'Service Unavailable',
        code: 'unavailable',
        message: 'too many answers wait to be read; try again later',
      });
    }
    // Unbounded, each would hold 30 MB.
    leave(40);
    assert.equal((await limited.call('GET', '/health')).status, 200);
    await assertSound(limited);
    const grown = residentMegabytes(limited) - before;
    assert.ok(grown < 700, `${grown} MB more`);
    for (const socket of unread) socket.destroy();
    for (let tries = 0; (await limited.call('GET', list)).status !== 200; tries += 1) assert.ok(tries < 100);
  });
});

describe('Thousands of connections', () => {
  const abuses = [
    'GET /health HTTP/1.1\r\nhost:',
    'GET',
    '',
    `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'x'.repeat(8000)}`,
    head(`POST ${notes}`, key, json, 'content-length: 1000'),
    `${head(`POST ${notes}`, key, json, 'transfer-encoding: chunked')}5\r\n{"te`,
    head('GET /health', `x: ${'x'.repeat(20_000)}`),
    head('GET /health', ...Array.from({ length: 3000 }, (_, index) => `a${index}:`)),
    'garbage\r\n\r\n',
    head('GET /health'),
  ];
  /** The number of requests that can be answered at once; the others wait for the announced rest of their body. */
  const whole = 4;

  it('that abuse their headers are answered or cut, or wait without harm to anybody', async () => {
    const before = residentMegabytes(service);
    const sockets: { socket: Socket; answer: () => string; isWhole: boolean }[] = [];
    for (let count = 0; count < 1000; count += 1) {
      const index = count % abuses.length;
      const socket = dial(service.url, abuses[index] ?? '');
      sockets.push({ socket, answer: received(socket), isWhole: index >= abuses.length - whole });
      if (count % 100 === 0) assert.equal((await service.call('GET', '/health')).status, 200);
    }
    const done = () => sockets.every(({ socket, answer, isWhole }) => !isWhole || answer() !== '' || socket.closed);
    await eventually(done);
    await assertSound();
    for (const { answer, isWhole } of sockets) if (!isWhole) assert.equal(answer(), '');
    const grown = residentMegabytes(service) - before;
    assert.ok(grown < 200, `${grown} MB more`);
    for (const { socket } of sockets) socket.destroy();
    await assertSound();
  });

  it('more than the process may have open are turned away, and it answers again when they are gone', async (t) => {
    if (process.platform === 'win32') return t.skip('there is no ulimit');
    const known = dial(limited.url, head('GET /health'));
    const answers = received(known);
    await eventually(() => answers().includes('"ok"'));
    const sockets = Array.from({ length: 300 }, () => dial(limited.url, 'GET /health HTTP/1.1\r\n'));
    // A connection that says nothing for 5 seconds is closed, and it may take that long until the first is turned away.
    const alive = setInterval(() => known.write(head('GET /health')), 1000);
    await eventually(() => sockets.some(({ closed }) => closed)).finally(() => clearInterval(alive));
    // Connected clients are served, to the disk.
    const text = '{"text":"full"}';
    known.write(`${head(`POST ${notes}`, key, json, `content-length: ${text.length}`)}${text}`);
    await eventually(() => answers().includes('HTTP/1.1 201'));
    for (const socket of [...sockets, known]) socket.destroy();
    const again = async () => (await fetch(`${limited.url}/health`).catch(() => null))?.status;
    for (let count = 0; (await again()) !== 200; count += 1) {
      assert.ok(count < 100, 'it does not answer any more');
      await wait(20);
    }
    await assertSound(limited);
    assert.equal(await limited.stop(), 0);
  });
});

/**
 * The first answer to bytes that may hold, or be taken for, several requests; rejects when it is closed without one.
 */
async function sendFirst(bytes: string): Promise<Pick<Answer, 'status' | 'body'>> {
  const socket = dial(service.url, Buffer.from(bytes, 'latin1'));
  const answer = received(socket);
  const first = /^HTTP\/1\.1 (\d+) .*?\r\n\r\n(\{.*?\})(?=HTTP\/|$)/s;
  try {
    const found = await eventually(() => first.exec(answer()) ?? socket.closed);
    assert.ok(typeof found === 'object', 'it was closed without an answer');
    return { status: Number(found[1]), body: JSON.parse(found[2] ?? '') };
  } finally {
    socket.destroy();
  }
}

/** The memory of the service; 0 on systems that do not tell. */
function residentMegabytes({ child }: Service): number {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
  } catch {
    return 0;
  }
}
