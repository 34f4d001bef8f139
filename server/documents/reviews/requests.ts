import type { JsonObject } from '../../../config/schema.ts';
import type { Header } from '../../../events/facts/envelope.ts';
import { headerOf } from '../../../events/facts/envelope.ts';
import type { App } from '../../app.ts';

/** The event of a request for review; `data` is null if it was erased. */
export type ReviewRequest = { header: Header; data: JsonObject | null };

const atOnce = 50;

/**
 * The newest request for review in the stream of a document, which comes after the version that it asks about; null
 * without one.
 */
export function requestOf({ events }: App, stream: string, version: number): ReviewRequest | null {
  for (let upTo = events.versionOf(stream); upTo > version; upTo -= atOnce) {
    const positions = events.positionsOf(stream, Math.max(version, upTo - atOnce), upTo);
    for (const position of positions.reverse()) {
      const [text] = events.headers(position - 1, position);
      if (text === undefined || headerOf(text).type !== 'review.requested') continue;
      const [event] = events.range(position - 1, position);
      return event ? { header: event.header, data: event.data } : null;
    }
  }
  return null;
}
