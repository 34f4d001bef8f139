import type { IncomingMessage, Server as Listener } from 'node:http';
import type { Readable } from 'node:stream';
import type { Request } from '@hapi/hapi';
import { endedEarly, tooSlow } from './body.ts';

/** How fast a body must arrive at least: so many bytes for each so many milliseconds that are spent waiting for it. */
export type Pace = { bytes: number; milliseconds: number };

export const slowest: Pace = { bytes: 16 * 1024, milliseconds: 30_000 };

/** Requests that were given to {@link pacedBody}. */
const paced = new WeakSet<IncomingMessage>();

/**
 * Cuts a client off, as Node does it, whose body is not whole in time, whether it is read or not; but for one that is
 * read by {@link pacedBody}, which may take as long as it keeps the pace.
 */
export function boundBody(listener: Listener, request: IncomingMessage, milliseconds: number): void {
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (length === undefined && encoding === undefined) return;
  const timer = setTimeout(() => {
    if (paced.has(request)) return;
    const error = Object.assign(new Error('the body took too long to arrive'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    listener.emit('clientError', error, request.socket);
  }, milliseconds);
  timer.unref();
  request.once('close', () => clearTimeout(timer));
}

/**
 * Gives a body piece by piece as it is asked for, null when it is at its end: the rest stays with the client.
 *
 * @throws a 408 for a client that is too slow, a 400 for one that goes away.
 */
export function pacedBody({ payload, raw }: Request, pace = slowest): () => Promise<Buffer | null> {
  const stream = payload as Readable;
  let bytes = 0;
  let waited = 0;
  paced.add(raw.req);

  return async () => {
    const begun = performance.now();
    const chunk = await nextChunk(stream, pace.milliseconds - waited);
    waited += performance.now() - begun;
    bytes += chunk?.length ?? 0;
    if (bytes >= pace.bytes) bytes = waited = 0;
    return chunk;
  };
}

/** One at a time: `read()` would join those that have come, and twice the memory would be used. */
async function nextChunk(stream: Readable, patience: number): Promise<Buffer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | null>();
  const take = (chunk: Buffer) => {
    stream.pause();
    resolve(chunk);
  };
  const end = () => resolve(null);
  const breakOff = () => (stream.readableEnded ? resolve(null) : reject(endedEarly()));
  const timer = setTimeout(() => reject(tooSlow()), patience);
  if (stream.destroyed || stream.readableEnded) breakOff();
  stream.on('data', take).on('end', end).on('error', breakOff).on('close', breakOff).resume();
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    stream.off('data', take).off('end', end).off('error', breakOff).off('close', breakOff);
  }
}
