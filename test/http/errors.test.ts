import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { assertCoded } from '../helpers/error-codes.ts';
import { type Answer, apiKey } from '../helpers/service.ts';
import { eventually, logLines, recordedEvents, sendRaw, useService } from '../helpers/shared.ts';

const service = useService(`export default {
  collections: [
    { slug: 'notes', fields: [{ name: 'text', type: 'text' }, { name: 'code', type: 'text', unique: true }] },
    { slug: 'made', fields: [{ name: 'text', type: 'text', defaultValue: () => { throw new Error('secret of the default at /srv/app.ts'); } }] },
    { slug: 'open', fields: [], access: { read: () => true } },
  ],
  globals: [{ slug: 'site', fields: [{ name: 'name', type: 'text' }] }],
}`);

const notes = '/api/collections/notes';
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** The contract's body (7), JSON, and nothing of the inside of the service. */
function assertError({ status, body, headers }: Answer, expected: number, error: string): void {
  assert.equal(status, expected);
  assert.deepEqual([body.statusCode, body.error], [expected, error]);
  if (error === 'Validation Error') assert.ok(body.errors.length > 0, JSON.stringify(body));
  assert.equal(typeof body.message, 'string');
  assert.notEqual(body.message, '');
  assertCoded(error, { status, body });
  const members = Object.keys(body).filter((name) => name !== 'errors');
  assert.deepEqual(members.sort(), ['code', 'error', 'message', 'statusCode']);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  const text = JSON.stringify(body);
  assert.doesNotMatch(text, /node_modules|\.ts\b|\.js\b|\bat \w+ \(|SELECT|SQLITE|hapi|\/tmp/i);
  assert.ok(!text.includes(process.cwd()), text);
}

const head = (line: string, ...headers: string[]) =>
  [`${line} HTTP/1.1`, 'host: x', `x-api-key: ${apiKey}`, ...headers, '', ''].join('\r\n');

/** A client that never closes its half, and all that comes until the service closes its own. */
async function sendAndStay(bytes: string): Promise<{ text: string; socket: Socket }> {
  const { hostname, port } = new URL(service.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'end');
  return { text, socket };
}

describe('Error bodies (7)', () => {
  it('are { statusCode, error, message } for every refusal of the service', async () => {
    await service.call('POST', notes, { code: 'once' });
    const { body } = await service.call('POST', notes, {});
    assertError(await service.call('POST', notes, { txt: 1 }), 400, 'Validation Error');
    assertError(await service.call('GET', `${notes}?limit=0`), 400, 'Validation Error');
    assertError(await service.call('POST', notes, '{'), 400, 'Bad Request');
    assertError(await service.call('GET', notes, undefined, { key: null }), 401, 'Unauthorized');
    assertError(await service.call('GET', notes, undefined, { key: 'x' }), 401, 'Unauthorized');
    assertError(await service.call('GET', `${notes}/nope`), 404, 'Not Found');
    assertError(await service.call('POST', notes, { code: 'once' }), 409, 'Conflict');
    assertError(await service.call('PATCH', `${notes}/${body.id}`, { code: 'once' }), 409, 'Conflict');
    assertError(await service.call('POST', notes, { text: 'x'.repeat(1_100_000) }), 413, 'Request Entity Too Large');
    assertError(
      await service.call('POST', notes, 'x', { headers: { 'content-type': 'text/plain' } }),
      415,
      'Unsupported Media Type',
    );
  });

  it('are the same for unknown routes and methods', async () => {
    for (const path of [
      '/',
      '/api',
      '/api/collections',
      '/api/collections/none',
      '/api/nope?x=1',
      '/favicon.ico',
      '//',
      '/api/collections/notes/',
    ]) {
      assertError(await service.call('GET', path), 404, 'Not Found');
      assertError(await service.call('GET', path, undefined, { key: null }), 404, 'Not Found');
    }
    for (const method of ['PUT', 'DELETE', 'PATCH', 'PROPFIND']) {
      const answer = await service.call(method, notes, method === 'PUT' ? {} : undefined);
      assertError(answer, 405, 'Method Not Allowed');
      assert.equal(answer.body.message, `there is no ${method} ${notes}; it takes GET, HEAD, POST, OPTIONS`);
    }
    assertError(await service.call('POST', `${notes}/x`, {}), 405, 'Method Not Allowed');
  });

  it('are the same for malformed percent-encoding', async () => {
    for (const path of [`${notes}/%zz`, `${notes}/%ff`, `${notes}/%`, `${notes}/%ED%A0%80`, '/%zz', '/api/%c0%af']) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        assertError(await service.call(method, path, method === 'PATCH' ? {} : undefined), 400, 'Bad Request');
      }
    }
  });

  it('say which part of a path is not UTF-8 in percent-encoding', async () => {
    const parts = ['%ff', '%c0%ae', '%ED%A0%80', '%e2%82', '%F4%90%80%80', 'a%zz', '%', '%2'];
    for (const part of parts) {
      for (const path of [
        `${notes}/${part}`,
        `/api/globals/${part}`,
        `/api/audit/documents/notes/${part}`,
        `/${part}/x`,
      ]) {
        const { status, body } = await service.call('GET', path);
        const message = `the path must be UTF-8 in percent-encoding, got "${part}"`;
        assert.deepEqual(
          [status, body],
          [400, { statusCode: 400, error: 'Bad Request', code: 'malformed', message }],
          path,
        );
      }
    }
    const long = await service.call('GET', `${notes}/${'%ff'.repeat(2000)}`);
    assertError(long, 400, 'Bad Request');
    assert.ok(long.body.message.length < 120);
  });

  it('name the parameter of a query that is not', async () => {
    const values = ['%ff', 'x%c0%ae', '%ED%A0%80', '%e2%82', '%F4%90%80%80', '%c3%zz', 'x%25%ff'];
    for (const value of values) {
      for (const [name, shown] of [
        ['where[text][equals]', 'where[text][equals]'],
        ['where%5Btext%5D%5Blike%5D', 'where[text][like]'],
        ['sort', 'sort'],
        ['_', '_'],
        ['a+b', 'a b'],
      ] as const) {
        const answer = await service.call('GET', `${notes}?limit=1&${name}=${value}&page=1`);
        assertError(answer, 400, 'Validation Error');
        const message = `${shown} must be UTF-8 in percent-encoding, got "${value}"`;
        assert.deepEqual(answer.body.errors, [{ field: shown, in: 'query', code: 'unsafe_characters', message }]);
      }
      const unnamed = await service.call('GET', `/api/schemas?${value}=1`, undefined, { key: null });
      const message = `${value} must be UTF-8 in percent-encoding, got "${value}"`;
      assert.deepEqual(
        [unnamed.status, unnamed.body.errors],
        [400, [{ field: value, in: 'query', code: 'unsafe_characters', message }]],
      );
    }
    const long = await service.call('GET', `${notes}?${'%ff'.repeat(2000)}`);
    assert.ok(JSON.stringify(long.body).length < 700);
  });

  it('are not for a query that is, nor for a % in it that stands for itself', async () => {
    const { body } = await service.call('POST', notes, { text: 'Zürich %zz 100% 🦜' });
    for (const text of ['Z%C3%BCrich+%25zz+100%25+%F0%9F%A6%9C', 'Z%c3%bcrich%20%zz+100%+%f0%9f%a6%9c']) {
      for (const name of ['where[text][equals]', 'where%5Btext%5D[equals]']) {
        const answer = await service.call('GET', `${notes}?${name}=${text}`);
        assert.deepEqual([answer.status, answer.body.docs?.[0]?.id], [200, body.id], JSON.stringify(answer.body));
      }
    }
  });

  it('say that bare bytes must be percent-encoded', async () => {
    for (const target of [`${notes}?where[text][equals]=Zürich`, `${notes}/ü`]) {
      const answer = await sendRaw(service.url, head(`GET ${target}`));
      assertError(answer, 400, 'Bad Request');
      assert.match(answer.body.message, /must be percent-encoded/);
    }
  });

  it('refuse more parameters than are read', async () => {
    const parameters = (count: number) => Array.from({ length: count }, (_, at) => `_${at}=`).join('&');
    assert.equal((await service.call('GET', `${notes}?${parameters(999)}&limit=0`)).body.errors[0].field, 'limit');
    const { body } = await service.call('GET', `${notes}?${parameters(1000)}&limit=0`);
    assert.deepEqual(body.errors, [
      {
        field: '',
        in: 'query',
        code: 'max_items',
        limit: 1000,
        message: 'the query must have at most 1000 parameters',
      },
    ]);
  });

  it('are the same for headers that are too large: 431', async () => {
    const answer = await sendRaw(service.url, head(`GET ${notes}`, `x-large: ${'x'.repeat(20_000)}`));
    assertError(answer, 431, 'Request Header Fields Too Large');
    assert.equal(answer.body.code, 'headers_too_large');
    const long = await sendRaw(service.url, head(`GET ${notes}?${'x'.repeat(20_000)}`));
    assertError(long, 431, 'Request Header Fields Too Large');
  });

  it('are the same for what is not HTTP', async () => {
    const garbage = [
      'garbage\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\nhost: x\r\n\r\n',
      'GET / HTTP/1.1\r\nhost x\r\n\r\n',
      'GET / HTTP/1.1\r\nhost: x\r\ncontent-length: minus\r\n\r\n',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      'BREW /pot HTCPCP/1.0\r\n\r\n',
    ];
    for (const bytes of garbage) {
      const answer = await sendRaw(service.url, Buffer.from(bytes, 'latin1'));
      assertError(answer, 400, 'Bad Request');
      assert.equal(answer.headers.get('connection'), 'close');
    }
  });

  it('come after the answer to the request before', async () => {
    const body = '{"text":"before garbage"}';
    const length = `content-length: ${body.length}`;
    const request = head(`POST ${notes}`, 'content-type: application/json', length) + body;
    const { text, socket } = await sendAndStay(`${request}no request\r\n\r\n`);
    socket.destroy();
    assert.match(text, /^HTTP\/1\.1 201 .*"text":"before garbage".*HTTP\/1\.1 400 Bad Request.*"statusCode":400/s);
  });

  it('end the connection, also that of a client who keeps its half open', async (t) => {
    const descriptors = () => readdirSync(`/proc/${service.child.pid}/fd`).length;
    const before = descriptors();
    const clients = await Promise.all(Array.from({ length: 30 }, () => sendAndStay('no request\r\n\r\n')));
    t.after(() => {
      for (const { socket } of clients) socket.destroy();
    });
    for (const { text } of clients) assert.match(text, /^HTTP\/1\.1 400 /);
    await eventually(() => descriptors() < before + 15);
  });

  it('are the same for requests that hapi or Node refuse before any route', async () => {
    for (const target of ['*', 'http://[', '\\', '/api/../../..%2f']) {
      const answer = await sendRaw(service.url, `OPTIONS ${target} HTTP/1.1\r\nhost: x\r\n\r\n`);
      assert.ok(answer.status === 400 || answer.status === 404, String(answer.status));
      assertError(answer, answer.status, answer.status === 400 ? 'Bad Request' : 'Not Found');
    }
  });

  it('are the same for requests without a host, and with an expectation that is not known', async () => {
    assertError(await sendRaw(service.url, `GET ${notes} HTTP/1.1\r\n\r\n`), 400, 'Bad Request');
    const expecting = head(
      `POST ${notes}`,
      'content-type: application/json',
      'expect: the-unexpected',
      'content-length: 2',
    );
    const unexpected = await sendRaw(service.url, `${expecting}{}`);
    assertError(unexpected, 417, 'Expectation Failed');
    assert.equal(unexpected.body.code, 'expectation_failed');
  });

  it('are the same for bodies that are encoded or broken off', async () => {
    const gzip = head(`POST ${notes}`, 'content-type: application/json', 'content-encoding: gzip', 'content-length: 2');
    assertError(await sendRaw(service.url, `${gzip}{}`), 415, 'Unsupported Media Type');
    const chunks = head(`POST ${notes}`, 'content-type: application/json', 'transfer-encoding: chunked');
    assertError(await sendRaw(service.url, `${chunks}not a chunk\r\n`), 400, 'Bad Request');
    const multipart = { 'content-type': 'multipart/form-data' };
    assertError(await service.call('POST', notes, 'x', { headers: multipart }), 400, 'Bad Request');
  });

  it('are a bare 500 for a fault of the service or its configuration, which stands in the log', async () => {
    const answer = await service.call('POST', '/api/collections/made', {});
    assertError(answer, 500, 'Internal Server Error');
    assert.equal(answer.body.message, 'An internal server error occurred');
    assert.doesNotMatch(JSON.stringify(answer.body), /secret/);
    const requestId = answer.headers.get('x-request-id');
    const line = await eventually(() =>
      logLines(service).find((one) => one.requestId === requestId && one.level === 50),
    );
    assert.match(line.err.message, /secret of the default/);
    assert.match(line.err.stack, /\bat /);
  });

  it('carry no body on HEAD', async () => {
    for (const path of ['/nope', `${notes}/nope`, `${notes}?limit=0`]) {
      const answer = await fetch(service.url + path, { method: 'HEAD', headers: { 'x-api-key': apiKey } });
      assert.ok(answer.status >= 400);
      assert.equal(await answer.text(), '');
    }
  });

  it('do not repeat much of what was sent', async () => {
    const long = 'y'.repeat(12_000);
    for (const answer of [
      await service.call('GET', `/api/${long}`),
      await service.call('GET', `${notes}/${long}`),
      await service.call('GET', `${notes}?${long}=1`),
      await service.call('GET', `${notes}?sort=${long}`),
      await service.call('POST', notes, { [long]: 1 }),
      await service.call('POST', notes, { code: [long] }),
    ]) {
      assert.ok(answer.status >= 400 && answer.status < 500);
      assert.ok(JSON.stringify(answer.body).length < 1500, JSON.stringify(answer.body).slice(0, 300));
    }
  });
});

