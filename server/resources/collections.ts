import type { Request, Server } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { Collection, Operation } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { documentStream } from '../../events/catalogue.ts';
import { type Current, decideCreate, decideDelete, decideUpdate } from '../../events/documents.ts';
import { authorize } from '../access.ts';
import { documentOf, listText, present, presentDocument, sendText } from '../answers.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../authentication.ts';
import { readListQuery, readNoQuery } from '../query.ts';
import { checkRelations } from '../relations.ts';
import { actorOf, idOf, requestId } from '../requests.ts';
import { write } from '../writes.ts';

/** The documents of every collection (contract, section 4.1): concrete routes, so an unknown slug is a plain 404. */
export function collections(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, documents, validator, model } = target;
  const path = `/api/collections/${slug}`;
  const body = { allow: 'application/json', maxBytes: app.model.limits.body };

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy },
      handler: async (request, h) => {
        await permit(request, 'read', null);
        const query = readListQuery(request.query, target.sortable);
        return sendText(h, listText(target, documents.list(query.sort, query.limit, query.page), query));
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: { auth: strategy },
      handler: async (request, h) => {
        const text = documents.text(idOf(request));
        if (text === null) return refuseMissing(request, 'read');
        if (model.access.read) await permit(request, 'read', () => JSON.parse(text));
        else await permit(request, 'read', null);
        readNoQuery(request.query);
        return sendText(h, present(target, text));
      },
    },
    {
      method: 'POST',
      path,
      options: { auth: strategy, payload: body },
      handler: async (request, h) => {
        await permit(request, 'create', null, request.payload);
        readNoQuery(request.query);
        const values = validator.create(request.payload);
        checkRelations(app, model.fields, values);
        const { id, at } = app.ids.next();
        const decision = decideCreate(target, id, at, values);
        const document = documentOf(target, id, decision.events[0]?.data ?? {});
        await write(app, request, decision.stream, async () => ({ decision, answer: null }));
        return sendText(h, presentDocument(target, document)).code(201);
      },
    },
    {
      method: 'PATCH',
      path: `${path}/{id}`,
      options: { auth: strategy, payload: body },
      handler: async (request, h) => {
        const id = idOf(request);
        const answer = await write(app, request, documentStream(slug, id), async () => {
          const current = await find(request, 'update');
          readNoQuery(request.query);
          const values = validator.update(request.payload);
          checkRelations(app, model.fields, values);
          const decision = decideUpdate(target, id, current, values, app.ids.next().at);
          const changes = decision?.events[0]?.data.set as JsonObject | undefined;
          return { decision, answer: documentOf(target, id, { ...current.document, ...changes }) };
        });
        return sendText(h, presentDocument(target, answer));
      },
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      options: { auth: strategy },
      handler: async (request, h) => {
        const id = idOf(request);
        const answer = await write(app, request, documentStream(slug, id), async () => {
          const current = await find(request, 'delete');
          readNoQuery(request.query);
          return { decision: decideDelete(target, id, current), answer: presentDocument(target, current.document) };
        });
        return sendText(h, answer);
      },
    },
  ]);

  function permit(request: Request, operation: Operation, doc: (() => JsonObject) | null, data: unknown = null) {
    const subject = { doc: doc && actorOf(request).type !== 'apiKey' ? doc() : null, data: data as JsonObject | null };
    return authorize(request, model, operation, subject, (error) => {
      app.log.error({ err: error, requestId: requestId(request) }, `the ${operation} rule of ${slug} threw`);
    });
  }

  async function find(request: Request, operation: 'update' | 'delete'): Promise<Current> {
    const current = documents.current(idOf(request));
    if (!current) return refuseMissing(request, operation);
    await permit(request, operation, () => current.document, request.payload);
    return current;
  }

  /** Whether a document exists is not told to somebody who might not be let near it anyway. */
  async function refuseMissing(request: Request, operation: Operation): Promise<never> {
    if (actorOf(request).type === 'anonymous') await permit(request, operation, null);
    throw new DomainError('not-found', `there is no document ${JSON.stringify(idOf(request).slice(0, 100))} in ${slug}`);
  }
}
