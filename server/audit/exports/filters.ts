import type { FieldError } from '../../../config/errors.ts';
import { show } from '../../../config/suggest.ts';
import { type Header, headerOf } from '../../../events/envelope.ts';
import type { EventText, LogReader } from '../../../events/log-reader.ts';
import type { EventFilter } from '../../../projections/audit.ts';
import { headersBetween } from '../../documents/past/reading.ts';
import { nextTurn } from '../../platform/yield.ts';
import { readFilter, readText } from '../event-query.ts';
import { matches } from '../events.ts';

/** Which events of a range are wanted: those to which all of it applies. */
export type Filters = EventFilter & { stream?: string };

/** The names of the filters, as parameters. */
export const filterNames = ['collection', 'stream', 'type', 'actor'] as const;

/**
 * Reads the filters of a query; what is wrong with them goes to `errors`. Whatever the log has ever held may be asked for.
 *
 * @param collections as of {@link readFilter}.
 */
export function readFilters(
  events: LogReader,
  collections: () => Iterable<string>,
  query: Record<string, unknown>,
  errors: FieldError[],
): Filters {
  const filter = readFilter(query, collections, errors);
  const stream = readText(query, 'stream', errors);
  if (stream === null) return filter;
  if (events.versionOf(stream) === 0) {
    errors.push({ field: 'stream', message: `stream must be one of the log, such as posts/<id>, got ${show(stream)}` });
  }
  return { ...filter, stream };
}

/** Whether an event is one that is wanted. */
export function fits({ stream, ...filter }: Filters, header: Header): boolean {
  return (stream === undefined || header.stream === stream) && matches(header, filter);
}

/** The positions from `from` to `to` that are wanted, chunk by chunk. */
export async function* positionsThatFit(
  log: LogReader,
  from: number,
  to: number,
  filters: Filters,
): AsyncGenerator<number[]> {
  for await (const texts of headersBetween(log, from, to)) {
    const headers = texts.map((text) => headerOf(text));
    yield headers.filter((header) => fits(filters, header)).map(({ position }) => position);
  }
}

/** So many events are read in one go, where they are read one by one. */
const eventsAtOnce = 64;

/** The wanted events at positions `from` to `to`, chunk by chunk. */
export async function* eventsThatFit(
  log: LogReader,
  from: number,
  to: number,
  filters: Filters,
): AsyncGenerator<EventText[]> {
  for await (const positions of positionsThatFit(log, from, to, filters)) {
    for (let at = 0; at < positions.length; at += eventsAtOnce) {
      yield positions.slice(at, at + eventsAtOnce).flatMap((position) => log.texts(position - 1, position));
      await nextTurn();
    }
  }
}
