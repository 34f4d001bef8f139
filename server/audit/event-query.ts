import type { FieldError } from '../../config/errors.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { accountStream, globalStream, schemaVersionOf, serviceStreams } from '../../events/catalogue.ts';
import { actorTypes, categories, collectionOf, type EventFilter, typesOf } from '../../projections/audit.ts';
import type { App } from '../app.ts';
import { readRange } from '../queries/moments.ts';
import { readCount, refuse, unknownParameters } from '../queries/query.ts';

/** Which events are asked for: of a stream or of all, by filters, after a position up to another, so many of them. */
export type EventQuery = { stream: string | null; filter: EventFilter; after: number; upTo: number; limit: number };

/** A cursor and how much may follow it. */
export type PageQuery = { after: number; limit: number };

const defaultLimit = 100;
const maxLimit = 1000;
const filters = ['collection', 'type', 'actor'] as const;

type Query = Record<string, unknown>;

/** @throws DomainError `invalid` naming every wrong parameter. */
export function readPageQuery(query: Query): PageQuery {
  const errors = unknownParameters(query, ['after', 'limit']);
  const page = readPage(query, errors);
  refuse(errors);
  return page;
}

/** Reads what `GET /api/audit/events` is asked for. @throws DomainError `invalid` naming every wrong parameter. */
export function readEventQuery(query: Query, app: App): EventQuery {
  const errors = unknownParameters(query, ['stream', ...filters, 'from', 'to', 'after', 'limit']);
  const filter = readFilter(query, () => collectionsOf(app), errors);
  const stream = readText(query, 'stream', errors);
  const { after, limit } = readPage(query, errors);
  const { from, to } = readRange(query, app, errors);
  refuse(errors);
  return { stream, filter, after: Math.max(after, from - 1), upTo: to ?? app.events.head().size, limit };
}

/**
 * Reads what the change feed is asked for. `limit` is null where it is none of the parameters.
 *
 * @throws DomainError `invalid` naming every wrong parameter.
 */
export function readFeedQuery(query: Query, app: App, lastEventId: unknown, hasLimit: boolean) {
  const errors = unknownParameters(query, ['after', ...filters, ...(hasLimit ? ['limit'] : [])]);
  const filter = readFilter(query, () => collectionsOf(app), errors);
  const { after: asked, limit } = readPage(query, errors);
  const resumed =
    lastEventId === undefined ? asked : readCount({ [lastEventName]: lastEventId }, lastEventName, 0, 0, errors);
  const { size } = app.events.head();
  if (resumed > size) {
    const field = lastEventId === undefined ? 'after' : lastEventName;
    const message = `${field} must be at most ${size}, where the log ends, got ${resumed}`;
    errors.push({ field, message });
  }
  refuse(errors);
  return { filter, after: resumed, limit };
}

const lastEventName = 'Last-Event-ID';

function readPage(query: Query, errors: FieldError[]): PageQuery {
  const after = readCount(query, 'after', 0, 0, errors);
  const limit = readCount(query, 'limit', 1, defaultLimit, errors);
  return { after, limit: Math.min(limit, maxLimit) };
}

/**
 * Reads the filters of a query; what is wrong with them goes to `errors`.
 *
 * @param collections gives all that events may be about, see {@link collectionOf}.
 */
export function readFilter(query: Query, collections: () => Iterable<string>, errors: FieldError[]): EventFilter {
  const collection = readText(query, 'collection', errors);
  const type = readText(query, 'type', errors);
  const actor = readText(query, 'actor', errors);
  if (collection !== null) checkCollection(collection, new Set(collections()), errors);
  const types = Object.keys(schemaVersionOf);
  const wrong = type === null ? undefined : typesOf(type).find((one) => !types.includes(one));
  if (wrong !== undefined) {
    const allowed = `one of ${showAll(types)}, or several with commas between`;
    const message = `type must be ${allowed}, got ${show(wrong)}${didYouMean(wrong, types)}`;
    errors.push({ field: 'type', message });
  }
  // An API key has sixteen hexadecimal digits, a user a collection and an id.
  if (actor !== null && !actorTypes.includes(actor) && !/^([\da-f]{16}|[^/]+\/[^/]+)$/.test(actor)) {
    const allowed = `${showAll(actorTypes)}, or the id of one such as "users/0198…"`;
    const message = `actor must be one of ${allowed}, got ${show(actor)}${didYouMean(actor, actorTypes)}`;
    errors.push({ field: 'actor', message });
  }
  return {
    ...(collection === null ? {} : { collection }),
    ...(type === null ? {} : { type }),
    ...(actor === null ? {} : { actor }),
  };
}

/** All that events of a service may be about; also what the configuration no longer has, for there are events about it. */
export function collectionsOf({ model, auditIndex }: App): string[] {
  const auth = [...model.collections.values()].filter((one) => one.auth);
  return [
    ...model.collections.keys(),
    ...[...model.globals.keys()].map(globalStream),
    ...auth.map(({ slug }) => collectionOf(accountStream(slug, ''))),
    ...categories,
    ...serviceStreams,
    ...auditIndex.collections(),
  ];
}

function checkCollection(collection: string, known: ReadonlySet<string>, errors: FieldError[]): void {
  if (known.has(collection)) return;
  const message = `collection must be one of ${showAll([...known])}, got ${show(collection)}${didYouMean(collection, known)}`;
  errors.push({ field: 'collection', message });
}

/** A parameter that is a text; what is wrong with it goes to `errors`. */
export function readText(query: Query, name: string, errors: FieldError[]): string | null {
  const text = query[name];
  if (text === undefined) return null;
  if (typeof text === 'string' && text !== '') return text;
  const came = Array.isArray(text) ? `${text.length} values` : show(text);
  const message = `${name} must be given once and not be empty, got ${came}`;
  errors.push({ field: name, message });
  return null;
}
