import type { EventText } from '../../../events/log/event-checks.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { retryAfterFetch } from '../../../events/segments/fetching.ts';
import { missingEvent } from '../../../events/store/altered.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';

/** How much of the log is in memory at a time, in characters of stored text; one event may be longer. */
const chunkLength = 1 << 18;

/** The events at positions `from` to `to`, chunk by chunk; other requests go on between two chunks. */
export async function* eventsBetween(log: LogReader, from: number, to: number): AsyncGenerator<EventText[]> {
  for (let next = from; next <= to; ) {
    const chunk = await retryAfterFetch(() => log.textsWithin(next - 1, to, chunkLength));
    if (chunk.length === 0) throw missingEvent(next);
    yield chunk;
    next += chunk.length;
    await yieldToEventLoop();
  }
}

/** The events of a stream at positions up to `upTo`, chunk by chunk, oldest first. */
export async function* eventsOf(log: LogReader, stream: string, upTo: number): AsyncGenerator<EventText[]> {
  for (let version = 0; ; ) {
    const chunk = await retryAfterFetch(() =>
      log.streamTextsWithin(stream, { after: version, upTo, bytes: chunkLength }),
    );
    if (chunk.length === 0) return;
    yield chunk;
    version += chunk.length;
    await yieldToEventLoop();
  }
}

/** How many headers are read at a time: about a megabyte. */
const headersAtOnce = 2000;

/** The headers at positions `from` to `to`, chunk by chunk. */
export async function* headersBetween(log: LogReader, from: number, to: number): AsyncGenerator<string[]> {
  for (let next = from; next <= to; next += headersAtOnce) {
    yield log.headers(next - 1, Math.min(next + headersAtOnce - 1, to));
    await yieldToEventLoop();
  }
}
