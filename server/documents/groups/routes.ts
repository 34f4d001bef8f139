import type { Request, Server } from '@hapi/hapi';
import { type DomainError, inQuery, invalidField } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import { type GroupRequest, type Groups, TooManyCombinationsError } from '../../../projections/query/groups.ts';
import { idIn } from '../../../projections/query/lists.ts';
import { readDrafts } from '../../access/draft-view.ts';
import { authorizeList, type ListScope, plainReachOf } from '../../access/list-scope.ts';
import type { App, Call, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { type GroupQuery, readAggregateQuery, readDistinctQuery } from '../../queries/groups.ts';
import { readAsOf, tellPosition } from '../past/as-of.ts';
import { allPassing } from '../read/listing.ts';
import { readMany } from '../read/reading.ts';
import { sendText } from '../read/sending.ts';
import { aggregateAnswer, distinctAnswer } from './answers.ts';
import { aggregateOperation, distinctOperation } from './operations.ts';

/** The routes of figures about the documents of a collection that a caller may see. */
export function groups(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, model } = target;
  const path = `/api/collections/${slug}`;

  async function answer(
    request: Request,
    read: typeof readAggregateQuery,
    shape: typeof aggregateAnswer | typeof distinctAnswer,
  ) {
    await readAsOf(app, request, target);
    const call = { app, request, target: await readDrafts(app, request, target) };
    const scope = await authorizeList(call);
    const query = await read(request.query, app, { reach: await plainReachOf(call), hasDrafts: model.drafts !== null });
    const groups = await groupsOf(call, query, scope).catch((error: unknown) => {
      throw error instanceof TooManyCombinationsError
        ? tooMany(read === readAggregateQuery ? 'groupBy' : 'field')
        : error;
    });
    return JSON.stringify(shape(query, groups));
  }

  server.route([
    {
      method: 'GET',
      path: `${path}/aggregate`,
      options: { auth: strategy, plugins: { openApi: () => aggregateOperation(model) } },
      handler: async (request, h) => {
        return tellPosition(request, sendText(h, await answer(request, readAggregateQuery, aggregateAnswer)));
      },
    },
    {
      method: 'GET',
      path: `${path}/distinct`,
      options: { auth: strategy, plugins: { openApi: () => distinctOperation(model) } },
      handler: async (request, h) => {
        return tellPosition(request, sendText(h, await answer(request, readDistinctQuery, distinctAnswer)));
      },
    },
  ]);
}

function tooMany(field: string): DomainError {
  const problem =
    'leads through lists with too many combinations of their items: name fewer of them, or narrow it by where';
  return invalidField(inQuery(field, 'too_expensive'), problem);
}

async function groupsOf(call: Call, query: GroupQuery, { where: allowed, row }: ListScope): Promise<Groups> {
  const where = allowed && query.where ? { and: [allowed, query.where] } : (allowed ?? query.where);
  const written = { where: query.where };
  // Only what is asked: the fields may have rules and hooks, which no other thread can get.
  const asked = {
    ...query,
    keys: query.keys.map(({ steps, leaf, part }) => ({ steps, leaf, part })),
    measures: query.measures.map(({ steps, leaf, kind }) => ({ steps, leaf, kind })),
  };
  const groups = (request: GroupRequest) => readMany(call, { kind: 'groups', request }, written);
  if (!row) return groups({ ...asked, where, ids: null });
  // A rule that looks at the document cannot be part of a query.
  const texts = await allPassing(call, { where, sort: [] }, { row, written });
  return groups({ ...asked, where: null, ids: texts.map(idIn) });
}
