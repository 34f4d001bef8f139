import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import Boom from '@hapi/boom';
import type { Logger } from 'pino';
import { codeOfStatus } from '../../http/status-codes.ts';

/** Passes the requests of another server to ours, which never listens. */
type Gate = {
  /**
   * Has a request answered; resolves when it is over.
   *
   * @param url the path and query as our server knows them, without the part before `/api`.
   */
  pass: (request: IncomingMessage, response: ServerResponse, url: string) => Promise<void>;
  /** From now on requests are passed to this listener. */
  open: (listener: Listener) => void;
  /** From now on requests are refused with this message. */
  close: (message: string) => void;
  /** Waits until all requests are over, and cuts off those that take longer. */
  drain: (milliseconds: number) => Promise<void>;
};

/** Creates a closed gate: it refuses all requests until it is opened. */
export function createGate(log: Logger): Gate {
  const inHand = new Map<ServerResponse, Promise<void>>();
  let listener: Listener | null = null;
  let refusal = 'the service is starting';

  function pass(request: IncomingMessage, response: ServerResponse, url: string): Promise<void> {
    const taken = inHand.get(response);
    if (taken) return taken;
    // Another handler answers the request, or has answered it.
    if (response.headersSent || response.writableEnded || response.destroyed) return Promise.resolve();
    const over = overOf(response).finally(() => inHand.delete(response));
    inHand.set(response, over);
    const opened = listener;
    if (!opened) refuse(response, 503, refusal);
    else if (isRead(request)) {
      log.error('a body was read before its request came to Annals: its handler must stand before parsers of bodies');
      refuse(response, 500, 'the body of the request was read by another handler');
    } else guarded(() => hand(opened, { request, response, url }), response);
    return over;
  }

  /** An uncaught error would end the process of the other server. */
  function guarded(run: () => void, response: ServerResponse): void {
    try {
      run();
    } catch (err) {
      log.error({ err }, 'a request could not be taken in');
      if (response.headersSent) response.destroy();
      else refuse(response, 500, 'An internal server error occurred');
    }
  }

  return {
    pass,
    open(opened) {
      listener = opened;
    },
    close(message) {
      listener = null;
      refusal = message;
    },
    async drain(milliseconds) {
      const late = setTimeout(() => {
        for (const response of inHand.keys()) response.destroy();
      }, milliseconds);
      await Promise.all(inHand.values());
      clearTimeout(late);
    },
  };
}

/** Answers that there is no such route. */
export function refuseUnknown(response: ServerResponse, message: string): void {
  refuse(response, 404, message);
}

/** Answers with an error as the contract has it (section 7). */
function refuse(response: ServerResponse, statusCode: number, message: string): void {
  const { error } = new Boom.Boom('', { statusCode }).output.payload;
  const body = JSON.stringify({ statusCode, error, message, code: codeOfStatus(statusCode) });
  response.writeHead(statusCode, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    ...(statusCode === 503 && { 'retry-after': '5' }),
  });
  response.end(body);
}

type RoutedRequest = IncomingMessage & { originalUrl?: string };

type GateRequest = { request: RoutedRequest; response: ServerResponse; url: string };

function hand(listener: Listener, { request, response, url }: GateRequest): void {
  const { url: given = '' } = request;
  // As Express does, for loggers that write when the request is over.
  request.originalUrl ??= given;
  request.url = url;
  response.once('close', () => {
    request.url = given;
  });
  const isTold = (response as { _sent100?: boolean })._sent100 === true;
  const isWaiting = !isTold && /^100-continue$/i.test(request.headers.expect ?? '');
  // Without a `checkContinue` listener Node sends 100 Continue itself, so the header must go.
  if (isTold) delete request.headers.expect;
  listener.emit(isWaiting ? 'checkContinue' : 'request', request, response);
}

function isRead(request: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  return request.readableDidRead && (encoding !== undefined || Number(length) > 0);
}

/** Resolves when a response was sent, or its client has gone. */
function overOf(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  // A response that a test of the other server has made up is never closed.
  response.once('finish', resolve).once('close', resolve);
  return promise;
}