describe('Answers', () => {
  it('carry the request id and nosniff, whatever they are', async () => {
    const answers = [
      await service.call('GET', notes),
      await service.call('POST', notes, {}),
      await service.call('GET', '/health'),
      await service.call('GET', '/nope'),
      await service.call('GET', notes, undefined, { key: 'bad' }),
      await service.call('POST', notes, '{'),
      await service.call('POST', '/api/collections/made', {}),
    ];
    for (const { headers } of answers) {
      assert.match(headers.get('x-request-id') ?? '', uuid);
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
    }
    assert.equal(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, answers.length);
  });

  it('carry the request id and nosniff for malformed percent-encoding too', async () => {
    const { headers } = await service.call('GET', `${notes}/%zz`);
    assert.match(headers.get('x-request-id') ?? '', uuid);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
  });

  it('never carry a request id that the client has made up', async () => {
    const { headers } = await service.call('GET', notes, undefined, { headers: { 'x-request-id': 'mine' } });
    assert.match(headers.get('x-request-id') ?? '', uuid);
  });

  it('tell nothing of what the service is made of', async () => {
    const { headers } = await service.call('GET', notes);
    assert.deepEqual([headers.get('server'), headers.get('x-powered-by')], [null, null]);
  });
});

describe('The request id', () => {
  it('is in the answer, in the log line and, as correlationId, in the event', async () => {
    const created = await service.call('POST', notes, { text: 'traced' });
    const id = created.body.id;
    const updated = await service.call('PATCH', `${notes}/${id}`, { text: 'again' });
    const deleted = await service.call('DELETE', `${notes}/${id}`);
    const requestIds = [created, updated, deleted].map(({ headers }) => headers.get('x-request-id'));
    const events = recordedEvents(service.data, `notes/${id}`);
    assert.deepEqual(
      events.map(({ correlationId }) => correlationId),
      requestIds,
    );
    for (const [index, requestId] of requestIds.entries()) {
      const line = await eventually(() => logLines(service).find((one) => one.requestId === requestId));
      assert.equal(line.method, ['POST', 'PATCH', 'DELETE'][index]);
      assert.deepEqual(line.actor, events[index]?.actor);
    }
    const global = await service.call('PATCH', '/api/globals/site', { name: 'x' });
    assert.equal(recordedEvents(service.data, 'globals/site')[0]?.correlationId, global.headers.get('x-request-id'));
  });
});

