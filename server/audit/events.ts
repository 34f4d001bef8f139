import { splitStream } from '../../events/facts/catalogue.ts';
import { type Header, headerOf } from '../../events/facts/envelope.ts';
import type { EventText } from '../../events/log/event-checks.ts';
import { eventOf, type LogReader, textAt } from '../../events/log/log-reader.ts';
import { misplacedEvent, requireVersion } from '../../events/store/altered.ts';
import {
  type AuditMatches,
  collectionOf,
  type EventFilter,
  type Span,
  typesOf,
} from '../../projections/tables/audit.ts';
import type { AuditRights } from '../access/rights.ts';
import type { Sight } from '../access/sight.ts';
import type { App } from '../app.ts';
import type { EventQuery } from './event-query.ts';

/** Events in their order, and the position that was reached: nothing up to it is missing. */
type EventPage = { events: EventJson[]; reached: number };

type Source = Pick<App, 'events' | 'auditIndex'>;

/** How many headers of one stream a search looks at, at most. */
const mostHeaders = 1000;

/**
 * Finds the events that are asked for; fewer than `limit` before the end if few match, or they are large.
 *
 * @throws AlteredEventError if an index names an event that does not match by its header.
 */
export async function findEvents(source: Source, rights: AuditRights, query: EventQuery): Promise<EventPage> {
  const { stream, batch, after, upTo, limit } = query;
  if (upTo <= after) return { events: [], reached: after };
  const { positions, reached } =
    stream !== null
      ? searchStream(source, stream, query)
      : batch !== null
        ? searchBatch(source, batch, query)
        : search(source, query);
  const events = await eventTexts({ log: source.events, rights }, positions, (header) => requireAsked(header, query));
  const last = events.at(-1)?.position ?? reached;
  return { events, reached: events.length < positions.length || positions.length === limit ? last : reached };
}

/** Without a filter the log itself answers: the read file may be a moment behind. */
function search({ auditIndex }: Source, { filter, after, upTo, limit }: EventQuery): AuditMatches {
  if (Object.keys(filter).length > 0)
    return auditIndex.find(filter, { after, upTo: Math.min(upTo, auditIndex.reached()), limit });
  const reached = Math.min(upTo, after + limit);
  return { positions: Array.from({ length: reached - after }, (_, index) => after + index + 1), reached };
}

function searchStream({ events: log }: Source, stream: string, query: EventQuery): AuditMatches {
  const { after, upTo, limit } = query;
  const positions: number[] = [];
  const looked = log.positionsWithin(stream, { after, upTo, limit: mostHeaders });
  let version = 0;
  for (const position of looked) {
    const [text = ''] = log.headers(position - 1, position);
    const header = headerOf(text);
    version = requireVersion(header, stream, version === 0 ? header.version : version + 1).version;
    if (isAsked(header, query)) positions.push(position);
    if (positions.length === limit) return { positions, reached: position };
  }
  const last = looked.length === mostHeaders ? looked.at(-1) : undefined;
  return { positions, reached: last ?? upTo };
}

/** The events of a bulk call were recorded together, so their positions are consecutive. */
function searchBatch(source: Source, batch: string, query: EventQuery): AuditMatches {
  const { events: log, auditIndex } = source;
  const { after, upTo, limit } = query;
  const span = spanOf(source, batch);
  const start = Math.max(after, (span?.first ?? 0) - 1);
  const end = Math.min(upTo, span?.last ?? 0);
  // The read file may be a moment behind the log.
  const known = Math.max(after, Math.min(upTo, auditIndex.reached()));
  if (end <= start) return { positions: [], reached: known };
  const last = Math.min(end, start + mostHeaders);
  const positions: number[] = [];
  for (const header of log.headers(start, last).map(headerOf)) {
    if (isAsked(header, query)) positions.push(header.position);
    if (positions.length === limit) return { positions, reached: header.position };
  }
  return { positions, reached: last === end ? known : last };
}

