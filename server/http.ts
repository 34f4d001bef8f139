import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import Hapi, { type Server } from '@hapi/hapi';
import type { App } from './app.ts';
import { annals } from './plugin.ts';

/** Starts a hapi server of our own around the plugin; resolves when it answers. */
export async function startServer(app: App, host: string, port: number): Promise<Server> {
  const server = Hapi.server({ host, port, compression: { minBytes: 4096 }, debug: false });
  // hapi answers what is not even HTTP without a body; ours is the contract's.
  server.listener.removeAllListeners('clientError');
  server.listener.on('clientError', answerClientError);
  await server.register({ plugin: annals, options: { app } });
  await server.start();
  return server;
}

const statusOf: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const statusCode = statusOf[error.code ?? ''] ?? 400;
  const name = STATUS_CODES[statusCode] ?? 'Bad Request';
  const body = JSON.stringify({ statusCode, error: name, message: name });
  socket.end(
    `HTTP/1.1 ${statusCode} ${name}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