describe('The log lines', () => {
  const linesOf = (answer: Answer) =>
    eventually(() => {
      const found = logLines(service).filter(({ requestId }) => requestId === answer.headers.get('x-request-id'));
      return found.length > 0 ? found : undefined;
    });

  it('are one per request, with method, path, status, duration, caller and address', async () => {
    const ok = await service.call('POST', notes, { text: 'logged' });
    const refused = await service.call('GET', '/nope', undefined, { key: null });
    const invalid = await service.call('GET', `${notes}?limit=0`);
    for (const [answer, method, path, status] of [
      [ok, 'POST', notes, 201],
      [refused, 'GET', '/nope', 404],
      [invalid, 'GET', notes, 400],
    ] as const) {
      const lines = await linesOf(answer);
      assert.equal(lines.length, 1);
      const [line] = lines;
      assert.deepEqual([line.method, line.path, line.status, line.level], [method, path, status, 30]);
      assert.ok(line.milliseconds >= 0 && line.milliseconds < 10_000);
      assert.match(line.time, /^\d{4}-\d\d-\d\dT.*Z$/);
      assert.equal(line.ip, '127.0.0.1');
    }
    assert.equal((await linesOf(ok))[0].actor.type, 'apiKey');
    assert.deepEqual((await linesOf(refused))[0].actor, { type: 'anonymous' });
  });

  it('are written for malformed percent-encoding too', async () => {
    const before = logLines(service).length;
    const answer = await service.call('GET', `${notes}/%zz`);
    assert.equal(answer.status, 400);
    const line = await eventually(() =>
      logLines(service)
        .slice(before)
        .find(({ status }) => status === 400),
    );
    assert.equal(line.method, 'GET');
  });

  it('hold no query, no key, no header and nothing of a body', async () => {
    const answer = await service.call('GET', `${notes}?limit=1&_token=hidden-in-query`, undefined, {
      headers: { cookie: 'a=hidden-in-cookie' },
    });
    await linesOf(answer);
    await linesOf(await service.call('POST', notes, { text: 'hidden-in-body' }));
    await linesOf(await service.call('POST', notes, { txt: 'hidden-in-wrong-body' }));
    await linesOf(await service.call('GET', notes, undefined, { key: 'hidden-in-key' }));
    const { stdout, stderr } = service.output();
    assert.doesNotMatch(stdout + stderr, /hidden-in/);
    assert.ok(!(stdout + stderr).includes(apiKey));
  });

  it('cannot be forged by a path', async () => {
    const answer = await service.call('GET', `/api/%0a%7b%22level%22:60%7d`);
    const [line] = await linesOf(answer);
    assert.equal(line.level, 30);
    assert.ok(logLines(service).every(({ level }) => level !== 60));
  });
});

describe('After all that', () => {
  it('the service still answers', async () => {
    assert.deepEqual((await service.call('GET', '/health')).body, { status: 'ok' });
    assert.equal((await service.call('POST', notes, {})).status, 201);
  });
});
