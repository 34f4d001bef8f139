import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import Hapi, { type Request } from '@hapi/hapi';
import { jsonPayload } from '../../server/http/body.ts';
import { answerErrors } from '../../server/http/errors.ts';
import { boundBody, pacedBody } from '../../server/http/pace.ts';
import { sendRaw } from '../helpers/shared.ts';

const milliseconds = 20;

/** How a request with half a body fares: the code of what its connection is cut off with, or what `then` gives. */
async function fate(onRequest: (request: IncomingMessage) => Promise<string>): Promise<string> {
  const listener = createServer();
  const { promise, resolve } = Promise.withResolvers<string>();
  listener.on('request', (request) => {
    boundBody(listener, request, milliseconds);
    onRequest(request).then(resolve);
  });
  listener.on('clientError', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
  await once(listener.listen(0), 'listening');
  const socket = connect((listener.address() as AddressInfo).port);
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf');
  try {
    return await promise;
  } finally {
    socket.destroy();
    listener.close();
  }
}

describe('boundBody', () => {
  it('cuts off a client that does not send its body in time, unless it keeps to the pace', async () => {
    const never = () => new Promise<string>(() => {});
    assert.equal(await fate(never), 'ERR_HTTP_REQUEST_TIMEOUT');
    const read = (request: IncomingMessage) => {
      request.resume();
      return never();
    };
    assert.equal(await fate(read), 'ERR_HTTP_REQUEST_TIMEOUT');
    const tooSlow = await fate(async (request) => {
      const next = pacedBody({ payload: request, raw: { req: request } } as unknown as Request, {
        bytes: 9,
        milliseconds: 3 * milliseconds,
      });
      await next();
      return next().then(String, ({ message }) => message);
    });
    assert.equal(tooSlow, 'the body took too long to arrive');
  });
});

describe('pacedBody', () => {
  const pace = { bytes: 7, milliseconds: 400 };
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
      handler: async (request) => {
        const next = pacedBody(request, pace);
        let length = 0;
        for (let chunk = await next(); chunk; chunk = await next()) length += chunk.length;
        return { length };
      },
    });
    await server.start();
  });

  after(() => server.stop());

  it('takes as long as the client does that keeps the pace, and answers 408 to one that does not', async () => {
    const send = async (piece: string) => {
      const socket = connect(Number(server.info.port), '127.0.0.1');
      const answered = text(socket);
      socket.write(`${head}content-length: ${6 * piece.length}\r\nconnection: close\r\n\r\n`);
      for (let sent = 0; sent < 6; sent += 1) {
        await wait(pace.milliseconds / 4);
        if (!socket.destroyed) socket.write(piece);
      }
      return answered;
    };
    const [kept, missed] = await Promise.all([send('x'.repeat(pace.bytes)), send('x')]);
    assert.match(kept, /^HTTP\/1\.1 200 .*{"length":42}$/s);
    assert.match(missed, /^HTTP\/1\.1 408 /);
  });

  it('ends with the body, however it comes', async () => {
    for (const body of ['content-length: 0\r\n\r\n', 'transfer-encoding: chunked\r\n\r\n3\r\nxyz\r\n0\r\n\r\n']) {
      const { status, body: answer } = await sendRaw(server.info.uri, head + body);
      assert.deepEqual([status, answer], [200, { length: body.includes('xyz') ? 3 : 0 }]);
    }
  });
});
