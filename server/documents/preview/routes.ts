import type { Request, ResponseObject, ResponseToolkit, Server, ServerRoute } from '@hapi/hapi';
import { readDraft } from '../../../config/drafts.ts';
import { isObject } from '../../../config/schema.ts';
import { hasDrafts } from '../../../config/traits.ts';
import { credentialNeeded } from '../../access/access.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { unstored } from '../../callers/vary.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { actorOf, idOf } from '../../http/requests.ts';
import { pageParameters } from '../../queries/pages.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { answerOnce } from '../concurrency/answer-once.ts';
import { readViewRequest } from '../outlook/requests.ts';
import { makeToken, revokeToken, tokensOf } from '../outlook/tokens.ts';
import { sendText } from '../read/sending.ts';
import { pageText } from '../read/serialize.ts';
import {
  previewDataOperation,
  previewParameters,
  previewTokenOperation,
  previewTokensOperation,
  revokePreviewTokenOperation,
} from './operations.ts';
import { keepPreview, readPreview, requirePreviewer } from './preview.ts';
import { previewSeconds } from './tokens.ts';

/** Previews, shown to any caller who has the token (contract, section 4.6). */
export function preview(server: Server, app: App): void {
  const { model } = app;
  const showsViews = hasDrafts(model);
  if (showsViews) server.route(tokenRoutes(app));

  server.route([
    {
      method: 'POST',
      path: '/api/preview-token',
      options: {
        auth: strategy,
        plugins: { openApi: () => previewTokenOperation(model), neverShed: true, takes: ['idempotency-key'] },
        payload: jsonPayload,
      },
      handler: async (request, h) => {
        // Before the body is read. A credential is needed even if a rule lets everybody write.
        if (actorOf(request).type === 'anonymous') throw credentialNeeded();
        rejectQuery(request.query);
        const body = await readBody(request, model.limits.body);
        if (showsViews && isObject(body) && body.view !== undefined) return viewToken({ app, request, h, body });
        const preview = readDraft(body);
        const call = await requirePreviewer({ app, request }, preview);
        const keep = async () => ({ body: { token: await keepPreview(call, preview) } });
        return unstored(await answerOnce({ app, request, h, body }, keep, { seconds: previewSeconds }));
      },
    },
    {
      method: 'GET',
      path: '/api/preview-data',
      options: { auth: strategy, plugins: { openApi: previewDataOperation } },
      handler: async (request, h) => {
        const { token } = readQuery(previewParameters, request.query, app);
        const { collection, document, data } = await readPreview(app, token);
        const named = JSON.stringify({ collection, id: document }).slice(0, -1);
        return unstored(sendText(h, `${named},"data":${data}}`));
      },
    },
  ]);
}

/** Makes a token that shows a view of the site. An answer with it is given again under an idempotency key of chance. */
async function viewToken(call: {
  app: App;
  request: Request;
  h: ResponseToolkit;
  body: unknown;
}): Promise<ResponseObject> {
  const asked = readViewRequest(call.body);
  const make = async () => ({ body: await makeToken(call, asked) });
  return unstored(await answerOnce(call, make, { hasSecret: true }));
}

/** The routes that list tokens of views, and take one away. */
function tokenRoutes(app: App): ServerRoute[] {
  return [
    {
      method: 'GET',
      path: '/api/preview-tokens',
      options: { auth: strategy, plugins: { openApi: previewTokensOperation } },
      handler: async (request, h) => {
        if (actorOf(request).type === 'anonymous') throw credentialNeeded();
        const asked = readQuery(pageParameters, request.query, app);
        const { limit, page } = asked;
        const all = await tokensOf({ app, request });
        const shown = limit < 0 ? all : all.slice((page - 1) * limit, page * limit);
        return sendText(h, pageText(shown, all.length, asked));
      },
    },
    {
      method: 'DELETE',
      path: '/api/preview-tokens/{id}',
      options: { auth: strategy, payload: noPayload, plugins: { openApi: revokePreviewTokenOperation } },
      handler: async (request) => {
        if (actorOf(request).type === 'anonymous') throw credentialNeeded();
        rejectQuery(request.query);
        return revokeToken({ app, request }, idOf(request));
      },
    },
  ];
}
