import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, it } from 'node:test';
import type { Request } from '@hapi/hapi';
import { pacedBody } from '../../server/body.ts';
import { boundBody } from '../../server/http.ts';

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
  it('cuts off who does not send a whole body in time, read or not, unless it is read at a pace', async () => {
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
