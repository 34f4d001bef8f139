import type { Request, Server } from '@hapi/hapi';
import type { Collection } from '../../config/model.ts';
import { inView, readDrafts, readDraftsOfAny } from '../access/draft-view.ts';
import { authorizeList, reachOf, scopeOfRelated } from '../access/list-scope.ts';
import type { App, Target } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import { readQuery } from '../queries/parameters.ts';
import { momentParameter, readCountQuery, viewsOf } from '../queries/query.ts';
import { countOperation, countsOperation } from './count-operations.ts';
import { readAhead, readTargetAhead } from './outlook/reading.ts';
import { readAsOf, readAsOfAny, tellPosition } from './past/as-of.ts';
import { countOf } from './read/listing.ts';
import { sendText } from './read/sending.ts';

/** The routes that count the documents that a caller may see: in a list, and in every collection. */
export function counts(server: Server, app: App): void {
  for (const target of app.collections.values()) countRoute(server, app, target);
  const parameters = { ...momentParameter, ...viewsOf(app.model, ...app.model.collections.values()) };
  server.route({
    method: 'GET',
    path: '/api/counts',
    options: { auth: strategy, plugins: { openApi: () => countsOperation(app.model) } },
    handler: async (request, h) => {
      const ahead = await readAhead(app, request);
      if (!ahead) await readAsOfAny(app, request, [...app.collections.values()]);
      if (!ahead) await readDraftsOfAny(app, request);
      readQuery(parameters, request.query, ahead ?? app);
      const collections = await allCounts(ahead ?? app, request);
      return tellPosition(request, sendText(h, JSON.stringify({ collections })));
    },
  });
}

function countRoute(server: Server, app: App, target: Target<Collection>): void {
  const views = viewsOf(app.model, target.model);
  server.route({
    method: 'GET',
    path: `/api/collections/${target.slug}/count`,
    options: { auth: strategy, plugins: { openApi: () => countOperation(app.model, target.model) } },
    handler: async (request, h) => {
      const ahead = await readTargetAhead(app, request, target);
      if (!ahead) await readAsOf(app, request, target);
      const call = ahead ?? { app, request, target: await readDrafts(app, request, target) };
      const scope = await authorizeList(call);
      const asked = await readCountQuery(request.query, call.app, {
        reach: () => reachOf(call),
        views,
      });
      return tellPosition(request, sendText(h, JSON.stringify({ total: await countOf(call, asked, scope) })));
    },
  });
}

/** The count of each collection in which the caller may see documents. */
async function allCounts(app: App, request: Request): Promise<AnswerOf<'Counts'>['collections']> {
  const totals: AnswerOf<'Counts'>['collections'] = {};
  for (const target of app.collections.values()) {
    const call = { app, request, target: await inView({ app, request }, target) };
    const scope = await scopeOfRelated(call);
    if (scope) totals[target.slug] = { total: await countOf(call, { where: null, terms: null }, scope) };
  }
  return totals;
}
