import type { Server } from '@hapi/hapi';
import type { Global } from '../../config/model.ts';
import { authorize } from '../access/access.ts';
import { selectableOf } from '../access/selectable.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { jsonPayload, readBody } from '../http/body.ts';
import { readView } from '../queries/query.ts';
import { idempotency } from './concurrency/idempotency.ts';
import { ifMatch } from './concurrency/precondition.ts';
import { readOperation, restoreOperation, updateOperation } from './operations.ts';
import { readAsOf, tellPosition } from './past/as-of.ts';
import { restoreRoute } from './past/restore.ts';
import { sendTagged } from './read/sending.ts';
import { serializerFor } from './read/serialize.ts';
import { currentOf, currentThen } from './write/current.ts';
import { update } from './write/document-writes.ts';
import { perform, receive, type Writable } from './write/write-steps.ts';

/**
 * The globals (contract, section 4.3): each is one document, addressed by its slug; it exists from the start, with its
 * defaults.
 */
export function globals(server: Server, app: App): void {
  for (const target of app.globals.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Global>): void {
  const { slug, model } = target;
  const path = `/api/globals/${slug}`;
  const present = serializerFor(app, target);
  const writable: Writable = {
    app,
    target,
    present,
    async read(request) {
      const body = await readBody(request, app.model.limits.body);
      return { body, upload: null, data: body };
    },
    steps: [ifMatch, idempotency],
  };

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: () => readOperation(app.model, model) } },
      handler: async (request, h) => {
        const call = { app, request, target };
        const moment = await readAsOf(app, request, target);
        const today = currentOf(target, slug);
        await authorize(call, 'read', { doc: () => today.document, data: null });
        const then = moment && currentThen(target, slug, moment.position);
        if (then) await authorize(call, 'read', { doc: () => then.document, data: null, position: moment.position });
        const { document, version } = then ?? today;
        const view = await readView(request.query, app, () => selectableOf(call));
        const answer = await present.document(request, target.documentOf(slug, document), view);
        return tellPosition(request, sendTagged(h, answer, present.tag(version, answer)));
      },
    },
    {
      method: 'PATCH',
      path,
      options: {
        auth: strategy,
        plugins: { openApi: () => updateOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
        payload: jsonPayload,
      },
      handler: async (_request, h) => perform(await receive(writable, h, 'update'), update),
    },
    restoreRoute(`${path}/restore`, writable, () => restoreOperation(app.model, model)),
  ]);
}
