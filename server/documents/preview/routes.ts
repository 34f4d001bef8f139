import type { Server } from '@hapi/hapi';
import { readDraft } from '../../../config/drafts.ts';
import { credentialNeeded } from '../../access/access.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { unstored } from '../../callers/vary.ts';
import { jsonPayload, readBody } from '../../http/body.ts';
import { actorOf } from '../../http/requests.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { answerOnce } from '../concurrency/answer-once.ts';
import { sendText } from '../read/sending.ts';
import { previewDataOperation, previewParameters, previewTokenOperation } from './operations.ts';
import { keepPreview, readPreview, requirePreviewer } from './preview.ts';
import { previewSeconds } from './tokens.ts';

/** Previews, shown to any caller who has the token (contract, section 4.6). */
export function preview(server: Server, app: App): void {
  const { model } = app;

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
