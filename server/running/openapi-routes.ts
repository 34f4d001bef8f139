import { hash } from 'node:crypto';
import type { Request, Server } from '@hapi/hapi';
import { requireSchemaAccess } from '../access/access.ts';
import { requireReadOfAll, requireSomeAudit } from '../access/key-scopes.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { sendTagged } from '../documents/read/sending.ts';
import type { ApiOperation } from '../openapi/operation.ts';
import { auditOpenApiOperation, openApiOperation } from '../openapi/system-operations.ts';
import { once } from '../platform/once.ts';
import type { Api } from '../ports.ts';
import { rejectQuery } from '../queries/parameters.ts';

/** The OpenAPI documents: one of the contract (section 4.7), and one of the audit routes, which are not part of it. */
export function openApi(server: Server, app: Pick<App & RouteParts, 'model' | 'openApi'>): void {
  const { model } = app;
  // The first describes all of the configuration, the second the history.
  serve('contract', '/api/openapi.json', [() => openApiOperation(model), requireReadOfAll]);
  serve('audit', '/api/audit/openapi.json', [() => auditOpenApiOperation(model), requireSomeAudit]);

  type Described = [operation: () => ApiOperation, requireScopes: (request: Request) => void];

  function serve(api: Api, path: string, [operation, requireScopes]: Described): void {
    const tagged = once(async () => {
      const text = await app.openApi(api);
      return { text, tag: hash('sha256', text, 'base64url').slice(0, 16) };
    });
    server.route({
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: operation } },
      handler: async (request, h) => {
        requireSchemaAccess(model, request);
        if (!model.publicSchema) requireScopes(request);
        rejectQuery(request.query);
        const { text, tag } = await tagged();
        return sendTagged(h, text, tag);
      },
    });
  }
}
