import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { useServiceHere } from '../helpers/embedded.ts';
import { apiKey } from '../helpers/service.ts';
import { errorsOf, sendRaw } from '../helpers/shared.ts';

const service = useServiceHere({
  collections: [
    { slug: 'posts', fields: [{ name: 'title', type: 'text', required: true }] },
    { slug: 'authors', fields: [{ name: 'name', type: 'text', defaultValue: 'Anonymous' }] },
  ],
});

const posts = '/api/collections/posts';
const authors = '/api/collections/authors';

describe('Bodies', () => {
  const both = async (body: unknown, headers?: Record<string, string>) => {
    const { id } = (await service.call('POST', authors, {})).body;
    const sent = headers ? { headers } : {};
    return [
      await service.call('POST', authors, body, sent),
      await service.call('PATCH', `${authors}/${id}`, body, sent),
    ];
  };

  it('must be JSON objects', async () => {
    const message = 'the body must be a JSON object';
    for (const text of ['[]', '[{}]', 'null', '"text"', '3', 'true', '']) {
      for (const { status, body } of await both(text)) {
        assert.deepEqual(
          [status, body],
          [
            400,
            {
              statusCode: 400,
              error: 'Validation Error',
              code: 'validation_failed',
              message,
              errors: [{ field: '', in: 'body', code: 'type', message }],
            },
          ],
          text,
        );
      }
    }
  });

  it('must be there', async () => {
    const { id } = (await service.call('POST', authors, {})).body;
    for (const answer of [await service.call('POST', authors), await service.call('PATCH', `${authors}/${id}`)]) {
      assert.equal(answer.status, 400);
      assert.deepEqual(errorsOf(answer), { '': 'the body must be a JSON object' });
    }
  });

  it('must be well-formed JSON', async () => {
    for (const text of [
      '{',
      '{"name":}',
      '{"name":"x"} x',
      "{'name':'x'}",
      '{"name":"a\nb"}',
      '\ufeff{',
      'undefined',
      '{"a":01}',
    ]) {
      for (const { status, body } of await both(text)) {
        assert.deepEqual([status, body.statusCode, body.error], [400, 400, 'Bad Request'], text);
        assert.match(body.message, /not valid JSON/);
      }
    }
  });

  it('must be UTF-8', async () => {
    const bytes = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const head = `POST ${authors} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`;
    const request = Buffer.concat([Buffer.from(`${head}content-length: ${bytes.length}\r\n\r\n`), bytes]);
    const { status, body } = await sendRaw(service.url, request);
    assert.deepEqual([status, body.error], [400, 'Bad Request']);
    assert.match(body.message, /UTF-8/);
  });

  it('are refused with 415 when they are declared as anything but JSON', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/xml',
      'text/html',
      'multipart/form-data; boundary=b',
    ]) {
      for (const { status, body } of await both('{}', { 'content-type': type })) {
        assert.deepEqual([status, body.statusCode, body.error], [415, 415, 'Unsupported Media Type'], type);
      }
    }
    const [posted, patched] = await both('{}', { 'content-type': 'Application/JSON; charset="utf-8"' });
    assert.deepEqual([posted?.status, patched?.status], [201, 200]);
  });

  it('may hold any Unicode text', async () => {
    const name = 'Å\u0301 🎉 \u202e עברית \t\n "quoted" \\ \u0001';
    const { id } = (await service.call('POST', authors, { name })).body;
    assert.equal((await service.call('GET', `${authors}/${id}`)).body.name, name);
  });

  it('take the last of two members with the same name', async () => {
    const { body } = await service.call('POST', authors, '{"name":"a","name":"b"}');
    assert.equal(body.name, 'b');
  });
});

describe('The size of a body (8: 1 MiB, else 413)', () => {
  const limit = 1_048_576;
  const ofSize = (bytes: number) => {
    const frame = JSON.stringify({ title: '' }).length;
    return JSON.stringify({ title: 'x'.repeat(bytes - frame) });
  };

  it('may be 1 MiB and not a byte more', async () => {
    assert.equal((await service.call('POST', posts, ofSize(limit))).status, 201);
    const { status, body } = await service.call('POST', posts, ofSize(limit + 1));
    assert.equal(status, 413);
    assert.deepEqual([body.statusCode, body.error], [413, 'Request Entity Too Large']);
    assert.match(body.message, /1048576/);
  });

  it('is refused by its Content-Length', async () => {
    const head = `POST ${posts} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`;
    const length = limit + 1;
    const { status, body } = await sendRaw(service.url, `${head}content-length: ${length}\r\n\r\n${ofSize(length)}`);
    assert.deepEqual([status, body.statusCode, body.error], [413, 413, 'Request Entity Too Large']);
  });

  it('is refused in a chunked body as well', async () => {
    const head = `POST ${posts} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\ncontent-type: application/json\r\n`;
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const { status, body } = await sendRaw(
      service.url,
      `${head}transfer-encoding: chunked\r\n\r\n${chunk.repeat(17)}0\r\n\r\n`,
    );
    assert.deepEqual([status, body.statusCode, body.error], [413, 413, 'Request Entity Too Large']);
  });

  it('leaves the service answering', async () => {
    assert.equal((await service.call('GET', posts)).status, 200);
  });
});

describe('limits.body', () => {
  const large = useServiceHere({
    collections: [{ slug: 'notes', fields: [{ name: 'text', type: 'text' }] }],
    limits: { body: 3_000_000 },
  });

  it('may also be more than 1 MiB', async () => {
    const text = 'x'.repeat(2_900_000);
    const { status, body } = await large.call('POST', '/api/collections/notes', { text });
    assert.deepEqual([status, body.text === text], [201, true]);
    assert.equal((await large.call('POST', '/api/collections/notes', { text: 'x'.repeat(3_000_000) })).status, 413);
  });

  const small = useServiceHere({
    collections: [{ slug: 'notes', fields: [{ name: 'text', type: 'text' }] }],
    limits: { body: 100 },
  });

  it('sets the size that a body may have', async () => {
    assert.equal((await small.call('POST', '/api/collections/notes', { text: 'x'.repeat(89) })).status, 201);
    const { status, body } = await small.call('POST', '/api/collections/notes', { text: 'x'.repeat(90) });
    assert.deepEqual([status, body.statusCode], [413, 413]);
    assert.match(body.message, /100/);
  });
});
