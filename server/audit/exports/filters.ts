import { inQuery, invalidField } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { type Header, headerOf } from '../../../events/facts/envelope.ts';
import type { EventText } from '../../../events/log/event-checks.ts';
import type { LogReader } from '../../../events/log/log-reader.ts';
import { retryAfterFetch } from '../../../events/segments/fetching.ts';
import type { CollectionNames } from '../../../events/service-events/categories.ts';
import type { EventFilter } from '../../../projections/tables/audit.ts';
import { headersBetween } from '../../documents/past/reading.ts';
import { yieldToEventLoop } from '../../platform/yield.ts';
import { checked, type Values } from '../../queries/parameters.ts';
import { filterOf, filters, stream } from '../event-query.ts';
import { matches } from '../events.ts';

/** Which events of a range are wanted: those to which all of it applies; `batch` is the id of a bulk call. */
export type Filters = EventFilter & { stream?: string; batch?: string };

/** The events at positions `from` to `to`, both inclusive, that fit the filters. */
export type Range = { from: number; to: number; filters: Filters };

/** The filters, as parameters. The log must have the stream. */
export const wantedParameters = {
  collection: filters.collection,
  stream: checked(stream, requireStream),
  type: filters.type,
  actor: filters.actor,
};

/** The filters that are given, as the log has them. */
export function wantedOf({ stream, ...rest }: Values<typeof wantedParameters>, names: CollectionNames): Filters {
  return { ...filterOf(rest, names), ...(stream === null ? {} : { stream: names.recorded(stream) }) };
}

type FilterContext = { events: Pick<LogReader, 'versionOf'>; names: CollectionNames };

function requireStream(stream: string, name: string, { events, names }: FilterContext): void {
  if (events.versionOf(names.recorded(stream)) > 0) return;
  throw invalidField(
    inQuery(name, 'reference_not_found'),
    `must be one of the log, such as posts/<id>, got ${show(stream)}`,
  );
}

/** Whether an event matches all filters. */
function fits({ stream, batch, ...filter }: Filters, header: Header): boolean {
  if (stream !== undefined && header.stream !== stream) return false;
  return (batch === undefined || header.batch === batch) && matches(header, filter);
}

/** The positions of a range that are wanted, chunk by chunk. */
export async function* positionsThatFit(log: LogReader, { from, to, filters }: Range): AsyncGenerator<number[]> {
  for await (const texts of headersBetween(log, from, to)) {
    const headers = texts.map((text) => headerOf(text));
    yield headers.filter((header) => fits(filters, header)).map(({ position }) => position);
  }
}

/** How many events are read at a time, if they are read one by one. */
const eventsAtOnce = 64;

/** The wanted events of a range, chunk by chunk. */
export async function* eventsThatFit(log: LogReader, range: Range): AsyncGenerator<EventText[]> {
  for await (const positions of positionsThatFit(log, range)) {
    for (let at = 0; at < positions.length; at += eventsAtOnce) {
      const wanted = positions.slice(at, at + eventsAtOnce);
      yield await retryAfterFetch(() => wanted.flatMap((position) => log.texts(position - 1, position)));
      await yieldToEventLoop();
    }
  }
}
