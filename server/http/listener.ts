import { once } from 'node:events';
import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Boom from '@hapi/boom';
import { type Connections, openConnections } from './connections.ts';
import { boundBody } from './pace.ts';
import { codeOfStatus } from './status-codes.ts';
import { isHeld } from './write-admission.ts';

// An import would load all of fetch, which node:http exports too: a tenth of a start.
const { createServer } = process.getBuiltinModule('node:http');

/** Where a server listens. */
export type Address = {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Whether other threads listen there too. */
  isShared: boolean;
  /** How many seconds a connection is kept open for the next request. */
  keepAliveSeconds: number;
};

/** How long a client may take to send the head of a request; checked every few seconds. */
const timeouts = { headersTimeout: 20_000, connectionsCheckingInterval: 5000 };
/**
 * How long a client may take to send a request with its body. Large bodies have a pace; Node's bound would cut them.
 */
const bodyMilliseconds = 300_000;

/** How many lines of headers a request may have. */
const maxHeaders = 1000;

/** Makes a listener for HTTP that does not listen yet. To be guarded before it listens. */
export function createListener(): Listener {
  // Node would refuse a request without Host with an empty answer.
  const listener = createServer({ ...timeouts, requestTimeout: 0, requireHostHeader: false });
  // One more than allowed, to be counted: older releases of Node silently leave out lines beyond this bound.
  listener.maxHeadersCount = maxHeaders + 1;
  return listener;
}

/** The head of a request; a request that a server makes up has no raw headers. */
type Head = Pick<IncomingMessage, 'headers' | 'httpVersion' | 'url'> & { rawHeaders?: readonly string[] };

/**
 * Refuses a request with more than 1,000 lines of headers, of HTTP/0.9, or that does not name one host (RFC 9112,
 * sections 3.2 and 3.2.2), when it comes: Node would accept it, or answer without a body. A proxy may have looked
 * at another host than this service would.
 *
 * @throws a 431; a 400.
 */
export function requireHead({ headers, httpVersion, rawHeaders, url = '' }: Head): void {
  if (rawHeaders && rawHeaders.length > 2 * maxHeaders) throw new Boom.Boom(undefined, { statusCode: 431 });
  const { host } = headers;
  if (host === undefined && httpVersion === '1.1') throw Boom.badRequest('the Host header is missing');
  if (rawHeaders && countHosts(rawHeaders) > 1) throw Boom.badRequest('the Host header must be there once');
  if (httpVersion === '0.9') throw Boom.badRequest('the request must be of HTTP/1.0 or HTTP/1.1');
  if (host !== undefined && url[0] !== '/' && !isTargetOf(host, url))
    throw Boom.badRequest('the request target names another host than the Host header');
}

/** How many lines of headers name a host: Node shows only the first of several. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && (name === 'host' || name === 'Host' || name.toLowerCase() === 'host')) count += 1;
  }
  return count;
}

/**
 * Whether a target that is not a path names this host. A target without a host, such as `*`, and one that cannot be
 * read name no other host.
 */
function isTargetOf(host: string, target: string): boolean {
  if (!URL.canParse(target)) return true;
  const { protocol, host: named } = new URL(target);
  const own = `${protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === named;
}

/**
 * Bounds the load of a listener by its clients, and answers malformed requests in the contract's form. To be called
 * when the handlers of its requests have been added.
 *
 * @param isEnding whether answers are to say that their connection ends.
 * @returns `inHand`: the answers that are not over yet.
 */
export function guardListener(
  listener: Listener,
  isEnding: () => boolean,
): { inHand: ReadonlySet<ServerResponse>; connections: Connections } {
  const inHand = new Set<ServerResponse>();
  const connections = openConnections(listener, inHand, isEnding);
  listener.on('checkExpectation', refuseExpectation);
  // hapi answers malformed HTTP without a body; the contract wants one.
  listener.removeAllListeners('clientError');
  const note = (request: IncomingMessage, response: ServerResponse) => {
    inHand.add(response);
    connections.begun(response);
    response.on('close', () => {
      inHand.delete(response);
      connections.over(response);
    });
    boundBody(listener, request, bodyMilliseconds);
  };
  // A request with `Expect: 100-continue` is another event.
  listener.on('request', note).on('checkContinue', note);
  listener.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    // While earlier requests of the connection wait, the rest of this head is not read.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isHeld(socket)) return;
    const response = [...inHand].findLast(({ req }) => req.socket === socket);
    // The bytes after a whole request are malformed, not the request: its response comes first.
    if (response?.req.complete && !response.writableFinished) {
      response.once('close', () => answerClientError(error, socket));
    } else answerClientError(error, socket);
  });
  return { inHand, connections };
}

/** Starts listening. */
export async function listen(listener: Listener, address: Address): Promise<void> {
  const { host, port, isShared, keepAliveSeconds } = address;
  listener.keepAliveTimeout = keepAliveSeconds * 1000;
  listener.listen({ host, port, reusePort: isShared });
  await once(listener, 'listening');
}

/** How long a client has to read the reason before it is cut off. */
const lingerMilliseconds = 1000;

const statusOf: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };
/** Messages for errors that a client can avoid; for others the name of the status is enough. */
const messages: Record<string, string> = {
  HPE_INVALID_URL: 'the URL has characters that must be percent-encoded, or is not a URL',
};

function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const statusCode = statusOf[error.code ?? ''] ?? 400;
  const { name, body } = errorOf(statusCode, messages[error.code ?? '']);
  socket.end(
    `HTTP/1.1 ${statusCode} ${name}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  // This closes only our half. A client that never closes the other half would stay for ever.
  setTimeout(() => socket.destroy(), lingerMilliseconds).unref();
}

function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const { body } = errorOf(417);
  response.writeHead(417, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
}

function errorOf(statusCode: number, message?: string): { name: string; body: string } {
  const code = codeOfStatus(statusCode);
  // hapi's name of a status is not always Node's.
  const name = new Boom.Boom('', { statusCode }).output.payload.error;
  return { name, body: JSON.stringify({ statusCode, error: name, message: message ?? name, code }) };
}
