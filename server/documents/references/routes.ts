import type { Server } from '@hapi/hapi';
import type { Collection } from '../../../config/model.ts';
import { readableDocument } from '../../access/document-access.ts';
import { readDrafts, readDraftsOfAny } from '../../access/draft-view.ts';
import type { App, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { idOf } from '../../http/requests.ts';
import { readQuery } from '../../queries/parameters.ts';
import { draftViewParameter } from '../../queries/query.ts';
import { readAsOf, tellPosition } from '../past/as-of.ts';
import { sendText } from '../read/sending.ts';
import { pageText } from '../read/serialize.ts';
import { mayHaveDrafts, referencesTo } from './finding.ts';
import { referencesOperation } from './operations.ts';
import { referenceParameters } from './parameters.ts';

/** The routes that list the references to a document. */
export function references(server: Server, app: App): void {
  for (const target of app.collections.values()) routeOf(server, app, target);
}

function routeOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, model } = target;
  const hasDrafts = mayHaveDrafts(app, target);
  server.route({
    method: 'GET',
    path: `/api/collections/${slug}/{id}/references`,
    options: { auth: strategy, plugins: { openApi: () => referencesOperation(model, hasDrafts) } },
    handler: async (request, h) => {
      await readAsOf(app, request, target);
      const named = await readDrafts(app, request, target);
      if (hasDrafts && !model.drafts) await readDraftsOfAny(app, request);
      await readableDocument({ app, request, target: named });
      const query = readQuery(
        hasDrafts ? { ...referenceParameters, ...draftViewParameter } : referenceParameters,
        request.query,
        app,
      );
      const found = await referencesTo({ app, request }, { slug, id: idOf(request) }, query);
      return tellPosition(request, sendText(h, pageText(found.references, found.total, query)));
    },
  });
}
