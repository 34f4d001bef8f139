import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FieldError } from '../../config/errors.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { schemaVersionOf, splitStream } from '../../events/catalogue.ts';
import type { Header } from '../../events/envelope.ts';
import type { EventText, LogReader } from '../../events/log-reader.ts';
import type { App } from '../app.ts';
import { headersBetween } from './proofs.ts';

/** Which events of a range are wanted: those to which all of it applies. */
export type Filters = { collection?: string; stream?: string; type?: string; actor?: string };

/** The names of the filters, as parameters. */
export const filterNames = ['collection', 'stream', 'type', 'actor'] as const;

/** Reads the filters of a query; what is none is added to `errors`. Whatever the log has ever held may be asked for. */
export function readFilters({ model, events }: App, query: Record<string, unknown>, errors: FieldError[]): Filters {
  const filters: Filters = {};
  for (const name of filterNames) {
    const value = query[name];
    if (value === undefined) continue;
    if (typeof value === 'string' && value !== '' && value.length <= 300) filters[name] = value;
    else {
      const came = Array.isArray(value) ? `${value.length} values` : show(value);
      errors.push({ field: name, message: `${name} must be given once and not be empty, got ${came}` });
    }
  }
  const { collection, stream, type } = filters;
  if (type !== undefined && !Object.hasOwn(schemaVersionOf, type)) {
    const types = Object.keys(schemaVersionOf);
    const message = `type must be a type of event, got ${show(type)}${didYouMean(type, types)}; allowed: ${showAll(types)}`;
    errors.push({ field: 'type', message });
  }
  const categories = [...model.collections.keys(), 'globals', 'accounts', 'system'];
  if (collection !== undefined && !categories.includes(collection) && !events.hasCategory(collection)) {
    const hint = `${didYouMean(collection, categories)}; there are: ${showAll(categories)}`;
    errors.push({ field: 'collection', message: `collection must be one of the log, got ${show(collection)}${hint}` });
  }
  if (stream !== undefined && events.versionOf(stream) === 0) {
    errors.push({ field: 'stream', message: `stream must be one of the log, such as posts/<id>, got ${show(stream)}` });
  }
  return filters;
}

/** Whether an event is one that is wanted. */
export function fits({ collection, stream, type, actor }: Filters, header: Header): boolean {
  if (stream !== undefined && header.stream !== stream) return false;
  if (collection !== undefined && splitStream(header.stream)[0] !== collection) return false;
  if (type !== undefined && header.type !== type) return false;
  return actor === undefined || header.actor.id === actor || header.actor.type === actor;
}

/** The positions from `from` to `to` that are wanted, chunk by chunk. */
export async function* positionsThatFit(
  log: LogReader,
  from: number,
  to: number,
  filters: Filters,
): AsyncGenerator<number[]> {
  for await (const texts of headersBetween(log, from, to)) {
    const headers = texts.map((text) => JSON.parse(text) as Header);
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
