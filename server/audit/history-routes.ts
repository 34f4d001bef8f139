import type { Request, ResponseToolkit, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import { show } from '../../config/suggest.ts';
import { type AuditRights, requireAudit } from '../access/rights.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { sendText } from '../documents/sending.ts';
import type { Operation } from '../openapi/operation.ts';
import type { KeyNote } from '../ports.ts';
import { readInteger, readQuery, rejectQuery } from '../queries/parameters.ts';
import { admissionOf } from './admissions.ts';
import { eventsOperation, keysOperation, logOperation } from './event-operations.ts';
import { historyParameters, readEventQuery } from './event-query.ts';
import { eventTexts } from './event-text.ts';
import { findEvents } from './events.ts';
import { oneVersion, openHistory, type StreamState } from './history.ts';
import {
  admissionOperation,
  blameOperation,
  diffOperation,
  historyOperation,
  versionOperation,
} from './history-operations.ts';
import { type Subject as SubjectName, streamOf } from './subjects.ts';
import { blameParameters, diffParameters, versionOf, versionRange } from './version-query.ts';

/** A kind of stream with a history. */
type Subject = {
  name: SubjectName;
  path: string;
  /** False: its events say what happened, and there is nothing that they change. */
  isDocument: boolean;
};

const subjects: readonly Subject[] = [
  { name: 'document', path: '/api/audit/documents/{slug}/{id}', isDocument: true },
  { name: 'global', path: '/api/audit/globals/{slug}', isDocument: true },
  { name: 'account', path: '/api/audit/accounts/{slug}/{id}', isDocument: false },
  { name: 'invitation', path: '/api/audit/accounts/{slug}/invites/{id}', isDocument: false },
];

type Handler = (request: Request, h: ResponseToolkit, rights: AuditRights) => Promise<object>;

/** A route below that of a subject. */
type Part = { path: string; operation: (name: SubjectName) => Operation };

const versions: Part = { path: '/versions/{version}', operation: versionOperation };

const checkpoints = 10;

/**
 * Routes for the histories of documents, globals and accounts, and for the whole log. They read the log and not the configuration, so
 * deleted documents and removed collections are found as well. A caller without the right gets the same response for any of them.
 */
export function history(server: Server, app: App & Pick<RouteParts, 'keyHistory'>): void {
  const histories = openHistory(app.events);
  for (const subject of subjects) {
    listVersions(subject);
    if (subject.isDocument) {
      showDocument(subject);
      showDiff(subject);
      showBlame(subject);
    } else showEvent(subject);
    showAdmission(subject);
  }
  listEvents();
  showLog();
  listKeys();

  function listVersions(subject: Subject): void {
    get(
      subject.path,
      () => historyOperation(subject.name),
      async (request, _h, rights) => {
        const page = readQuery(historyParameters, request.query, app);
        const found = find(subject, request);
        const withPayloads = rights.seesPayloadsOf(found.stream);
        const { entries, next } = await histories.entries(found, { ...page, withPayloads });
        const shown = subject.isDocument ? entries : entries.map(({ changed: _changed, ...entry }) => entry);
        return { [subject.name]: found, versions: shown, next };
      },
    );
  }

  function showDocument(subject: Subject): void {
    getPayloads(subject, versions, async (request, h, rights) => {
      const { state, version } = findVersion(subject, request);
      const event = histories.event(state.stream, version);
      const document = await histories.documentAt(event);
      const { position } = event.header;
      const [shown] = eventTexts(app.events, rights, [position]);
      const isErased = event.data === null ? ',"erased":true' : '';
      const head = JSON.stringify({ stream: state.stream, version, position, document }).slice(0, -1);
      return sendText(h, `${head}${isErased},"event":${shown?.text}}`);
    });
  }

  function showEvent(subject: Subject): void {
    getPayloads(subject, versions, async (request, h, rights) => {
      const { state, version } = findVersion(subject, request);
      const position = app.events.positionOf(state.stream, version);
      const [shown] = eventTexts(app.events, rights, [position]);
      const head = JSON.stringify({ stream: state.stream, version, position }).slice(0, -1);
      return sendText(h, `${head},"event":${shown?.text}}`);
    });
  }

  function showAdmission(subject: Subject): void {
    getPayloads(
      subject,
      { path: '/versions/{version}/access', operation: admissionOperation },
      async (request, _h, rights) => {
        const { state, version } = findVersion(subject, request);
        const event = histories.event(state.stream, version);
        return admissionOf({ log: app.events, histories }, event, rights.seesPayloadsOf);
      },
    );
  }

  function showDiff(subject: Subject): void {
    getPayloads(subject, { path: '/diff', operation: diffOperation }, async (request) => {
      const asked = readQuery(diffParameters, request.query, app);
      const state = find(subject, request);
      const { from, to } = versionRange(asked, state.version);
      const [before, after] = [await entryAt(state, from), await entryAt(state, to)];
      return { [subject.name]: state, from: before, to: after, ...(await histories.diff(state.stream, from, to)) };
    });
  }

  function showBlame(subject: Subject): void {
    getPayloads(subject, { path: '/blame', operation: blameOperation }, async (request) => {
      const asked = readQuery(blameParameters, request.query, app);
      const state = find(subject, request);
      const version = versionOf(asked, state.version);
      return { [subject.name]: state, version, fields: await histories.blame(state.stream, version) };
    });
  }

  function listEvents(): void {
    get('/api/audit/events', eventsOperation, async (request, h, rights) => {
      const query = readEventQuery(app, request.query);
      const { size } = app.events.head();
      const { events, reached } = findEvents(app, rights, query);
      const next = reached < query.upTo ? reached : null;
      return sendText(h, `{"events":[${events.map(({ text }) => text).join(',')}],"next":${next},"size":${size}}`);
    });
  }

  function showLog(): void {
    get('/api/audit/log', logOperation, async (request) => {
      rejectQuery(request.query);
      const { notary } = app;
      const [verifierKey, signed, { verified, altered }] = await Promise.all([
        notary.verifierKey(),
        notary.recent(checkpoints),
        notary.verification(),
      ]);
      const { log: origin, size, root, recordedAt } = app.events.head();
      const log = { origin, verifierKey, size, root: root.toString('base64'), recordedAt, verified };
      return { ...log, ...(altered && { altered }), checkpoints: signed };
    });
  }

  function listKeys(): void {
    get('/api/audit/keys', keysOperation, async (request, _h, rights) => {
      rejectQuery(request.query);
      const shown = <T extends KeyNote>(note: T | null) => {
        if (!note || rights.has('payloads')) return note;
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
    });
  }

  /** A route for callers who may see headers; the handler decides on the rest. */
  function get(path: string, openApi: () => Operation, handler: Handler): void {
    server.route({
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi } },
      handler: async (request, h) => handler(request, h, await requireAudit(app, request, 'headers')),
    });
  }

  /** A route about payloads: the right to them is checked before anything is read. */
  function getPayloads(subject: Subject, { path, operation }: Part, handler: Handler): void {
    server.route({
      method: 'GET',
      path: subject.path + path,
      options: { auth: strategy, plugins: { openApi: () => operation(subject.name) } },
      handler: async (request, h) => {
        const rights = await requireAudit(app, request, 'payloads');
        requirePayloads(rights, subject, request);
        return handler(request, h, rights);
      },
    });
  }

  /** By the name alone, whether there is such a thing or not. */
  function requirePayloads(rights: AuditRights, subject: Subject, request: Request): void {
    const stream = streamOf[subject.name](request.params);
    if (stream === null || rights.seesPayloadsOf(stream)) return;
    const message = `an API key may not see what accounts of ${show(request.params.slug)} hold; a token is needed`;
    throw new DomainError('forbidden', message);
  }

  function find(subject: Subject, request: Request): StreamState {
    const stream = streamOf[subject.name](request.params);
    const state = stream === null ? null : histories.state(stream);
    if (state) return state;
    const { slug, id } = request.params;
    const named = id === undefined ? show(slug) : `${show(id)} in ${show(slug)}`;
    throw new DomainError('not-found', `there is no ${subject.name} ${named} in the log`);
  }

  function findVersion(subject: Subject, request: Request): { state: StreamState; version: number } {
    rejectQuery(request.query);
    const version = readInteger(String(request.params.version), 'version', 1);
    const state = find(subject, request);
    if (version <= state.version) return { state, version };
    throw new DomainError(
      'not-found',
      `there is no version ${version} of ${show(state.stream)}, the last is ${state.version}`,
    );
  }

  async function entryAt(state: StreamState, version: number) {
    const { entries } = await histories.entries(state, oneVersion(version));
    return entries[0] ?? null;
  }
}
