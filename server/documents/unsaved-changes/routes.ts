import type { Request, ResponseToolkit, RouteOptions, Server } from '@hapi/hapi';
import { readOwnDraft } from '../../../config/drafts.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { authTargets, requireUser } from '../../callers/sessions.ts';
import { unstored } from '../../callers/vary.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { pageParameters } from '../../queries/pages.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { sendText } from '../read/sending.ts';
import { pageText } from '../read/serialize.ts';
import { dropDraftOperation, keepDraftOperation, listDraftsOperation, readDraftOperation } from './operations.ts';
import {
  dropUnsaved,
  keepUnsaved,
  listUnsaved,
  readUnsaved,
  subjectIn,
  type UnsavedRevision,
} from './unsaved-changes.ts';

/** The unsaved changes of users, each for themselves. */
export function unsavedChanges(server: Server, app: App): void {
  if (authTargets(app).length === 0) return;
  const path = '/api/drafts';

  server.route({
    method: 'GET',
    path,
    options: { auth: strategy, plugins: { openApi: listDraftsOperation } },
    handler: async (request, h) => {
      requireUser(request);
      const query = readQuery(pageParameters, request.query, app);
      const { drafts, total } = await listUnsaved({ app, request }, query);
      return unstored(sendText(h, pageText(drafts, total, query)));
    },
  });
  if (app.model.collections.size > 0) subjectRoutes(server, app, `${path}/{slug}/{id}`);
  if (app.model.globals.size > 0) subjectRoutes(server, app, `${path}/globals/{slug}`);
}

function subjectRoutes(server: Server, app: App, path: string): void {
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
        const { data, ...shown } = await readUnsaved({ app, request }, subjectIn(app, request));
        // The data is sent as it was kept: it is not parsed.
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
        const change = readOwnDraft(await readBody(request, app.model.limits.body));
        const shown = await keepUnsaved({ app, request }, subject, change);
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
        return (await dropUnsaved({ app, request }, subjectIn(app, request))).view;
      },
    },
  ]);
}

/** Refuses callers who are not users, before anything is looked up or read. */
function admit(request: Request): void {
  requireUser(request);
  rejectQuery(request.query);
}

function tagged(h: ResponseToolkit, { revision }: UnsavedRevision, text: string) {
  return unstored(sendText(h, text).etag(`${revision}-draft`));
}
