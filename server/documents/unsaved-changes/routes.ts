import type { Request, ResponseToolkit, RouteOptions, Server } from '@hapi/hapi';
import { readOwnDraft } from '../../../config/drafts.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { authTargets, requireUser } from '../../callers/sessions.ts';
import { unstored } from '../../callers/vary.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { rejectQuery } from '../../queries/parameters.ts';
import { sendText } from '../read/sending.ts';
import { dropDraft, keepDraft, listDrafts, readDraft, type Shown, subjectIn } from './drafts.ts';
import { dropDraftOperation, keepDraftOperation, listDraftsOperation, readDraftOperation } from './operations.ts';

/** Drafts that users keep, each for themselves: typed, and not written. */
export function drafts(server: Server, app: App): void {
  if (authTargets(app).length === 0) return;
  const path = '/api/drafts';

  server.route({
    method: 'GET',
    path,
    options: { auth: strategy, plugins: { openApi: listDraftsOperation } },
    handler: async (request, h) => {
      admit(request);
      return unstored(h.response({ drafts: await listDrafts({ app, request }) }));
    },
  });
  if (app.model.collections.size > 0) draftRoutes(server, app, `${path}/{slug}/{id}`);
  if (app.model.globals.size > 0) draftRoutes(server, app, `${path}/globals/{slug}`);
}

function draftRoutes(server: Server, app: App, path: string): void {
  const isGlobal = !path.includes('{id}');
  const takes = ['if-match'] as const;
  const options = { auth: strategy } satisfies RouteOptions;

  server.route([
    {
      method: 'GET',
      path,
      options: { ...options, plugins: { openApi: () => readDraftOperation(isGlobal) } },
      handler: async (request, h) => {
        admit(request);
        const { data, ...shown } = await readDraft({ app, request }, subjectIn(app, request));
        // The data is sent as it was kept, and not written anew.
        return tagged(h, shown, `${JSON.stringify(shown.view).slice(0, -1)},"data":${data}}`);
      },
    },
    {
      method: 'PUT',
      path,
      options: {
        ...options,
        payload: jsonPayload,
        plugins: { openApi: () => keepDraftOperation(isGlobal), neverShed: true, takes },
      },
      handler: async (request, h) => {
        admit(request);
        const subject = subjectIn(app, request);
        const draft = readOwnDraft(await readBody(request, app.model.limits.body));
        const shown = await keepDraft({ app, request }, subject, draft);
        return tagged(h, shown, JSON.stringify(shown.view));
      },
    },
    {
      method: 'DELETE',
      path,
      options: {
        ...options,
        payload: noPayload,
        plugins: { openApi: () => dropDraftOperation(isGlobal), neverShed: true, takes },
      },
      handler: async (request) => {
        admit(request);
        return (await dropDraft({ app, request }, subjectIn(app, request))).view;
      },
    },
  ]);
}

/** Before anything is looked up or read: drafts are for users. */
function admit(request: Request): void {
  requireUser(request);
  rejectQuery(request.query);
}

function tagged(h: ResponseToolkit, { revision }: Shown, text: string) {
  return unstored(sendText(h, text).etag(`${revision}-draft`));
}
