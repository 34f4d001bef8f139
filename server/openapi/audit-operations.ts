import Joi from 'joi';
import type { Model } from '../../config/model.ts';
import { schemaVersionOf } from '../../events/catalogue.ts';
import type { Subject } from '../audit/subjects.ts';
import { json, retryAfter } from './answers.ts';
import { ofEveryRoute, unknownToLog } from './audit-answers.ts';
import type { Operation } from './operations.ts';

const params: Record<Subject, Joi.ObjectSchema> = {
  document: Joi.object({ slug: slugOf('the collection'), id: idOf('the document') }),
  global: Joi.object({ slug: slugOf('the global') }),
  account: Joi.object({
    slug: slugOf('the collection of users'),
    id: idOf('the user; `setup` for the first users that the collection was set up with'),
  }),
  invitation: Joi.object({ slug: slugOf('the collection of users'), id: idOf('the invitation') }),
};
const version = Joi.number().integer().min(1).required().description('The version, from 1.');
const unknownSubject = (name: Subject) => unknownToLog(`The log has nothing about ${article(name)}.`);

const after = Joi.number().integer().min(0).default(0);
const limit = Joi.number().integer().min(1).default(100).description('How many; above 1000 is 1000.');

/** The filters of events. */
export const filters = {
  collection: Joi.string().description(
    'The slug of a collection, `globals/<slug>`, `accounts/<slug>`, `system/schema`, `system/audit`; `globals`, `accounts` ' +
      'or `system` for all of these.',
  ),
  type: Joi.string()
    .valid(...Object.keys(schemaVersionOf))
    .description('The type of the events.'),
  actor: Joi.string().description(
    '`user`, `apiKey`, `system` or `anonymous`, or an id: `users/<id>`, or that of an API key.',
  ),
};

/** The name of a stream. */
export const stream = Joi.string().description('The name of one stream: `posts/<id>`.');

/** The first and the last moment of a range. */
export const range = {
  from: momentOf('first'),
  to: momentOf('last'),
};

/** `GET /api/audit/<what>/…`: the versions of a document, global, account or invitation. */
export function historyOperation(name: Subject): Operation {
  return {
    id: `audit_${name}History`,
    tag: 'histories',
    summary: `List the versions of ${article(name)}`,
    params: params[name],
    query: Joi.object({ limit, after: after.description('The version after which the page begins.') }),
    answers: {
      200: json('A page of versions, oldest first.', `${capital(name)}History`),
      ...ofEveryRoute(),
      ...unknownSubject(name),
    },
    caller: { kind: 'auditor' },
  };
}

/** `GET …/versions/{version}` */
export function versionOperation(name: Subject): Operation {
  const isDocument = name === 'document' || name === 'global';
  return {
    ...ofPayloads(name, 'Version'),
    summary: `Read one version of ${article(name)}, and its event`,
    params: params[name].append({ version }),
    answers: {
      200: json('The version.', isDocument ? 'DocumentThen' : 'AccountThen'),
      ...ofEveryRoute(),
      ...unknownToLog(`The log has nothing about ${article(name)}, or no such version.`),
    },
  };
}

/** `GET …/diff` */
export function diffOperation(name: Subject): Operation {
  const of = Joi.number().integer().min(0);
  return {
    ...ofPayloads(name, 'Diff'),
    summary: `Compare two versions of ${article(name)}`,
    params: params[name],
    query: Joi.object({
      from: of.description('A version; 0 is before there was anything. By default the one before `to`.'),
      to: of.description('A version, by default the newest.'),
    }),
    answers: {
      200: json('What differs, in the names of today.', `${capital(name)}Diff`),
      ...ofEveryRoute(),
      ...unknownSubject(name),
    },
  };
}

