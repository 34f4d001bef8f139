import { inQuery, invalidField } from '../../config/errors.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';
import { globalStream, schemaVersionOf, serviceStreams } from '../../events/facts/catalogue.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import { uuid7 } from '../../events/store/ids.ts';
import { actorTypes, categories, type EventFilter, typesOf } from '../../projections/tables/audit.ts';
import type { App } from '../app.ts';
import { recordLimits } from '../queries/limits.ts';
import { type Now, positionsOf, range } from '../queries/moments.ts';
import {
  askedOf,
  checked,
  count,
  type Parameter,
  type ParsedQuery,
  type Query,
  readInteger,
  settle,
  tell,
  text,
  type Values,
} from '../queries/parameters.ts';
import { type ActorForm, actors } from './actor-names.ts';

/** A checked query for events: of a stream or of all, by filters, after a position up to another, at most `limit`. */
export type EventQuery = {
  stream: string | null;
  /** The id of a bulk call, whose events alone are asked for. */
  batch: string | null;
  filter: EventFilter;
  after: number;
  upTo: number;
  limit: number;
};

/** The context of the filters: every subject that events may have, by its recorded name and its present name. */
type Subjects = { subjects: () => Iterable<string> };

/** The context of a query about a log: how it names what callers name. */
type QueryContext = Now & Subjects & { names: CollectionNames };

const types = Object.keys(schemaVersionOf);
const typeForm = new RegExp(`^(${alternatives(types)})(,(${alternatives(types)}))*$`);
// An API key has sixteen hexadecimal digits, a user a collection and an id.
const actorForm = new RegExp(`^(${alternatives(actorTypes)}|[\\da-f]{16}|[^/]+/[^/]+)$`);

