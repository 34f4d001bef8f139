import type { Request, Server, ServerRoute } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import type { Page } from '../../projections/lists.ts';
import { readableDocument } from '../access/document-access.ts';
import { authorizeList, type ListScope, reachOf } from '../access/list-scope.ts';
import { selectableOf } from '../access/selectable.ts';
import type { App, Call, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { type Intake, intakeOf } from '../files/uploads/intake.ts';
import { noPayload } from '../http/body.ts';
import type { AsOf } from '../http/requests.ts';
import { type ListQuery, readListQuery, readView } from '../queries/query.ts';
import { idempotency } from './concurrency/idempotency.ts';
import { ifMatch } from './concurrency/precondition.ts';
import { create, remove, update } from './document-writes.ts';
import {
  createOperation,
  deleteOperation,
  listOperation,
  readOperation,
  restoreOperation,
  updateOperation,
} from './operations.ts';
import { accounts, countSignUp } from './passwords.ts';
import { readAsOf, tellPosition } from './past/as-of.ts';
import { restoreRoute } from './past/restore.ts';
import { type List, passing, rankedPage, searchedBy, withSearch } from './search/searching.ts';
import { sendTagged, sendText } from './sending.ts';
import { listText, serializerFor } from './serialize.ts';
import { admitInAdvance, uploads } from './uploads.ts';
import { membersOf, membersToRead } from './view.ts';
import { perform, receive, type Writable, writeOf } from './write-steps.ts';

/** The documents of every collection (contract, section 4.1): concrete routes, so an unknown slug is a plain 404. */
export function collections(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, model } = target;
  const path = `/api/collections/${slug}`;
  const present = serializerFor(app, target);
  const callOf = (request: Request) => ({ app, request, target, present });
  const intake = intakeOf(app, model, (request, operation) => admitInAdvance(callOf(request), operation));
  const writable: Writable<Collection> = {
    app,
    target,
    present,
    ...(model.auth ? { beforeBody: countSignUp } : {}),
    read: intake.read,
    steps: [ifMatch, idempotency, ...(model.upload ? [uploads] : []), ...(model.auth ? [accounts] : [])],
  };

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: () => listOperation(app.model, model) } },
      handler: async (request, h) => {
        const call = callOf(request);
        const moment = await readAsOf(app, request, target);
        const scope = await authorizeList(call);
        const query = await readListQuery(request.query, app, {
          reach: () => reachOf(call),
          selectable: () => selectableOf(call),
        });
        const only = scope.row ? null : membersToRead(call, membersOf(query.view));
        const page = await pageOf(call, { ...query, only }, { scope, moment });
        const texts = await present.texts(request, { texts: page.texts, only }, query.view);
        const text = listText(texts, page, query);
        return tellPosition(request, sendText(h, text));
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: { auth: strategy, plugins: { openApi: () => readOperation(app.model, model) } },
      handler: async (request, h) => {
        const moment = await readAsOf(app, request, target);
        const call = callOf(request);
        const { text, version } = await readableDocument(call);
        const view = await readView(request.query, app, () => selectableOf(call));
        const answer = await present.text(request, text, view);
        const tag = present.tag(version, answer, { view, isStored: moment === null });
        return tellPosition(request, sendTagged(h, answer, tag));
      },
    },
    ...writingRoutes(path, writable, intake),
    restoreRoute(`${path}/{id}/restore`, writable, () => restoreOperation(model)),
  ]);
}

/** The routes that create, change and delete documents. */
function writingRoutes(path: string, writable: Writable<Collection>, intake: Intake): ServerRoute[] {
  const { app, target } = writable;
  const { model } = target;
  return [
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        plugins: { openApi: () => createOperation(app.model, model), takes: ['idempotency-key'] },
        ...intake.options('create'),
      },
      handler: async (_request, h) => (await perform(await receive(writable, h, 'create'), create)).code(201),
    },
    {
      method: 'PATCH',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        plugins: { openApi: () => updateOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
        ...intake.options('update'),
      },
      handler: async (_request, h) => perform(await receive(writable, h, 'update'), update),
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: () => deleteOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
      },
      handler: (_request, h) => {
        return perform(writeOf(writable, h, { operation: 'delete', body: null, upload: null, data: null }), remove);
      },
    },
  ];
}

type Seen = { scope: ListScope; moment: AsOf | null };

/** A page of the documents that the caller may see, today or as of a moment. */
async function pageOf(call: Call, query: ListQuery, { scope, moment }: Seen): Promise<Page> {
  const { app, target } = call;
  const { where, row } = scope;
  const asks = query.where && !moment ? await app.search.served(query.where, target.tables) : query.where;
  const allowed = where && asks ? { and: [where, asks] } : (where ?? asks);
  const every: List = async (request) => {
    return moment ? app.past.list(moment.position, target.tables, request) : target.documents.list(request);
  };
  const list = row ? passing(every, row) : every;
  if (!query.search) return list({ ...query, where: allowed });
  const { terms, isRanked } = query.search;
  const fields = await searchedBy(call);
  const asked = { ...query, where: await withSearch(call, allowed, { terms, fields }) };
  return isRanked ? rankedPage(asked, { terms, fields, list }) : list(asked);
}
