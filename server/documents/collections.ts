import type { Request, Server, ServerRoute } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import { readableDocument } from '../access/document-access.ts';
import { authorizeList, reachOf } from '../access/list-scope.ts';
import { selectableOf } from '../access/selectable.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { type Intake, intakeOf } from '../files/uploads/intake.ts';
import { noPayload } from '../http/body.ts';
import { createCursors } from '../queries/cursors.ts';
import { documentParameters, readListQuery, readView } from '../queries/query.ts';
import { idempotency } from './concurrency/idempotency.ts';
import { ifMatch } from './concurrency/precondition.ts';
import {
  createOperation,
  deleteOperation,
  listOperation,
  readOperation,
  restoreOperation,
  updateOperation,
} from './operations.ts';
import { readAsOf, tellPosition } from './past/as-of.ts';
import { restoreRoute } from './past/restore.ts';
import { pageOf } from './read/listing.ts';
import { sendRead, sendTexts } from './read/sending.ts';
import { listTexts, serializerFor } from './read/serialize.ts';
import { membersOf, membersToRead } from './read/view.ts';
import { create, remove, update } from './write/document-writes.ts';
import { accounts, countSignUp } from './write/passwords.ts';
import { admitInAdvance, uploads } from './write/uploads.ts';
import { perform, receive, type Writable, writeOf } from './write/write-steps.ts';

/** The documents of every collection (contract, section 4.1): concrete routes, so an unknown slug is a plain 404. */
export function collections(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, model } = target;
  const path = `/api/collections/${slug}`;
  const present = serializerFor(app, target);
  const cursors = createCursors(app.idempotencySecret);
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
          placeOf: (cursor) => cursors.open(cursor, slug, request.query),
        });
        // A date of today has gone on since the first page.
        if (moment) moment.position = query.after?.position ?? moment.position;
        // A row rule is asked about whole documents, and the words of a search are looked for in them.
        const only = scope.row || query.search?.isRanked ? null : membersToRead(call, membersOf(query.view));
        const page = await pageOf(call, { ...query, only }, scope);
        const texts = await present.texts(request, { texts: page.texts, only }, query.view);
        const mark = page.marks?.at(-1);
        const position = moment?.position ?? null;
        const next = page.hasNext && mark ? cursors.seal({ mark, position }, slug, request.query) : null;
        return tellPosition(request, sendTexts(h, listTexts(texts, page, { ...query, next })));
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
        const view = await readView(request.query, app, () => selectableOf(call), documentParameters);
        const answer = await present.text(request, text, view);
        const tag = present.tag(version, answer, { view, isStored: moment === null });
        return sendRead(h, answer, tag);
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