const collection = text(
  `The slug of a collection, \`globals/<slug>\`, \`accounts/<slug>\`, ${serviceStreams.map((name) => `\`${name}\``).join(', ')}; ` +
    '`globals`, `accounts` or `system` for all of these.',
);
const type = text('The type of the events, or several with commas between.', { pattern: typeForm });
const actor = text('`user`, `apiKey`, `system` or `anonymous`, or an id: `users/<id>`, or that of an API key.', {
  pattern: actorForm,
});

/** The filters of events. */
export const filters = {
  collection: checked(collection, requireSubject),
  type: tell(checked(type, requireTypes), { example: 'document.deleted,document.erased' }),
  actor: checked(actor, requireActor),
};

const batch = text('The id of a bulk call: its events.', { pattern: uuid7 });

/** The name of a stream. */
export const stream = text('The name of one stream: `posts/<id>`.');

/** The parts of the service that queries about its log are checked against. */
export type AuditQueryContext = Pick<App, 'model' | 'auditIndex' | 'events' | 'clock' | 'names'>;

/** The query of a page of versions. */
export const historyParameters = {
  next: position('The version after which the page begins.'),
  limit: count(recordLimits, 'How many'),
  actors,
};

/** The query of one version. */
export const versionParameters = { actors };

/** The query of a page of events. */
export const eventParameters = {
  stream,
  batch: checked(batch, requireBatch),
  ...filters,
  ...range,
  next: position('The position after which the page begins.'),
  limit: count(recordLimits, 'How many'),
  actors,
};

/** The query of the change feed as server-sent events. */
const streamParameters = { next: position('The position after which to begin.'), ...filters };

/** The query of the change feed. */
export const feedParameters = { ...streamParameters, limit: count(recordLimits, 'For pages only: how many') };

/** Reads the query of `GET /api/audit/events`. @throws DomainError `validation_failed` naming every wrong parameter. */
export function readEventQuery(app: AuditQueryContext, query: Query): EventQuery & { actors: ActorForm } {
  const known = knownTo(app);
  const asked = askedOf(eventParameters, query, known);
  const { from, to } = positionsOf(asked.values, known, asked.errors);
  const { stream: named, batch, next: after, limit, actors, ...wanted } = settle(asked);
  const stream = named === null ? null : app.names.recorded(named);
  const filter = filterOf(wanted, app.names);
  const upTo = to ?? app.events.head().size;
  return { stream, batch, filter, after: Math.max(after, from - 1), upTo, limit, actors };
}

/** A request to the change feed: `lastEventId` wins over the parameter `next`. */
type FeedRequest = { query: Query; lastEventId: unknown; isStream: boolean };

/**
 * Reads a request to the change feed.
 *
 * @throws DomainError `validation_failed` naming every wrong parameter.
 */
export function readFeedQuery(app: AuditQueryContext, { query, lastEventId, isStream }: FeedRequest) {
  const known = knownTo(app);
  const asked: ParsedQuery<typeof feedParameters> = isStream
    ? askedOf(streamParameters, query, known)
    : askedOf(feedParameters, query, known);
  const header = askedOf({ [lastEventName]: feedParameters.next }, { [lastEventName]: lastEventId }, known);
  const field = lastEventId === undefined ? 'next' : lastEventName;
  const after = (lastEventId === undefined ? asked.values.next : header.values[lastEventName]) ?? 0;
  asked.errors.push(...header.errors.map((error) => ({ ...error, ...ofHeader })));
  const { size } = app.events.head();
  if (after > size) {
    const fault = { ...inQuery(field, 'out_of_range', { limit: size }), ...(lastEventId !== undefined && ofHeader) };
    asked.errors.push({ ...fault, message: `${field} must be at most ${size}, where the log ends, got ${after}` });
  }
  const { limit = recordLimits.otherwise, ...wanted } = settle(asked);
  return { filter: filterOf(wanted, app.names), after, limit };
}

const lastEventName = 'Last-Event-ID';

/** The context of queries about the log of a service. */
export function knownTo(app: AuditQueryContext): QueryContext {
  return { events: app.events, clock: app.clock, names: app.names, subjects: () => collectionsOf(app) };
}

/** The filters that are given, as the log has them. */
export function filterOf(
  { collection, type, actor }: Values<typeof filters>,
  { recorded }: CollectionNames,
): EventFilter {
  return {
    ...(collection === null ? {} : { collection: recorded(collection) }),
    ...(type === null ? {} : { type }),
    ...(actor === null ? {} : { actor: actor.includes('/') ? recorded(actor) : actor }),
  };
}

const ofHeader = { in: 'header' } as const;

function requireSubject(subject: string, name: string, { subjects }: Subjects): void {
  const known = new Set(subjects());
  if (known.has(subject)) return;
  throw invalidField(
    inQuery(name, 'not_allowed'),
    `must be one of ${showAll([...known])}, got ${show(subject)}${didYouMean(subject, known)}`,
  );
}

function requireTypes(given: string, name: string): void {
  if (typeForm.test(given)) return;
  const wrong = typesOf(given).find((one) => !types.includes(one));
  const allowed = `one of ${showAll(types)}, or several with commas between`;
  throw invalidField(
    inQuery(name, 'not_allowed', { allowed: types }),
    `must be ${allowed}, got ${show(wrong)}${didYouMean(wrong, types)}`,
  );
}

function requireActor(given: string, name: string): void {
  if (actorForm.test(given)) return;
  const allowed = `${showAll(actorTypes)}, or the id of one such as "users/0198…"`;
  throw invalidField(
    inQuery(name, 'not_allowed'),
    `must be one of ${allowed}, got ${show(given)}${didYouMean(given, actorTypes)}`,
  );
}

function requireBatch(given: string, name: string): void {
  if (uuid7.test(given)) return;
  throw invalidField(
    inQuery(name, 'format'),
    `must be the id of a bulk call, as its answer has it, got ${show(given)}`,
  );
}

/**
 * All that events of a service may be about; also what the configuration no longer has, for there are events about it.
 */
function collectionsOf({ model, auditIndex }: AuditQueryContext): string[] {
  const auth = [...model.collections.values()].filter((one) => one.auth);
  return [
    ...model.collections.keys(),
    ...[...model.globals.keys()].map(globalStream),
    ...auth.map(({ slug }) => `accounts/${slug}`),
    ...categories,
    ...serviceStreams,
    ...auditIndex.collections(),
  ];
}

function position(description: string) {
  return count({ least: 0, otherwise: 0 }, description);
}

function alternatives(words: readonly string[]): string {
  return words.join('|').replaceAll('.', '\\.');
}

/** The names of the lines of a document, where a version may be named. */
const lineNames = ['published', 'draft'] as const;
type LineName = (typeof lineNames)[number];

/** A version, from `least`, or the name of a line; null if it is missing. */
function versionOrLine(least: number, description: string): Parameter<number | LineName | null> {
  const whole = { type: 'integer', minimum: least, maximum: Number.MAX_SAFE_INTEGER };
  const lines = '`published` and `draft` are the public state and the newest one, as they are today.';
  return {
    told: {
      description: `${description} ${lines}`,
      schema: { anyOf: [whole, { type: 'string', enum: [...lineNames] }] },
    },
    read(given, name) {
      if (given === undefined) return null;
      const line = lineNames.find((one) => one === given);
      if (line !== undefined) return line;
      if (typeof given === 'string' && /^[a-z]/i.test(given)) {
        const message = `must be a version or one of ${showAll(lineNames)}, got ${show(given)}`;
        throw invalidField(
          inQuery(name, 'not_allowed', { allowed: lineNames }),
          `${message}${didYouMean(given, lineNames)}`,
        );
      }
      return readInteger(given, name, { least });
    },
  };
}

/** The query of a diff. */
export const diffParameters = {
  from: versionOrLine(0, 'A version; 0 is before there was anything. By default the one before `to`.'),
  to: versionOrLine(0, 'A version, by default the newest.'),
  actors,
};

/** The query of a blame. */
export const blameParameters = {
  version: versionOrLine(1, 'The version that is asked about, by default the newest.'),
  actors,
};

/**
 * The ends of a diff: versions, or lines as of the newest version. Without `to` it is the newest, without `from` the
 * version before `to`, and before the draft what is public.
 *
 * @throws DomainError `validation_failed` for versions that there are not.
 */
export function diffEnds(
  { from, to }: Values<typeof diffParameters>,
  newest: number,
): [from: number | LineName, to: number | LineName] {
  const last = typeof to === 'string' ? to : within(to ?? newest, 'to', newest);
  const other = last === 'draft' ? 'published' : Math.max((last === 'published' ? newest : last) - 1, 0);
  const first = from ?? other;
  return [typeof first === 'string' ? first : within(first, 'from', newest), last];
}

/**
 * The line and the version that a blame is about, the newest if none is named; throws as {@link diffEnds} does.
 */
export function blamedLine(
  { version }: Values<typeof blameParameters>,
  newest: number,
): { line: LineName; version: number } {
  if (typeof version === 'string') return { line: version, version: newest };
  return { line: 'draft', version: within(version ?? newest, 'version', newest) };
}

function within(version: number, name: string, newest: number): number {
  if (version <= newest) return version;
  throw invalidField(
    inQuery(name, 'out_of_range', { limit: newest }),
    `must be at most ${newest}, the newest version, got ${version}`,
  );
}
