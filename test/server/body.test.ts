import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import Hapi from '@hapi/hapi';
import { isPaced, jsonPayload, pacedBody, readBody } from '../../server/body.ts';
import { answerErrors } from '../../server/errors.ts';
import { sendRaw } from '../helpers/shared.ts';

const patience = 150;
const pace = { bytes: 7, milliseconds: 400 };
const server = Hapi.server({ host: '127.0.0.1', port: 0, debug: false });
const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

before(async () => {
  server.ext(
    'onPreResponse',
    answerErrors(() => {}),
  );
  server.route({
    method: 'POST',
    path: '/',
    options: { payload: jsonPayload },
    handler: async (request) => ({ read: await readBody(request, 100, patience) }),
  });
  server.route({
    method: 'POST',
    path: '/paced',
    options: { payload: jsonPayload },
    handler: async (request) => {
      const next = pacedBody(request, pace);
      let length = 0;
      for (let chunk = await next(); chunk; chunk = await next()) length += chunk.length;
      return { length, isPaced: isPaced(request.raw.req) };
    },
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
        [408, { statusCode: 408, error: 'Request Time-out', message: 'the body took too long to arrive' }],
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

describe('pacedBody', () => {
  const paced = head.replace('POST /', 'POST /paced');

  it('takes as long as the client does that keeps the pace, and answers 408 to one that does not', async () => {
    const send = async (piece: string) => {
      const socket = connect(Number(server.info.port), '127.0.0.1');
      const answered = text(socket);
      socket.write(`${paced}content-length: ${6 * piece.length}\r\nconnection: close\r\n\r\n`);
      for (let sent = 0; sent < 6; sent += 1) {
        await wait(pace.milliseconds / 4);
        if (!socket.destroyed) socket.write(piece);
      }
      return answered;
    };
    const [kept, missed] = await Promise.all([send('x'.repeat(pace.bytes)), send('x')]);
    assert.match(kept, /^HTTP\/1\.1 200 .*{"length":42,"isPaced":true}$/s);
    assert.match(missed, /^HTTP\/1\.1 408 /);
  });

  it('ends with the body, however it comes', async () => {
    for (const body of ['content-length: 0\r\n\r\n', 'transfer-encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n']) {
      const { status, body: answer } = await sendRaw(server.info.uri, paced + body);
      assert.deepEqual([status, answer], [200, { length: body.includes('xyz') ? 3 : 0, isPaced: true }]);
    }
  });
});