/**
 * The first and last positions of the events of a bulk call; null for an unknown id.
 *
 * @throws AlteredEventError if the first is not its first event, or the last not its last one.
 */
export function spanOf({ events: log, auditIndex }: Source, batch: string): Span | null {
  const reached = auditIndex.reached();
  const span = auditIndex.batch(batch);
  if (!span) return null;
  const { first, last } = span;
  const isOfBatch = (position: number) => {
    const [text] = position < 1 ? [] : log.headers(position - 1, position);
    return text !== undefined && headerOf(text).batch === batch;
  };
  if (!isOfBatch(first) || isOfBatch(first - 1)) throw misplacedEvent(first, `the first of the bulk call ${batch}`);
  // The read file of a node may have come to the middle of a call.
  const isBehind = last < reached && isOfBatch(last + 1);
  if (!isOfBatch(last) || isBehind) throw misplacedEvent(last, `the last of the bulk call ${batch}`);
  return span;
}

function requireAsked(header: Header, query: EventQuery): void {
  if (isAsked(header, query)) return;
  throw misplacedEvent(header.position, 'one that was asked for');
}

function isAsked(header: Header, { batch, filter }: EventQuery): boolean {
  return (batch === null || header.batch === batch) && matches(header, filter);
}

/** Whether an event matches a filter. */
export function matches({ stream, type, actor }: Header, filter: EventFilter): boolean {
  if (filter.collection !== undefined && !namesOf(stream).includes(filter.collection)) return false;
  if (filter.type !== undefined && !typesOf(filter.type).includes(type)) return false;
  return filter.actor === undefined || actor.type === filter.actor || actor.id === filter.actor;
}

function namesOf(stream: string): string[] {
  return [collectionOf(stream), splitStream(stream)[0]];
}

/** An event as routes send it, with what tells it from others. */
type EventJson = { position: number; type: string; text: string };

/** How much of payloads one answer reads, so that it keeps a thread for some milliseconds only. */
const mostBytes = 1024 * 1024;

/**
 * Events at positions as JSON texts, `{ header, data, context }`; fewer than there are positions if they are large, but
 * at least one. `data` and `context` are null beside `withheld`, for payloads that the caller may not see, which are
 * not read; and beside `erased`. `partial` says that the caller may not see some fields of a payload.
 *
 * @param look is called with each header before anything else of its event is read.
 */
export async function eventTexts(
  { log, rights }: { log: LogReader; rights: AuditRights },
  positions: readonly number[],
  look: (header: Header) => void = () => {},
): Promise<EventJson[]> {
  const events: EventJson[] = [];
  const sights = new Map<string, Sight>();
  let bytes = 0;
  for (const position of positions) {
    const [headerText = ''] = log.headers(position - 1, position);
    const header = headerOf(headerText);
    look(header);
    const sight = sights.get(header.stream) ?? (await rights.sightOf(header.stream));
    sights.set(header.stream, sight);
    const text = sight.extent === 'none' ? withheldText(headerText) : shownText(textAt(log, position), sight);
    bytes += text.length;
    if (events.length > 0 && bytes > mostBytes) break;
    events.push({ position, type: header.type, text });
  }
  return events;
}

function withheldText(header: string): string {
  return `{"header":${header},"data":null,"context":null,"withheld":true}`;
}

/** The text of an event whose payload may be seen, at least in part. Its header is shown as it is stored. */
export function shownText(text: EventText, sight: Sight): string {
  const { header } = text;
  if (text.body === null) return `{"header":${header},"data":null,"context":null,"erased":true}`;
  const { data, context, isPartial, isWithheld } = sight.seen(eventOf(text));
  if (isWithheld) return withheldText(header);
  const flag = isPartial ? ',"partial":true' : '';
  return `{"header":${header},"data":${JSON.stringify(data)},"context":${JSON.stringify(context)}${flag}}`;
}
