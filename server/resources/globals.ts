import type { Request, Server } from '@hapi/hapi';
import { defaultDocument } from '../../config/documents.ts';
import type { Global } from '../../config/model.ts';
import type { JsonObject } from '../../config/schema.ts';
import { globalStream } from '../../events/catalogue.ts';
import { type Current, decideGlobalUpdate } from '../../events/documents.ts';
import { authorize } from '../access.ts';
import { sendText } from '../answers.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../authentication.ts';
import { readNoQuery } from '../query.ts';
import { checkRelations } from '../relations.ts';
import { requestId } from '../requests.ts';
import { write } from '../writes.ts';

/** The globals (contract, section 4.3): one document each, addressed by slug, there from the start with its defaults. */
export function globals(server: Server, app: App): void {
  for (const target of app.globals.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Global>): void {
  const { slug, documents, validator, model } = target;
  const path = `/api/globals/${slug}`;

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy },
      handler: async (request, h) => {
        const { document } = current();
        await permit(request, 'read', document, null);
        readNoQuery(request.query);
        return sendText(h, JSON.stringify(answerOf(document)));
      },
    },
    {
      method: 'PATCH',
      path,
      options: { auth: strategy, payload: { allow: 'application/json', maxBytes: app.model.limits.body } },
      handler: async (request, h) => {
        const answer = await write(app, request, globalStream(slug), async () => {
          const before = current();
          await permit(request, 'update', before.document, request.payload as JsonObject);
          readNoQuery(request.query);
          const values = validator.update(request.payload);
          checkRelations(app, model.fields, values);
          const decision = decideGlobalUpdate(slug, before, values, app.ids.next().at);
          const changes = decision?.events[0]?.data.set as JsonObject | undefined;
          return { decision, answer: answerOf({ ...before.document, ...changes }) };
        });
        return sendText(h, JSON.stringify(answer));
      },
    },
  ]);

  function current(): Current {
    const found = documents.current(slug);
    if (!found) return { version: 0, document: target.shape(defaultDocument(model.fields)) };
    const { id: _slug, ...document } = found.document;
    return { version: found.version, document };
  }

  function answerOf(values: JsonObject): JsonObject {
    return { createdAt: values.createdAt ?? null, updatedAt: values.updatedAt ?? null, ...target.shape(values) };
  }

  function permit(request: Request, operation: 'read' | 'update', doc: JsonObject, data: JsonObject | null) {
    return authorize(request, model, operation, { doc, data }, (error) => {
      app.log.error({ err: error, requestId: requestId(request) }, `the ${operation} rule of global ${slug} threw`);
    });
  }
}
