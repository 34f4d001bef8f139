import type { Readable } from 'node:stream';
import Boom from '@hapi/boom';
import Bourne from '@hapi/bourne';
import type { Request, RouteOptionsPayload } from '@hapi/hapi';
import { DomainError } from '../config/errors.ts';

/**
 * Route options for a JSON body that the handler reads with {@link readBody}. hapi's own reader tears the connection down
 * when a chunked body passes the limit, so that the client never sees the 413.
 */
export const jsonPayload: RouteOptionsPayload = {
  allow: 'application/json',
  maxBytes: Number.MAX_SAFE_INTEGER,
  parse: false,
  output: 'stream',
};

const drainFactor = 16;
const timeoutMilliseconds = 30_000;

/**
 * Reads a JSON body to its end; undefined when there is none.
 *
 * @param maxBytes the most that is kept; a bounded rest is read and dropped, so that the client gets to read the answer.
 * @throws DomainError `too-large`; a 400 for what is not JSON in UTF-8, a 408 for a client that takes half a minute.
 */
export async function readBody(request: Request, maxBytes: number): Promise<unknown> {
  const { 'content-encoding': encoding } = request.headers;
  if (encoding !== undefined && encoding !== 'identity') {
    throw Boom.unsupportedMediaType(
      `the body must not be encoded, got content-encoding ${String(encoding).slice(0, 50)}`,
    );
  }
  if (Number(request.headers['content-length']) > maxBytes) throw tooLarge(maxBytes);
  const stream = request.payload as Readable;
  const chunks: Buffer[] = [];
  let size = 0;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    stream.destroy();
  }, timeoutMilliseconds);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else if (size > maxBytes * drainFactor) break;
    }
  } catch {
    throw isLate ? Boom.clientTimeout('the body took too long to arrive') : Boom.badRequest('the body ended too early');
  } finally {
    clearTimeout(timer);
  }
  if (size > maxBytes) throw tooLarge(maxBytes);
  return size === 0 ? undefined : parse(Buffer.concat(chunks));
}

function tooLarge(maxBytes: number): DomainError {
  return new DomainError('too-large', `the body must be at most ${maxBytes} bytes`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw Boom.badRequest('the body is not valid UTF-8');
  }
  try {
    return Bourne.parse(text);
  } catch (error) {
    const isForbidden = (error as Error).message.includes('forbidden prototype');
    throw Boom.badRequest(isForbidden ? 'the body must not hold the key "__proto__"' : 'the body is not valid JSON');
  }
}
