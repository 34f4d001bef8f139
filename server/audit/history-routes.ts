import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { globalsCategory } from '../../config/schema.ts';
import { show } from '../../config/suggest.ts';
import { keyStream, splitStream } from '../../events/facts/catalogue.ts';
import type { CollectionNames } from '../../events/service-events/categories.ts';
import { type AuditRights, requireAudit } from '../access/rights.ts';
import { hiddenByRules, type Sight, seesAll } from '../access/sight.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { sendText } from '../documents/read/sending.ts';
import { madeKeyOf } from '../http/requests.ts';
import type { ApiOperation } from '../openapi/operation.ts';
import type { KeyNote } from '../ports.ts';
import { type Query, readInteger, readQuery, rejectQuery } from '../queries/parameters.ts';
import { type Naming, namedAll, namingFor } from './actor-names.ts';
import { admissionOf } from './admissions.ts';
import type { Blame } from './blame.ts';
import { type HistoryEntry, oneVersion } from './entries.ts';
import { eventsOperation, keysOperation, logOperation } from './event-operations.ts';
import {
  blamedLine,
  blameParameters,
  diffEnds,
  diffParameters,
  historyParameters,
  readEventQuery,
  versionParameters,
} from './event-query.ts';
import { eventTexts, findEvents } from './events.ts';
import { type History, openHistory, type StreamState } from './history.ts';
import {
  admissionOperation,
  blameOperation,
  diffOperation,
  historyOperation,
  versionOperation,
} from './history-operations.ts';
import { type AuditReader, readRoute } from './reading.ts';
import { type StreamKind as SubjectName, streamOf } from './subjects.ts';

/** A kind of stream with a history. */
type Subject = {
  name: SubjectName;
  path: string;
  /** False for a stream whose events describe what happened, and change no document. */
  isDocument: boolean;
};

const subjects: readonly Subject[] = [
  { name: 'document', path: '/api/audit/documents/{slug}/{id}', isDocument: true },
  { name: 'global', path: '/api/audit/globals/{slug}', isDocument: true },
  { name: 'account', path: '/api/audit/accounts/{slug}/{id}', isDocument: false },
  { name: 'invitation', path: '/api/audit/accounts/{slug}/invites/{id}', isDocument: false },
];

/** A request about a stream of a subject, by a caller with these rights: `history` is as far as that sees it. */
type HistoryRequest = {
  names: CollectionNames;
  histories: ReturnType<typeof openHistory>;
  history: History;
  subject: Subject;
  request: Request;
  rights: AuditRights;
};

/** A route below the route of a subject. */
type Part = {
  path: string;
  operation: (name: SubjectName) => ApiOperation;
  answer: (app: App, asked: HistoryRequest, h: ResponseToolkit) => Promise<object>;
};

const access: Part = { path: '/versions/{version}/access', operation: admissionOperation, answer: showAdmission };
const partsOfDocuments: readonly Part[] = [
  { path: '/versions/{version}', operation: versionOperation, answer: showDocument },
  { path: '/diff', operation: diffOperation, answer: showDiff },
  { path: '/blame', operation: blameOperation, answer: showBlame },
  access,
];
const partsOfOthers: readonly Part[] = [
  { path: '/versions/{version}', operation: versionOperation, answer: showEvent },
  access,
];

const checkpoints = 10;

/**
 * Routes for the histories of documents, globals and accounts, and for the whole log. They read the log and not the
 * configuration, so deleted documents and removed collections are found as well. A caller without the right gets the
 * same response for any of them.
 */
export function history(server: Server, app: App & Pick<RouteParts, 'keyHistory'>): void {
  const { names } = app;
  const histories = openHistory(app.events);
  for (const subject of subjects) {
    const { name, path, isDocument } = subject;
    const list: AuditReader = async (request, _h, rights) => {
      const sight = await sightFor({ names, subject, request, rights });
      return listVersions(app, { names, histories, history: histories.as(sight), subject, request, rights });
    };
    server.route(readRoute(app, path, [() => historyOperation(name), list]));
    for (const part of isDocument ? partsOfDocuments : partsOfOthers) {
      server.route({
        method: 'GET',
        path: path + part.path,
        options: { auth: strategy, plugins: { openApi: () => part.operation(name) } },
        handler: async (request, h) => {
          // The right to payloads is checked before anything is read.
          const rights = await requireAudit(app, request, 'payloads');
          const sight = await sightFor({ names, subject, request, rights });
          requirePayloads(sight, { names, subject, request, rights });
          return part.answer(app, { names, histories, history: histories.as(sight), subject, request, rights }, h);
        },
      });
    }
  }
  server.route([
    readRoute(app, '/api/audit/events', [
      eventsOperation,
      (request, h, rights) => listEvents(app, { request, h, rights }),
    ]),
    readRoute(app, '/api/audit/log', [logOperation, ({ query }) => showLog(app, query)]),
    readRoute(app, '/api/audit/signing-keys', [keysOperation, ({ query }, _h, rights) => listKeys(app, query, rights)]),
  ]);
}

