import type { Server } from '@hapi/hapi';
import { requireSchemaAccess } from '../access.ts';
import { sendText } from '../answers.ts';
import type { App } from '../app.ts';
import { strategy } from '../authentication.ts';
import { openApiOperation } from '../openapi/operations.ts';
import { readNoQuery } from '../query.ts';

/** The OpenAPI document (contract, section 4.7). */
export function openApi(server: Server, app: App): void {
  const { model } = app;
  server.route({
    method: 'GET',
    path: '/api/openapi.json',
    options: { auth: strategy, plugins: { openApi: () => openApiOperation(model) } },
    handler: async (request, h) => {
      requireSchemaAccess(model, request);
      readNoQuery(request.query);
      return sendText(h, await app.openApi());
    },
  });
}
