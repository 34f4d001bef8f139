import type { Request, Server } from '@hapi/hapi';
import type { Collection } from '../../../config/model.ts';
import { credentialNeeded, refuse, unlessFaulty } from '../../access/access.ts';
import { outsideScopes, requireScope } from '../../access/key-scopes.ts';
import type { App, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { actorOf, asOfFor, madeKeyOf } from '../../http/requests.ts';
import { readQuery } from '../../queries/parameters.ts';
import { readAsOf, readAsOfAny, tellPosition } from '../past/as-of.ts';
import { sendText } from '../read/sending.ts';
import { pageText } from '../read/serialize.ts';
import { type Bin, binOf, trashIn } from './finding.ts';
import { allTrashOperation, trashOperation } from './operations.ts';
import { trashParameters } from './parameters.ts';

/** The routes of the deleted documents of one collection, and of all. */
export function trash(server: Server, app: App): void {
  for (const target of app.collections.values()) routeOf(server, app, target);
  server.route({
    method: 'GET',
    path: '/api/trash',
    options: { auth: strategy, plugins: { openApi: () => allTrashOperation(app.model) } },
    handler: async (request, h) => {
      await readAsOfAny(app, request, [...app.collections.values()]);
      const bins = await binsOf(app, request);
      const query = readQuery(trashParameters, request.query, app);
      const { trashed, total } = await trashIn({ app, request }, bins, query);
      return tellPosition(request, sendText(h, pageText(trashed, total, query)));
    },
  });
}

function routeOf(server: Server, app: App, target: Target<Collection>): void {
  server.route({
    method: 'GET',
    path: `/api/collections/${target.slug}/trash`,
    options: { auth: strategy, plugins: { openApi: () => trashOperation(target.model) } },
    handler: async (request, h) => {
      const call = { app, request, target };
      requireScope(request, target.model, 'read');
      requireScope(request, target.model, 'delete');
      await readAsOf(app, request, target);
      const bin = await binOf(call);
      if (typeof bin === 'string') refuse(call, bin);
      const query = readQuery(trashParameters, request.query, app);
      const { trashed, total } = await trashIn({ app, request }, [bin], query);
      return tellPosition(request, sendText(h, pageText(trashed, total, query)));
    },
  });
}

/**
 * The trash of each collection of which the caller may see documents.
 *
 * @throws DomainError `unauthorized` if a caller without a credential may see none, `forbidden` if the scopes of an API
 * key include none.
 */
async function binsOf(app: App, request: Request): Promise<Bin[]> {
  const bins: Bin[] = [];
  const moment = asOfFor(request);
  for (const target of app.collections.values()) {
    if (moment?.scopeFor(target) === null) continue;
    const bin = await unlessFaulty({ app, request }, binOf({ app, request, target }), 'read');
    if (typeof bin !== 'string') bins.push(bin);
  }
  if (bins.length === 0 && actorOf(request).type === 'anonymous') throw credentialNeeded();
  if (bins.length === 0 && madeKeyOf(request)) throw outsideScopes('read and delete documents of a collection');
  return bins;
}
