import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request, ResponseObject } from '@hapi/hapi';
import type { Backlog } from './backlog.ts';
import type { AddHeaders, AnswerHeaders } from './errors.ts';
import { slowest } from './pace.ts';
import { requestId } from './requests.ts';
import { Texts } from './whole-text.ts';

/** How a server ends each answer: the headers of all answers, and the backlog that counts what clients do not read. */
type Ending = { addTo: AddHeaders; backlog: Pick<Backlog, 'hold'> };

declare module '@hapi/hapi' {
  interface PluginsStates {
    /** Set if nothing else looks at the answers of the server, so that a handler may send one itself. */
    atOnce?: Ending;
  }
  interface RequestApplicationState {
    /** True once a cookie was set or cleared: hapi writes that into the head of its own answers. */
    changesCookies?: true;
  }
}

/** The backlog never refuses an answer up to this size. A larger one may wait to be read, so hapi sends it. */
const mostBytes = slowest.bytes;
/** The size from which hapi compresses, in bytes. */
const compressedFrom = 4096;

/** The type as the header says it, which hapi's own types do not know. */
type TypedResponse = ResponseObject & { contentType: string | null };

/** The headers of every answer, beside those of its route. */
export function addCommon(request: Request, headers: AnswerHeaders, addTo: AddHeaders): void {
  headers['x-request-id'] = requestId(request);
  headers['x-content-type-options'] = 'nosniff';
  addTo(request, headers);
}

/**
 * Sends a response whose text is known past the rest of hapi's lifecycle, if hapi would only send it too: no other form
 * for its client, no cookie, no comparison with the client's copy.
 *
 * @returns whether it was sent; the caller then ends the lifecycle with `h.abandon`.
 */
export function sendsAtOnce(request: Request, response: ResponseObject, ending: Ending): boolean {
  const { variety, statusCode, contentType } = response as TypedResponse;
  const source: unknown = response.source;
  if (variety !== 'plain' || source === '' || contentType === null || !isSimple(request)) return false;
  if (typeof source !== 'string' && !(source instanceof Texts)) return false;
  if (source instanceof Texts && !isSentWhole(source.units, request.info.acceptEncoding)) return false;
  const payload = whole(request, typeof source === 'string' ? source : source.joined());
  if (payload === null) return false;
  const headers = response.headers as AnswerHeaders;
  headers['content-type'] = contentType;
  send(request, { statusCode, headers, payload }, ending);
  return true;
}

const variesBy = 'accept-encoding';
const json = 'application/json; charset=utf-8';

/**
 * As {@link sendsAtOnce}, for JSON with a tag, from the handler of a GET, which then makes no response.
 *
 * @param ending of a server if nothing else looks at its answers.
 */
export function sendsJsonAtOnce(request: Request, { text, etag }: { text: string; etag: string }, ending: Ending) {
  if (!isSimple(request) || request.app.asOf) return false;
  const payload = whole(request, text);
  if (payload === null) return false;
  const headers: AnswerHeaders = { 'content-type': json, etag };
  addCommon(request, headers, ending.addTo);
  send(request, { statusCode: 200, headers, payload }, ending);
  return true;
}

/**
 * Whether an answer goes over a connection of HTTP/1.1 that stays open, to a client that has sent its whole request,
 * and asks for the whole answer.
 */
function isSimple({ method, headers, app, server, raw: { req, res } }: Request): boolean {
  return (
    method !== 'head' &&
    headers['if-none-match'] === undefined &&
    headers['if-modified-since'] === undefined &&
    app.changesCookies === undefined &&
    // A request that is made up has none.
    req.socket instanceof Socket &&
    req.complete &&
    req.httpVersionMajor === 1 &&
    server.info.started > 0 &&
    !res.headersSent &&
    !res.closed &&
    !res.destroyed
  );
}

/** The number of bytes of an answer, and the function that ends the answer with them. */
type Payload = { bytes: number; end: (res: ServerResponse) => void };

/** A text as a payload; null if it is to be compressed, or too large. */
function whole({ info }: Request, text: string): Payload | null {
  const bytes = text.length > mostBytes ? text.length : Buffer.byteLength(text);
  if (!isSentWhole(bytes, info.acceptEncoding)) return null;
  // A text of ASCII has as many bytes as characters, and is copied without a look at each.
  return { bytes, end: (res) => res.end(text, bytes === text.length ? 'latin1' : 'utf8') };
}

function isSentWhole(bytes: number, acceptEncoding: string): boolean {
  return bytes < compressedFrom || (bytes <= mostBytes && acceptEncoding === 'identity');
}

type Answer = { statusCode: number; headers: AnswerHeaders; payload: Payload };

function send(request: Request, { statusCode, headers, payload }: Answer, { backlog }: Ending): void {
  const { req, res } = request.raw;
  headers['content-length'] = payload.bytes;
  if (payload.bytes >= compressedFrom)
    headers.vary = headers.vary === undefined ? variesBy : `${headers.vary},${variesBy}`;
  // The default of hapi.
  headers['cache-control'] ??= 'no-cache';
  res.writeHead(statusCode, headers as OutgoingHttpHeaders);
  payload.end(res);
  if (isHeld(res, req.socket.writableLength)) backlog.hold(request, payload.bytes);
}

/** Whether a part of an answer waits: the system did not take all, or earlier answers of the connection come first. */
function isHeld(res: ServerResponse, waiting: number): boolean {
  return waiting > 0 || res.socket === null || res.writableLength > 0;
}
