import Joi from 'joi';
import { maxSlots } from '../callers/answer-slots.ts';
import { forAuditors } from '../openapi/audit/responses.ts';
import type { ApiOperation } from '../openapi/operation.ts';
import { header, json, retryAfter, unavailable } from '../openapi/responses.ts';
import { eventParameters, feedParameters } from './event-query.ts';

/** An event in the path. */
export const atPosition = Joi.object({
  position: Joi.number().integer().min(1).required().description('The position of an event.'),
});

/** `GET /api/audit/events` */
export function eventsOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_events',
    tag: 'events',
    summary: 'List the events of the log',
    description:
      'Returns the recorded events in the order of their positions. `data` has the payload if the caller has the scope ' +
      '`payloads`; otherwise the payload is withheld. To go on, send `next` as the parameter `next`.',
    query: eventParameters,
    answers: {
      200: json(
        'A page of events, in their order. It may have fewer events than `limit`, or none, and still a `next`.',
        'EventPage',
      ),
    },
  });
}

const eventStream = 'Server-sent events: `id` is the position, `event` the type, `data` the event as JSON.';

/** `GET /api/audit/feed` */
export function feedOperation(): ApiOperation {
  const page = json(
    'A page of events; for a client that accepts `text/event-stream`, past and new events as server-sent events.',
    'FeedPage',
  );
  return forAuditors({
    id: 'audit_feed',
    tag: 'events',
    summary: 'Follow the log',
    description:
      'For programs that react to events. As JSON, returns a page; to go on, send `next` as the parameter `next`. For a ' +
      'client that accepts `text/event-stream`, continues as server-sent events: a client that reconnects with `Last-Event-ID` misses ' +
      'nothing. Rights are checked again while a stream lasts.',
    query: feedParameters,
    headers: Joi.object({
      'Last-Event-ID': Joi.number()
        .integer()
        .min(0)
        .description('The position that the client has reached; takes precedence over `next`.'),
    }),
    answers: {
      200: {
        ...page,
        others: { 'text/event-stream': { type: 'string', description: eventStream } },
        headers: {
          'X-Accel-Buffering': header(
            '`no`, with server-sent events: tells a proxy in front to pass on events at once.',
            { type: 'string', enum: ['no'] },
            false,
          ),
        },
      },
      429: { ...json(`The caller has ${maxSlots.stream} streams already.`, 'Error'), headers: retryAfter },
      ...unavailable('There are too many streams already, or the service is shutting down.'),
    },
  });
}

/** `GET /api/audit/log` */
export function logOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_log',
    tag: 'proofs',
    summary: 'Read the state of the log, and its newest checkpoints',
    description:
      'Returns the number of events, the root of the tree over them, and the key that signs its checkpoints. Keep the key in ' +
      'another place: every proof of this service is checked against it.',
    answers: { 200: json('The log.', 'Log') },
  });
}

/** `GET /api/audit/signing-keys` */
export function keysOperation(): ApiOperation {
  return forAuditors({
    id: 'audit_signingKeys',
    tag: 'proofs',
    summary: 'List all keys that have signed the log',
    description:
      'Returns each key, oldest first: from when until when it signed, and by which event it was replaced or disowned, with ' +
      'the reason for callers with the scope `payloads`. Each of these events is in the stream `system/keys`, and can be ' +
      'proven.',
    answers: { 200: json('The keys.', 'Keys') },
  });
}
