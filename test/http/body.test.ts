import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import Hapi from '@hapi/hapi';
import { jsonPayload, readBody } from '../../server/http/body.ts';
import { answerErrors } from '../../server/http/errors.ts';
import { sendRaw } from '../helpers/shared.ts';

const patience = 150;
const server = Hapi.server({ host: '127.0.0.1', port: 0, debug: false });
const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

before(async () => {
  server.ext(
    'onPreResponse',
    answerErrors(() => {}, { backlog: { admit: () => null, hold: () => {} }, addTo: () => {} }),
  );
  server.route({
    method: 'POST',
    path: '/',
    options: { payload: jsonPayload },
    handler: async (request) => ({ read: await readBody(request, 100, patience) }),
  });
  await server.start();
});

after(() => server.stop());

describe('readBody', () => {
  it('answers 408 when the body takes too long, and closes', async () => {
    for (const bytes of [
      `${head}content-length: 9\r\n\r\n{"a"`,
      `${head}transfer-encoding: chunked\r\n\r\n1\r\n{\r\n`,
    ]) {
      const { status, body, headers } = await sendRaw(server.info.uri, bytes);
      assert.deepEqual(
        [status, body],
        [
          408,
          {
            statusCode: 408,
            error: 'Request Time-out',
            code: 'request_timeout',
            message: 'the body took too long to arrive',
          },
        ],
      );
      assert.equal(headers.get('connection'), 'close');
    }
  });

  it('lets go of the connection of a client that goes away in the middle', async () => {
    const gone = await fetch(server.info.uri, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) }),
      duplex: 'half',
    } as RequestInit).catch((error: Error) => error);
    assert.ok(gone instanceof Error);
    assert.equal((await sendRaw(server.info.uri, `${head}content-length: 2\r\n\r\n{}`)).status, 200);
  });

  it('reads what it refuses, so that the connection can go on', async () => {
    const { status, headers } = await sendRaw(server.info.uri, `${head}content-length: 200\r\n\r\n${'x'.repeat(200)}`);
    assert.deepEqual([status, headers.get('connection')], [413, 'keep-alive']);
  });
});
