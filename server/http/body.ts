import type { Readable } from 'node:stream';
import Bourne from '@hapi/bourne';
import type { Request, RouteOptionsPayload } from '@hapi/hapi';
import { cutField, DomainError, type FieldError, inBody, invalidFields } from '../../config/errors.ts';
import { messageOf } from '../../storage/errors.ts';
import { joinChunks } from '../platform/chunks.ts';
import { lostNumbers } from '../platform/whole-numbers.ts';

/**
 * Route options for a JSON body that the handler reads with {@link readBody}. hapi's own reader tears the connection
 * down when a chunked body passes the limit, so that the client never sees the 413.
 */
export const jsonPayload: RouteOptionsPayload = {
  allow: 'application/json',
  maxBytes: Number.MAX_SAFE_INTEGER,
  parse: false,
  output: 'stream',
};

/** Route options without a body: it is ignored. */
export const noPayload: RouteOptionsPayload = { maxBytes: Number.MAX_SAFE_INTEGER, parse: false, output: 'stream' };

const bodyMilliseconds = 30_000;
const maxDropped = 32 * 1024 * 1024;
const dropMilliseconds = 5000;

/**
 * Reads a JSON body to its end; undefined without a body.
 *
 * @param patience how many milliseconds the client may take.
 * @throws DomainError `body_too_large`; `malformed` for a body that is not JSON in UTF-8, `request_timeout` for a
 * client that takes too long.
 */
export async function readBody(request: Request, maxBytes: number, patience = bodyMilliseconds): Promise<unknown> {
  refuseEncoded(request);
  if (Number(request.headers['content-length']) > maxBytes) throw tooLarge(maxBytes);
  const bytes = await collect(request.payload as Readable, maxBytes, patience);
  return bytes.length === 0 ? undefined : parse(bytes);
}

/** @throws DomainError `unsupported_media_type` for a body that is compressed. */
export function refuseEncoded({ headers: { 'content-encoding': encoding } }: Request): void {
  if (encoding === undefined || encoding === 'identity') return;
  throw new DomainError(
    'unsupported_media_type',
    `the body must not be encoded, got content-encoding ${String(encoding).slice(0, 50)}`,
  );
}

/** Reads a body. Not by `for await`: leaving that before the end destroys the request, and its answer. */
async function collect(stream: Readable, maxBytes: number, patience: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const joined = joinChunks();
  const take = (chunk: Buffer) => {
    if (joined.size() + chunk.length > maxBytes) reject(tooLarge(maxBytes));
    else joined.add(chunk);
  };
  const breakOff = () => reject(endedEarly());
  const timer = setTimeout(() => reject(tooSlow()), patience);
  stream.on('error', breakOff).on('close', breakOff).on('data', take);
  stream.on('end', () => {
    // A body that has ended is closed next, which is not an error.
    stream.off('close', breakOff);
    resolve(joined.bytes());
  });
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    stream.off('data', take).pause();
  }
}

/**
 * Reads the rest of a refused body and drops it. If the connection were closed while the client still sends, it would
 * be reset, and the client would never see the answer. At most 32 MiB, and no longer than 5 seconds.
 */
export async function dropRest({ headers, payload, raw: { req } }: Request): Promise<void> {
  const { 'content-length': length, 'transfer-encoding': encoding, expect } = headers;
  // A client that sent `Expect: 100-continue` waits for the interim response.
  const isHeld = expect !== undefined && payload === undefined;
  if ((length === undefined && encoding === undefined) || isHeld) return;
  if (Number(length) > maxDropped || req.readableEnded || req.destroyed) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  let size = 0;
  const drop = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxDropped) resolve();
  };
  const done = () => resolve();
  const timer = setTimeout(done, dropMilliseconds);
  req.on('data', drop).on('end', done).on('close', done).on('error', done).resume();
  await promise;
  clearTimeout(timer);
  req.off('data', drop).pause();
}

/** The refusal of a body whose client went away. */
export function endedEarly(): DomainError {
  return new DomainError('malformed', 'the body ended too early');
}

/** The refusal of a body that did not come in time. */
export function tooSlow(): DomainError {
  return new DomainError('request_timeout', 'the body took too long to arrive');
}

function tooLarge(maxBytes: number): DomainError {
  return new DomainError('body_too_large', `the body must be at most ${maxBytes} bytes`);
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(bytes: Buffer): unknown {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw new DomainError('malformed', 'the body is not valid UTF-8');
  }
  let value: unknown;
  try {
    value = Bourne.parse(text);
  } catch (error) {
    const isForbidden = messageOf(error).includes('forbidden prototype');
    const problem = isForbidden ? 'the body must not hold the key "__proto__"' : 'the body is not valid JSON';
    throw new DomainError('malformed', problem);
  }
  refuseLostNumbers(text);
  return value;
}

/**
 * Refuses numbers that JavaScript cannot hold. A body that is only a number is refused by its route, in other words.
 *
 * @throws DomainError `validation_failed` naming each such number.
 */
function refuseLostNumbers(text: string): void {
  const lost = lostNumbers(text).filter(({ path }) => path.length > 0);
  const errors = lost.map(({ path, problem }): FieldError => {
    const field = cutField(path.join('.'));
    return { ...inBody(field, 'unsafe_number'), message: `${field} must ${problem}` };
  });
  if (errors.length > 0) throw invalidFields(errors);
}
