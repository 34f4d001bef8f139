import type { Server } from '@hapi/hapi';
import { requireAudit } from '../../access/rights.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { inBulkQueue } from '../../documents/bulk/queue.ts';
import { jsonPayload, readBody } from '../../http/body.ts';
import { undoOperation } from './operations.ts';
import { readUndo, undo } from './undo.ts';

/** Undoing a bulk call. */
export function undoing(server: Server, app: App): void {
  server.route({
    method: 'POST',
    path: '/api/batches/{batch}/undo',
    options: {
      auth: strategy,
      payload: jsonPayload,
      plugins: { openApi: undoOperation, takes: ['idempotency-key'] },
    },
    handler: async (request, h) => {
      const rights = await requireAudit(app, request, 'payloads');
      return inBulkQueue({ app, request }, async (begin) => {
        const body = await readBody(request, app.model.limits.body);
        const wanted = readUndo(body);
        await begin();
        return undo({ app, request, h, rights, body }, { batch: String(request.params.batch), ...wanted });
      });
    },
  });
}
