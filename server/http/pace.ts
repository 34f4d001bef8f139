import type { IncomingMessage, Server as Listener } from 'node:http';
import type { Readable } from 'node:stream';
import type { Request } from '@hapi/hapi';
import { endedEarly, tooSlow } from './body.ts';

/** How fast a body must arrive at least: this many bytes per this many milliseconds of waiting for it. */
export type Pace = { bytes: number; milliseconds: number };

export const slowest: Pace = { bytes: 16 * 1024, milliseconds: 30_000 };

/** The requests whose body {@link pacedBody} reads. */
const paced = new WeakSet<IncomingMessage>();

/**
 * Cuts off a client whose body is not whole in time, as Node does, whether the body is read or not. A body that
 * {@link pacedBody} reads may take as long as it keeps the pace.
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
 * Reads a body piece by piece as asked, null at the end: the rest stays with the client.
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

/** Reads one piece: `read()` would join the pieces that have come, which takes twice the memory. */
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
