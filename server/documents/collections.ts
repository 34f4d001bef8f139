import type { Request, Server } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/catalogue.ts';
import type { ListRequest, Page } from '../../projections/lists.ts';
import { authorizeList, reachOf, requireCredential, type Visible } from '../access/access.ts';
import { readableDocument, refuseMissing } from '../access/document-access.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { jsonPayload, noPayload, readBody } from '../http/body.ts';
import { idOf, type Moment } from '../http/requests.ts';
import { type ListQuery, readDepth, readListQuery } from '../queries/query.ts';
import { listText, presenterOf, sendText } from './answers.ts';
import { sendTagged } from './concurrency/etags.ts';
import { documentWrites } from './document-writes.ts';
import {
  createOperation,
  deleteOperation,
  listOperation,
  readOperation,
  restoreOperation,
  updateOperation,
} from './operations.ts';
import { lookBack, tellPosition } from './past/as-of.ts';
import { restore } from './past/restore.ts';
import type { Restorable } from './past/restore-plan.ts';

/** The documents of every collection (contract, section 4.1): concrete routes, so an unknown slug is a plain 404. */
export function collections(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, documents, model } = target;
  const path = `/api/collections/${slug}`;
  const present = presenterOf(app, target);
  const writes = documentWrites(app, target, present);

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: () => listOperation(app.model, model) } },
      handler: async (request, h) => {
        const moment = await lookBack(app, request, target);
        const visible = await authorizeList(app, request, target);
        const query = await readListQuery(request.query, () => reachOf(app, request, target));
        const page = await visiblePage(query, visible, moment);
        const text = listText(await present.texts(request, page.texts, query.depth), page, query);
        return tellPosition(request, sendText(h, text));
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: { auth: strategy, plugins: { openApi: () => readOperation(app.model, model) } },
      handler: async (request, h) => {
        const moment = await lookBack(app, request, target);
        const { text, version } = await readableDocument(app, request, target);
        const depth = readDepth(request.query);
        const answer = await present.text(request, text, depth);
        const tag = present.tag(version, answer, { depth, isStored: moment === null });
        return tellPosition(request, sendTagged(request, h, answer, tag));
      },
    },
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        plugins: { openApi: () => createOperation(app.model, model), takes: ['idempotency-key'] },
        ...writes.intake.options('create'),
      },
      handler: writes.create,
    },
    {
      method: 'PATCH',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        plugins: { openApi: () => updateOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
        ...writes.intake.options('update'),
      },
      handler: writes.update,
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: () => deleteOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
      },
      handler: writes.remove,
    },
    {
      method: 'POST',
      path: `${path}/{id}/restore`,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: () => restoreOperation(model), takes: ['if-match', 'idempotency-key'] },
      },
      handler: async (request, h) => {
        requireCredential(request, target, 'update');
        return restore(restorable(request), h, await readBody(request, app.model.limits.body));
      },
    },
  ]);

  function restorable(request: Request): Restorable {
    const id = idOf(request);
    const written = { app, request, target, present, stream: documentStream(slug, id), id };
    const answerOf = (fields: JsonObject) => target.documentOf(id, fields);
    const current = () => documents.current(id);
    return { ...written, answerOf, current, refuseMissing: () => refuseMissing(app, request, target, 'update') };
  }

  async function visiblePage(query: ListQuery, { where, row }: Visible, moment: Moment | null): Promise<Page> {
    const asked = { ...query, where: where && query.where ? { and: [where, query.where] } : (where ?? query.where) };
    const list = async (request: ListRequest) => {
      return moment ? app.past.list(moment.position, target.tables, request) : documents.list(request);
    };
    if (!row) return list(asked);
    const texts: string[] = [];
    for (const text of (await list({ ...asked, limit: -1, page: 1 })).texts) {
      if (await row(JSON.parse(text))) texts.push(text);
    }
    const start = (query.page - 1) * query.limit;
    return { texts: texts.slice(start, start + query.limit), total: texts.length };
  }
}