async function listVersions(app: App, asked: HistoryRequest): Promise<object> {
  const { history, subject, request, rights } = asked;
  const { actors, next: after, limit } = readQuery(historyParameters, request.query, app);
  const found = find(asked);
  const { entries, next } = await history.entries(found, { after, limit });
  const shown = subject.isDocument ? entries : entries.map(({ changed: _changed, ...entry }) => entry);
  const named = await namedAll(namingFor(app, request, { rights, actors }), shown);
  return { [subject.name]: found, docs: named, next };
}

async function showDocument(app: App, asked: HistoryRequest, h: ResponseToolkit): Promise<object> {
  const { stream, version, naming } = findVersion(app, asked);
  const event = asked.history.event(stream, version);
  const { document, published, hasDrafts } = await asked.history.documentAt(event);
  const { position } = event.header;
  const [shown] = await namedTexts(app, asked.rights, { positions: [position], naming });
  const isErased = event.data === null && !event.isWithheld ? ',"erased":true' : '';
  const lines = hasDrafts || keepsDrafts(app, stream) ? { document, published } : { document };
  const head = JSON.stringify({ stream, version, position, ...lines }).slice(0, -1);
  return sendText(h, `${head}${isErased},"event":${shown}}`);
}

/** Whether a stream is one of a collection or global that has drafts today. */
function keepsDrafts({ byCategory, globals }: App, stream: string): boolean {
  const [category, id] = splitStream(stream);
  const target = category === globalsCategory ? globals.get(id) : byCategory.get(category);
  return target !== undefined && target.lines !== null;
}

async function showEvent(app: App, asked: HistoryRequest, h: ResponseToolkit): Promise<object> {
  const { stream, version, naming } = findVersion(app, asked);
  const { position } = asked.history.event(stream, version).header;
  const [shown] = await namedTexts(app, asked.rights, { positions: [position], naming });
  const head = JSON.stringify({ stream, version, position }).slice(0, -1);
  return sendText(h, `${head},"event":${shown}}`);
}

async function showAdmission(app: App, asked: HistoryRequest): Promise<object> {
  const { stream, version, naming } = findVersion(app, asked);
  const { histories, history, rights } = asked;
  const event = history.event(stream, version);
  const admission = await admissionOf({ log: app.events, histories, sightOf: rights.sightOf }, event);
  return naming ? naming(admission) : admission;
}

async function showDiff(app: App, asked: HistoryRequest): Promise<object> {
  const { history, subject, request, rights } = asked;
  const wanted = readQuery(diffParameters, request.query, app);
  const state = find(asked);
  const { versions, ...difference } = await history.diff(state.stream, diffEnds(wanted, state.version), state.version);
  const [before, after] = [await entryAt(history, state, versions[0]), await entryAt(history, state, versions[1])];
  const naming = namingFor(app, request, { rights, actors: wanted.actors });
  const nameOf = async (entry: HistoryEntry | null) => (entry && naming ? naming(entry) : entry);
  const ends = { from: await nameOf(before), to: await nameOf(after) };
  return { [subject.name]: state, ...ends, ...difference };
}

async function showBlame(app: App, asked: HistoryRequest): Promise<object> {
  const { history, subject, request, rights } = asked;
  const wanted = readQuery(blameParameters, request.query, app);
  const state = find(asked);
  const { line, version } = blamedLine(wanted, state.version);
  const naming = namingFor(app, request, { rights, actors: wanted.actors });
  const fields: Blame[] = [];
  for (const one of await history.blame({ stream: state.stream, version, line })) {
    const named = naming && 'actor' in one ? await naming(one) : one;
    fields.push(naming && one.published ? { ...named, published: await naming(one.published) } : named);
  }
  return { [subject.name]: state, version, fields };
}

type HistoryCall = { request: Request; h: ResponseToolkit; rights: AuditRights };

