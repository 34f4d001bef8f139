import type { Request, Server } from '@hapi/hapi';
import type { Global } from '../../config/model.ts';
import type { Current } from '../../events/facts/documents.ts';
import { authorize } from '../access/access.ts';
import { readableDraft } from '../access/document-access.ts';
import { readDrafts } from '../access/draft-view.ts';
import { selectableOf } from '../access/selectable.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { jsonPayload, readBody } from '../http/body.ts';
import { asOfFor } from '../http/requests.ts';
import { readView, viewsOf } from '../queries/query.ts';
import { idempotency } from './concurrency/idempotency.ts';
import { ifMatch } from './concurrency/precondition.ts';
import { updateLine } from './drafts/line-writes.ts';
import { discardOperation, publishOperation } from './drafts/operations.ts';
import { draftRoutes } from './drafts/routes.ts';
import { readOperation, restoreOperation, updateOperation } from './operations.ts';
import { readTargetAhead } from './outlook/reading.ts';
import { readAsOf, tellPosition } from './past/as-of.ts';
import { restoreRoute } from './past/restore.ts';
import { sendTagged } from './read/sending.ts';
import { serializerFor } from './read/serialize.ts';
import { reviewRoutes } from './reviews/routes.ts';
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

/** The public state of a global that the caller may read, today or at the position that the request looks back to. */
async function publicOf(app: App, request: Request, target: Target<Global>): Promise<Current> {
  const { slug } = target;
  const call = { app, request, target };
  const moment = asOfFor(request);
  const today = currentOf(target, slug);
  await authorize(call, 'read', { doc: () => today.document, data: null });
  const then = moment && currentThen(target, slug, moment.position);
  if (then) await authorize(call, 'read', { doc: () => then.document, data: null, position: moment.position });
  return then ?? today;
}

/** The draft of a global that the caller may read; null without one. */
async function draftOf(app: App, request: Request, target: Target<Global>): Promise<Current | null> {
  const draft = await readableDraft({ app, request, target }, target.slug);
  if (!draft) return null;
  const { id: _slug, ...document } = JSON.parse(draft.text);
  return { version: draft.version, document };
}

function routesOf(server: Server, app: App, target: Target<Global>): void {
  const { slug, model } = target;
  const path = `/api/globals/${slug}`;
  const present = serializerFor(app, target);
  const views = viewsOf(app.model, model);
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
        const ahead = await readTargetAhead(app, request, target);
        if (!ahead) await readAsOf(app, request, target);
        const call = ahead ?? { app, request, target: await readDrafts(app, request, target) };
        const draft = call.target.view ? await draftOf(app, request, target) : null;
        const { document, version } = draft ?? (await publicOf(call.app, request, ahead?.target ?? target));
        const view = await readView(request.query, call.app, { selectable: () => selectableOf(call), views });
        const shown = ahead ? serializerFor(ahead.app, ahead.target) : present;
        const answer = await shown.document(request, target.documentOf(slug, document), view);
        return tellPosition(
          request,
          sendTagged(h, answer, present.tag(version, answer, { isDraft: call.target.view !== undefined })),
        );
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
      handler: async (_request, h) => perform(await receive(writable, h, 'update'), target.lines ? updateLine : update),
    },
    restoreRoute(`${path}/restore`, writable, () => restoreOperation(app.model, model)),
    ...draftRoutes(path, writable, {
      publish: () => publishOperation(app.model, model),
      discard: () => discardOperation(app.model, model),
    }),
    ...reviewRoutes(path, writable),
  ]);
}
