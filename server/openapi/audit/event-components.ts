import { schemaVersionOf } from '../../../events/facts/catalogue.ts';
import { actorTypes } from '../../../projections/tables/audit.ts';
import { closed, count, cursor, described, isTrue, listOf, nothing, orNull, place, text, time } from '../basics.ts';
import { type Schema, schemaRef } from '../fields.ts';

const everyHeader = {
  v: { type: 'integer', enum: [1, 2], description: 'The version of the header: 1 in logs from before format 3.' },
  log: described(text, 'The id of the log: `annals/<UUID>`.'),
  position: described(place, 'The place in the whole log, gap-free from 1.'),
  id: { type: 'string', format: 'uuid' },
  stream: described(text, 'Its stream, such as `posts/<id>`.'),
  version: described(place, 'The place in the stream, gap-free from 1.'),
  type: schemaRef('EventType'),
  schemaVersion: described(place, 'The version of the form that `data` has.'),
  recordedAt: time,
  actor: schemaRef('Actor'),
  correlationId: described(text, 'The id of the request that caused it, as in its `x-request-id`.'),
  payload: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$', description: 'The commitment to the payload.' },
};
const batch: Schema = { type: 'string', format: 'uuid', description: 'The bulk call that it belongs to.' };
const header = closed({ ...everyHeader, batch }, Object.keys(everyHeader));

const label = described(orNull(text), 'Only with `actors=names`.');

const recorded = {
  header: schemaRef('Header'),
  data: { type: 'object', description: 'The payload, in the form of its type (docs/events.md).' },
  context: schemaRef('Context'),
} satisfies Record<string, Schema>;

const partial: Schema = {
  ...isTrue,
  description: 'Fields that the caller may not read are left out; the others have the names of today.',
};

/** An event where no audit rule says who sees payloads, and rules for reading do. */
export const eventByRules: Schema = closed({ ...recorded, partial }, Object.keys(recorded));

/** The schemas of events and of pages of them. */
export const eventSchemas: Record<string, Schema> = {
  EventType: { type: 'string', enum: Object.keys(schemaVersionOf) },
  Actor: {
    ...closed({ type: { type: 'string', enum: [...actorTypes] }, id: text, label }, ['type']),
    description: 'The author: `id` is `<slug>/<id>` of a user, 16 hexadecimal digits of an API key; others have none.',
  },
  Header: header,
  Context: {
    ...closed({ ip: text, userAgent: text, reason: text, rule: text }, []),
    description: 'From where it came, why, and which rule admitted it.',
  },
  RecordedEvent: closed(recorded),
  ErasedEvent: {
    ...closed({ header: schemaRef('Header'), data: nothing, context: nothing, erased: isTrue }),
    description: 'An event whose payload is there no longer.',
  },
  WithheldEvent: {
    ...closed({ header: schemaRef('Header'), data: nothing, context: nothing, withheld: isTrue }),
    description: 'An event whose payload is not for this caller.',
  },
  Event: { oneOf: [schemaRef('RecordedEvent'), schemaRef('ErasedEvent'), schemaRef('WithheldEvent')] },
  EventPage: closed({
    events: listOf(schemaRef('Event')),
    next: cursor('after'),
    size: described(count, 'Events in the log.'),
  }),
  FeedPage: closed({
    events: listOf(schemaRef('Event')),
    next: described(count, 'The `after` of the next page; equals `size` when there is nothing more for now.'),
    size: described(count, 'Events in the log.'),
  }),
};