async function listEvents(app: App, { request, h, rights }: HistoryCall): Promise<object> {
  const query = readEventQuery(app, request.query);
  const { size } = app.events.head();
  const { events, reached } = await findEvents(app, rights, query);
  const next = reached < query.upTo ? reached : null;
  const naming = namingFor(app, request, { rights, actors: query.actors });
  const shown = await withNames(events, naming);
  return sendText(h, `{"docs":[${shown.join(',')}],"next":${next},"size":${size}}`);
}

/** The texts of events. An event is sent as it is stored, unless its actor is named. */
async function withNames(events: readonly { text: string }[], naming: Naming | null): Promise<string[]> {
  if (!naming) return events.map(({ text }) => text);
  const named: string[] = [];
  for (const { text } of events) {
    const event = JSON.parse(text);
    named.push(JSON.stringify({ ...event, header: await naming(event.header) }));
  }
  return named;
}

type PickedEvents = { positions: readonly number[]; naming: Naming | null };

async function namedTexts(
  { events }: App,
  rights: AuditRights,
  { positions, naming }: PickedEvents,
): Promise<string[]> {
  return withNames(await eventTexts({ log: events, rights }, positions), naming);
}

async function showLog({ notary, events }: App, query: Query): Promise<object> {
  rejectQuery(query);
  const [verifierKey, signed, { verified, altered }] = await Promise.all([
    notary.verifierKey(),
    notary.recent(checkpoints),
    notary.verification(),
  ]);
  const { log: origin, size, root, recordedAt } = events.head();
  const log = { origin, verifierKey, size, root: root.toString('base64'), recordedAt, verified };
  return { ...log, ...(altered && { altered }), checkpoints: signed };
}

async function listKeys(app: Pick<RouteParts, 'keyHistory'>, query: Query, rights: AuditRights): Promise<object> {
  rejectQuery(query);
  const isSeen = (await rights.sightOf(keyStream)).extent !== 'none';
  const shown = <T extends KeyNote>(note: T | null) => {
    if (!note || isSeen) return note;
    const { reason: _reason, ...rest } = note;
    return rest;
  };
  const keys = await app.keyHistory();
  return {
    keys: keys.map((key) => ({
      ...key,
      since: shown(key.since),
      replaced: shown(key.replaced),
      disowned: shown(key.disowned),
    })),
  };
}

/** A request before it is known whether the log has its subject. */
type Asking = Pick<HistoryRequest, 'names' | 'subject' | 'request' | 'rights'>;

/** The caller's sight of the subject; of a name that nothing can have, all. */
async function sightFor({ names, subject, request, rights }: Asking): Promise<Sight> {
  const stream = streamOf[subject.name](request.params, names);
  return stream === null ? seesAll : rights.sightOf(stream);
}

/** Refuses in the same way whether the subject exists or not: a caller who sees nothing of it does not learn that. */
function requirePayloads({ extent }: Sight, { names, subject, request, rights }: Asking): void {
  const stream = streamOf[subject.name](request.params, names);
  if (stream === null || extent !== 'none') return;
  const { slug } = request.params;
  if (rights.toPayloadsOf(stream) === 'byRules') throw hiddenByRules(stream);
  const message = madeKeyOf(request)
    ? `this API key may not see what ${show(stream)} holds: its scopes do not hold it, or accounts are closed to keys`
    : `an API key may not see what accounts of ${show(slug)} hold; a token is needed`;
  throw new DomainError('forbidden', message);
}

function find({ names, history, subject: { name }, request }: HistoryRequest): StreamState {
  const stream = streamOf[name](request.params, names);
  const state = stream === null ? null : history.state(stream);
  if (state) return state;
  const { slug, id } = request.params;
  const named = id === undefined ? show(slug) : `${show(id)} in ${show(slug)}`;
  throw new DomainError('not_found', `there is no ${name} ${named} in the log`);
}

function findVersion(app: App, asked: HistoryRequest): { stream: string; version: number; naming: Naming | null } {
  const { request, rights } = asked;
  const { actors } = readQuery(versionParameters, request.query, app);
  const version = readInteger(String(request.params.version), 'version', { least: 1, place: 'path' });
  const { stream, version: last } = find(asked);
  if (version <= last) return { stream, version, naming: namingFor(app, request, { rights, actors }) };
  throw new DomainError('not_found', `there is no version ${version} of ${show(stream)}, the last is ${last}`);
}

async function entryAt(history: History, state: StreamState, version: number) {
  const { entries } = await history.entries(state, oneVersion(version));
  return entries[0] ?? null;
}
