import type { Request, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { type AuditRights, requireAudit } from '../access/rights.ts';
import type { App } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import type { ApiOperation } from '../openapi/operation.ts';

/** Answers a request of a caller with these rights. */
export type AuditReader = (request: Request, h: ResponseToolkit, rights: AuditRights) => Promise<object>;

/** A route for callers who may see headers; `read` decides on the rest. */
export function readRoute(app: App, path: string, [openApi, read]: [() => ApiOperation, AuditReader]): ServerRoute {
  return {
    method: 'GET',
    path,
    options: { auth: strategy, plugins: { openApi } },
    handler: async (request, h) => read(request, h, await requireAudit(app, request, 'headers')),
  };
}
