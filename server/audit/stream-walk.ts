import type { JsonObject } from '../../config/schema.ts';
import { foldDocument } from '../../events/facts/documents.ts';
import type { Header } from '../../events/facts/envelope.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import { schemaKey, type Upcaster } from '../../events/facts/upcasters.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { requireVersion } from '../../events/store/altered.ts';
import type { SeenEvent, Sight } from '../access/sight.ts';
import { yieldToEventLoop } from '../platform/yield.ts';
import type { Epochs } from './epochs.ts';

/** A log, the schemas that it was written under, and what a caller sees of it. */
export type SeenLog = { log: LogReader; epochs: Epochs; sight: Sight };

/** An event whose payload is neither erased nor hidden. */
export type EventWithData = SeenEvent & { data: JsonObject };

const yieldMilliseconds = 10;
const chunk = 500;

/**
 * Goes through a stream up to a version, with the document before and after each event. Yields to other requests,
 * however long the stream is.
 */
export async function walk(
  { log, sight }: SeenLog,
  { stream, upTo, upcaster }: { stream: string; upTo: number; upcaster: Upcaster },
  visit: (event: SeenEvent, before: JsonObject | null, after: JsonObject | null) => void,
): Promise<void> {
  let document: JsonObject | null = null;
  let since = performance.now();
  for (let from = 0; from < upTo; from += chunk) {
    for (const [index, position] of log.positionsOf(stream, from, Math.min(from + chunk, upTo)).entries()) {
      const event = sight.seen(eventIn(log, { stream, version: from + index + 1 }, position));
      const after = foldEvent(document, event, upcaster);
      visit(event, document, after);
      document = after;
      if (performance.now() - since < yieldMilliseconds) continue;
      await yieldToEventLoop();
      since = performance.now();
    }
  }
}

/** The event at a position, which must be this version of a stream. */
export function eventIn(
  log: LogReader,
  { stream, version }: { stream: string; version: number },
  position: number,
): RecordedEvent {
  const event = eventOf(textAt(log, position));
  requireVersion(event.header, stream, version);
  return event;
}

/** As `foldDocument`, also for events without a payload: only their type may change the document. */
function foldEvent(before: JsonObject | null, event: SeenEvent, upcaster: Upcaster): JsonObject | null {
  const { header, data } = event;
  if (header.type === 'document.deleted' || header.type === 'document.erased') return null;
  if (data === null || !isAboutDocument(header)) return before;
  return foldDocument(before, header.type, valuesIn({ ...event, data }, upcaster));
}

/** The values in an event, by the names of an upcaster; by today's names if the rules left fields out of it. */
export function valuesIn({ header, data, isOfToday }: EventWithData, upcaster: Upcaster): JsonObject {
  return isOfToday ? data : upcaster.upcast(schemaKey(header.stream), header, data);
}

/** Whether an event is about the content of a document or a global. */
export function isAboutDocument({ type }: Header): boolean {
  return type.startsWith('document.') || type.startsWith('global.');
}