/** `GET …/blame` */
export function blameOperation(name: Subject): Operation {
  return {
    ...ofPayloads(name, 'Blame'),
    summary: `Ask which event gave each field of ${article(name)} its value`,
    params: params[name],
    query: Joi.object({
      version: Joi.number().integer().min(1).description('The version that is asked about, by default the newest.'),
    }),
    answers: {
      200: json('Its fields.', `${capital(name)}Blame`),
      ...ofEveryRoute(),
      ...unknownSubject(name),
    },
  };
}

/** `GET /api/audit/events` */
export function eventsOperation(): Operation {
  return {
    id: 'audit_events',
    tag: 'events',
    summary: 'List the events of the log',
    query: Joi.object({
      stream,
      ...filters,
      ...range,
      after: position('The position after which the page begins.'),
      limit,
    }),
    answers: {
      200: json(
        'A page of events, in their order. It may hold fewer than `limit`, or none, and have a `next`.',
        'EventPage',
      ),
      ...ofEveryRoute(),
    },
    caller: { kind: 'auditor' },
  };
}

const eventStream = 'Server-sent events: `id` is the position, `event` the type, `data` the event as JSON.';

/** `GET /api/audit/feed` */
export function feedOperation(): Operation {
  const page = json(
    'A page of events, or for who accepts `text/event-stream` those that were and those that come, as server-sent events.',
    'FeedPage',
  );
  const pages = 'For pages only: how many; above 1000 is 1000.';
  return {
    id: 'audit_feed',
    tag: 'events',
    summary: 'Follow the log',
    query: Joi.object({
      after: position('The position after which to begin.'),
      ...filters,
      limit: limit.description(pages),
    }),
    headers: Joi.object({
      'Last-Event-ID': Joi.number()
        .integer()
        .min(0)
        .description('The position that was reached: it wins over `after`.'),
    }),
    answers: {
      200: {
        ...page,
        others: { 'text/event-stream': { type: 'string', description: eventStream } },
        headers: {
          'X-Accel-Buffering': {
            description: '`no`, with server-sent events: a proxy in front passes on what comes at once.',
            required: false,
            schema: { type: 'string', enum: ['no'] },
          },
        },
      },
      ...ofEveryRoute(),
      503: {
        ...json('There are as many streams already as may be, or the service is about to end.', 'Error'),
        headers: retryAfter,
      },
    },
    caller: { kind: 'auditor' },
  };
}

/** `GET /api/audit/log` */
export function logOperation(): Operation {
  return {
    id: 'audit_log',
    tag: 'proofs',
    summary: 'Read what the log is, and its newest checkpoints',
    answers: { 200: json('The log.', 'Log'), ...ofEveryRoute() },
    caller: { kind: 'auditor' },
  };
}

/** `GET /api/audit/openapi.json` */
export function auditOpenApiOperation({ publicSchema }: Model): Operation {
  return {
    id: 'audit_openApi',
    tag: 'system',
    summary: 'Read this description',
    answers: { 200: { description: 'OpenAPI 3.0.', schema: { type: 'object' } }, ...ofEveryRoute() },
    caller: { kind: 'known', orAnybody: publicSchema },
  };
}

function ofPayloads(name: Subject, what: string): Pick<Operation, 'id' | 'tag' | 'caller'> {
  return { id: `audit_${name}${what}`, tag: 'histories', caller: { kind: 'auditor', refusesKeys: true } };
}

function slugOf(what: string): Joi.Schema {
  return Joi.string().min(1).required().description(`The slug of ${what}, of today or of earlier.`);
}

function idOf(what: string): Joi.Schema {
  return Joi.string().min(1).required().description(`The id of ${what}.`);
}

function position(description: string): Joi.Schema {
  return after.description(description);
}

function momentOf(which: string): Joi.Schema {
  return Joi.string().description(
    `The ${which} moment: a position from 1, a date and time with a zone, or a date in UTC. Not in the future.`,
  );
}

function article(name: string): string {
  return /^[ai]/.test(name) ? `an ${name}` : `a ${name}`;
}

function capital(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1);
}
