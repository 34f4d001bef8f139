import type { ServerRoute } from '@hapi/hapi';
import type { Collection } from '../../../config/model.ts';
import { readableDocument } from '../../access/document-access.ts';
import { readDrafts } from '../../access/draft-view.ts';
import { authorizeList, reachOf } from '../../access/list-scope.ts';
import { selectableOf } from '../../access/selectable.ts';
import type { App, Call, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { createCursors } from '../../queries/cursors.ts';
import { readDocumentView, readListQuery, viewsOf } from '../../queries/query.ts';
import { readTargetAhead } from '../outlook/reading.ts';
import { readAsOf, tellPosition } from '../past/as-of.ts';
import { pageOf } from './listing.ts';
import { sendRead, sendTexts } from './read-answers.ts';
import { listTexts, type Serializer, serializerFor } from './serialize.ts';
import { membersOf, membersToRead } from './view.ts';

/** A collection to read from, how its documents are shown, and the descriptions of the routes. */
type Readable = {
  app: App;
  target: Target<Collection>;
  present: Serializer;
  describe: { list: () => ApiOperation; read: () => ApiOperation };
};

/** The routes that list the documents of a collection and read one of them. */
export function readingRoutes(path: string, { app, target, present, describe }: Readable): ServerRoute[] {
  const { slug } = target;
  const cursors = createCursors(app.idempotencySecret);
  const views = viewsOf(app.model, target.model);
  // A wait costs each read as much as a look-up.
  const hasViews = Object.keys(views).length > 0;
  const presentIn = (ahead: Call | null) => (ahead ? serializerFor(ahead.app, ahead.target) : present);
  return [
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: describe.list } },
      handler: async (request, h) => {
        const ahead = hasViews ? await readTargetAhead(app, request, target) : null;
        const moment = ahead ? null : await readAsOf(app, request, target);
        const shown = target.model.drafts ? await readDrafts(app, request, target) : target;
        const call = ahead ?? { app, request, target: shown };
        const scope = await authorizeList(call);
        const query = await readListQuery(request.query, call.app, {
          reach: () => reachOf(call),
          selectable: () => selectableOf(call),
          views,
          placeOf: (cursor) => cursors.open(cursor, slug, request.query),
        });
        // A cursor keeps the position of the first page: a date of today names a later one by now.
        if (moment) moment.position = query.after?.position ?? moment.position;
        // A row rule, and the ranking of a search, need whole documents.
        const only = scope.row || query.search?.isRanked ? null : membersToRead(call, membersOf(query.view));
        const page = await pageOf(call, { ...query, only }, scope);
        const texts = await presentIn(ahead).texts(request, { texts: page.texts, only }, query.view);
        const mark = page.marks?.at(-1);
        const position = moment?.position ?? null;
        const next = page.hasNext && mark ? cursors.seal({ mark, position }, slug, request.query) : null;
        return tellPosition(request, sendTexts(h, listTexts(texts, page, { ...query, next })));
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: { auth: strategy, plugins: { openApi: describe.read } },
      handler: async (request, h) => {
        const ahead = hasViews ? await readTargetAhead(app, request, target) : null;
        const moment = ahead ? null : await readAsOf(app, request, target);
        const shown = target.model.drafts ? await readDrafts(app, request, target) : target;
        const call = ahead ?? { app, request, target: shown };
        const { text, version } = await readableDocument(call);
        const view = await readDocumentView(request.query, call.app, { selectable: () => selectableOf(call), views });
        const answer = await presentIn(ahead).text(request, text, view);
        const isDraft = call.target.view !== undefined;
        const isStored = moment === null && !ahead && !isDraft;
        const tag = present.tag(version, answer, { view, isStored, isDraft });
        return sendRead(h, answer, tag);
      },
    },
  ];
}
