import type { Request, Server } from '@hapi/hapi';
import { type DomainError, invalidField } from '../../../config/errors.ts';
import type { Collection } from '../../../config/model.ts';
import { type Groups, TooManyCombinationsError } from '../../../projections/groups.ts';
import { idIn, type ListRequest } from '../../../projections/lists.ts';
import { authorizeList, type ListScope, plainReachOf } from '../../access/list-scope.ts';
import type { App, Call, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import type { AsOf } from '../../http/requests.ts';
import { type GroupQuery, readAggregateQuery, readDistinctQuery } from '../../queries/groups.ts';
import { readAsOf, tellPosition } from '../past/as-of.ts';
import { sendText } from '../sending.ts';
import { aggregateAnswer, distinctAnswer } from './answers.ts';
import { aggregateOperation, distinctOperation } from './operations.ts';

/** Figures about the documents of every collection that a caller may see. */
export function groups(server: Server, app: App): void {
  for (const target of app.collections.values()) routesOf(server, app, target);
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, model } = target;
  const path = `/api/collections/${slug}`;

  async function answer(request: Request, read: typeof readAggregateQuery, shape: typeof aggregateAnswer) {
    const call = { app, request, target };
    const moment = await readAsOf(app, request, target);
    const scope = await authorizeList(call);
    const query = await read(request.query, app, await plainReachOf(call));
    const groups = await groupsOf(call, query, { scope, moment }).catch((error: unknown) => {
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
  return invalidField(field, problem);
}

type Seen = { scope: ListScope; moment: AsOf | null };

async function groupsOf({ app, target }: Call, query: GroupQuery, { scope, moment }: Seen): Promise<Groups> {
  const { where: allowed, row } = scope;
  const where = allowed && query.where ? { and: [allowed, query.where] } : (allowed ?? query.where);
  const { tables, documents } = target;
  const asked = { ...query, where, ids: null };
  if (!row) return moment ? app.past.groups(moment.position, tables, asked) : documents.groups(asked);
  // A rule that looks at each document cannot be part of a query.
  const all: ListRequest = { where, sort: [], limit: -1, page: 1 };
  const { texts } = moment ? await app.past.list(moment.position, tables, all) : documents.list(all);
  const ids: string[] = [];
  for (const text of texts) if (await row(JSON.parse(text))) ids.push(idIn(text));
  const some = { ...query, where: null, ids };
  return moment ? app.past.groups(moment.position, tables, some) : documents.groups(some);
}
