import { schemaVersionOf } from '../../../events/facts/catalogue.ts';
import {
  anyObject,
  choice,
  closed,
  count,
  described,
  either,
  isTrue,
  listOf,
  namesOf,
  nextNumber,
  nothing,
  orNull,
  place,
  refTo,
  type Shape,
  text,
  time,
  uuid,
} from '../basics.ts';
import { bulkKind } from '../batch-components.ts';
import { actorType } from '../pointing-components.ts';

/** The names of all event types. */
export const eventType = choice(namesOf(schemaVersionOf));

/** The author of an event. */
export const actor = described(
  closed({ type: actorType, id: text, label: described(orNull(text), 'Only with `actors=names`.') }, ['type']),
  'The author. `id` is `<slug>/<id>` for a user, 16 hexadecimal digits for an API key, and absent for others.',
);

const headerVersion: Shape<1 | 2> = { type: 'integer', enum: [1, 2] };
const everyHeader = {
  v: described(headerVersion, 'The version of the header: 1 in logs from before format 3.'),
  log: described(text, 'The id of the log: `annals/<UUID>`.'),
  position: described(place, 'The place in the whole log, gap-free from 1.'),
  id: uuid,
  stream: described(text, 'The stream of the event, such as `posts/<id>`.'),
  version: described(place, 'The place in the stream, gap-free from 1.'),
  type: refTo('EventType', eventType),
  schemaVersion: described(place, 'The version of the format of `data`.'),
  recordedAt: time,
  actor: refTo('Actor', actor),
  correlationId: described(text, 'The `x-request-id` of the request that caused the event.'),
  payload: described({ ...text, pattern: '^sha256:[0-9a-f]{64}$' }, 'The commitment to the payload.'),
};
const batch = described(uuid, 'The bulk call that the event is part of.');
const header = closed({ ...everyHeader, batch }, namesOf(everyHeader));
const headerRef = refTo('Header', header);

const context = described(
  closed({ ip: text, userAgent: text, reason: text, rule: text, call: bulkKind, undoes: uuid }, []),
  'The origin of the request, the reason, and the rule that admitted it; of a bulk call its kind, and the batch that it undoes.',
);

const members = {
  header: headerRef,
  data: described(anyObject, 'The payload, in the form of its type (docs/events.md).'),
  context: refTo('Context', context),
};
const partial = described(
  isTrue,
  'Without the fields that the caller may not read; the others have the names of today.',
);
const bare = { header: headerRef, data: nothing, context: nothing };

const recorded = closed(members);
const erased = described(closed({ ...bare, erased: isTrue }), 'An event whose payload was erased.');
const withheld = described(closed({ ...bare, withheld: isTrue }), 'An event whose payload this caller may not see.');

/** A reference to an event whose payload the caller may see. */
export const seenEvent = either(refTo('RecordedEvent', recorded), refTo('ErasedEvent', erased));
const event = either(refTo('RecordedEvent', recorded), refTo('ErasedEvent', erased), refTo('WithheldEvent', withheld));
const events = listOf(refTo('Event', event));

/** A recorded event if no audit rule decides who sees payloads, but the rules for reading do. */
export const eventByRules = closed({ ...members, partial }, namesOf(members));

/** The schemas of events and of pages of them. */
export const eventSchemas = {
  EventType: eventType,
  Actor: actor,
  Header: header,
  Context: context,
  RecordedEvent: recorded,
  ErasedEvent: erased,
  WithheldEvent: withheld,
  Event: event,
  EventPage: closed({ docs: events, next: nextNumber, size: described(count, 'Events in the log.') }),
  FeedPage: closed({
    docs: events,
    next: described(count, 'The `next` of the next page; equals `size` if there are no more events at the moment.'),
    size: described(count, 'Events in the log.'),
  }),
};
