import type { JsonObject } from '../../config/schema.ts';
import { isDraftOnly, isPublication } from '../../events/facts/catalogue.ts';
import type { Header } from '../../events/facts/envelope.ts';
import { foldLines, type Lines, noLines } from '../../events/facts/lines.ts';
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

/** The lines of a document as a caller sees them: both are the public one if the caller sees no drafts. */
export type SeenLines = Pick<Lines, 'published' | 'draft'>;

/**
 * Goes through a stream up to a version, with the lines of the document before and after each event. Yields to other
 * requests, however long the stream is.
 */
export async function walk(
  { log, sight }: SeenLog,
  { stream, upTo, upcaster }: { stream: string; upTo: number; upcaster: Upcaster },
  visit: (event: SeenEvent, before: SeenLines, after: SeenLines) => void,
): Promise<void> {
  let lines: Lines = noLines;
  let since = performance.now();
  for (let from = 0; from < upTo; from += chunk) {
    for (const [index, position] of log.positionsOf(stream, from, Math.min(from + chunk, upTo)).entries()) {
      const event = sight.seen(eventIn(log, { stream, version: from + index + 1 }, position));
      const folded = foldEvent(lines, event, upcaster);
      const after = sight.hasDrafts ? folded : publicOnly(folded);
      visit(event, lines, after);
      lines = after;
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

/** The lines for a caller who sees no drafts: of a document that is not public, nothing. */
function publicOnly({ published }: Lines): Lines {
  return { ...noLines, published, draft: published };
}

/** As `foldLines`, also for events without a payload: only their type may change the document. */
function foldEvent(before: Lines, event: SeenEvent, upcaster: Upcaster): Lines {
  const { header, data } = event;
  if (header.type === 'document.deleted' || header.type === 'document.erased') return noLines;
  if (data === null || !isAboutDocument(header)) return before;
  return foldLines(before, { ...header, data: valuesIn({ ...event, data }, upcaster) });
}

/** The values in an event, by the names of an upcaster; by today's names if the rules left fields out of it. */
export function valuesIn({ header, data, isOfToday }: EventWithData, upcaster: Upcaster): JsonObject {
  return isOfToday ? data : upcaster.upcast(schemaKey(header.stream), header, data);
}

/** Whether an event is about the content of a document or a global. */
export function isAboutDocument({ type }: Header): boolean {
  return type.startsWith('document.') || type.startsWith('global.');
}

/** Whether an event tells what is public from what is not. */
export function isAboutLines({ type }: Header): boolean {
  return isDraftOnly(type) || isPublication(type) || type === 'document.unpublished';
}
