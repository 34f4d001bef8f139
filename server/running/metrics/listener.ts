import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Boom from '@hapi/boom';
import type { Logger } from 'pino';
import { codeOfStatus } from '../../http/status-codes.ts';
import { mayRead, metricsType } from './routes.ts';

// An import would load all of fetch too.
const { createServer } = process.getBuiltinModule('node:http');

/** A listener that answers only metrics. */
export type Listening = { url: string; close: () => Promise<void> };

/** `tokenHash`: the hash of the token that callers need; null if they need none. */
type Options = { text: () => Promise<string>; tokenHash: Buffer | null; log: Logger };

/**
 * Answers `GET /metrics` at a separate address, from the main thread: busy threads that answer requests do not delay
 * it.
 */
export async function listenForMetrics(address: string, { text, tokenHash, log }: Options): Promise<Listening> {
  const [, host = '', port = ''] = /^\[?(.*?)\]?:(\d+)$/.exec(address) ?? [];
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 10_000 }, (request, response) => {
    // A body is not read.
    if (request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined)
      response.setHeader('connection', 'close');
    answer(request, response).catch((err) => {
      log.error({ err }, 'the metrics cannot be given');
      refuse(response, 500);
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path] = (request.url ?? '').split('?', 1);
    if (path !== '/metrics') return refuse(response, 404);
    if (!['GET', 'HEAD'].includes(request.method ?? '')) return refuse(response, 405, { allow: 'GET, HEAD' });
    if (tokenHash && !mayRead(request.headers.authorization, tokenHash))
      return refuse(response, 401, { 'www-authenticate': 'Bearer realm="annals"' });
    const body = await text();
    const length = Buffer.byteLength(body);
    response.writeHead(200, { 'content-type': metricsType, 'content-length': length, 'cache-control': 'no-store' });
    response.end(body);
  }

  server.maxConnections = 64;
  server.listen({ host, port: Number(port) });
  await once(server, 'listening');
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${own}/metrics`,
    async close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function refuse(response: ServerResponse, statusCode: number, headers: Record<string, string> = {}): void {
  const { error } = new Boom.Boom('', { statusCode }).output.payload;
  if (response.headersSent) return;
  response.writeHead(statusCode, { ...headers, 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify({ statusCode, error, message: error, code: codeOfStatus(statusCode) }));
}
