import type { Request, ResponseToolkit, Server, ServerRoute } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import type { ReleaseOperation } from '../../../config/model.ts';
import { globalsCategory } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import { hasDrafts } from '../../../config/traits.ts';
import { requireReleases } from '../../access/release-rights.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { noteReason } from '../../http/reason.ts';
import { idOf } from '../../http/requests.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { inBulkQueue } from '../bulk/queue.ts';
import { sendText } from '../read/sending.ts';
import { pageText } from '../read/serialize.ts';
import { checkRelease } from './check.ts';
import {
  answerRelease,
  archiveRelease,
  changeRelease,
  createRelease,
  releasesPath as path,
  publishRelease,
  type ReleaseCall,
  removeItem,
  scheduleRelease,
  setItems,
  unscheduleRelease,
} from './manage.ts';
import * as operations from './operations.ts';
import { releaseParameters, statesOf } from './parameters.ts';
import { compileReleaseRequests } from './requests.ts';
import { listedView } from './views.ts';

/** How a route that changes releases is made: its right, and whether it has a body. */
type Route = {
  method: 'POST' | 'PATCH' | 'DELETE';
  end: string;
  right: ReleaseOperation;
  openApi: () => ApiOperation;
  hasBody?: true;
  run: (call: ReleaseCall) => Promise<object>;
};

/** The routes of releases; none without drafts. */
export function releases(server: Server, app: App): void {
  if (!hasDrafts(app.model)) return;
  const requests = compileReleaseRequests(app.model);
  const routes: Route[] = [
    {
      method: 'POST',
      end: '',
      right: 'create',
      openApi: operations.createReleaseOperation,
      hasBody: true,
      run: (call) =>
        inBulkQueue(call, async (begin) => {
          const asked = requests.newRelease(call.body);
          await begin();
          return createRelease(call, asked);
        }),
    },
    {
      method: 'PATCH',
      end: '/{id}',
      right: 'update',
      openApi: operations.changeReleaseOperation,
      hasBody: true,
      run: (call) => changeRelease(call, idOf(call.request), requests.change(call.body)),
    },
    {
      method: 'DELETE',
      end: '/{id}',
      right: 'delete',
      openApi: operations.archiveReleaseOperation,
      run: (call) => archiveRelease(call, idOf(call.request)),
    },
    {
      method: 'POST',
      end: '/{id}/items',
      right: 'update',
      openApi: operations.setItemsOperation,
      hasBody: true,
      run: (call) => setItems(call, idOf(call.request), requests.items(call.body).items),
    },
    {
      method: 'DELETE',
      end: '/{id}/items/{slug}/{document}',
      right: 'update',
      openApi: operations.removeItemOperation,
      run: (call) => removeItem(call, idOf(call.request), subjectIn(app, call.request)),
    },
    {
      method: 'POST',
      end: '/{id}/schedule',
      right: 'publish',
      openApi: operations.scheduleOperation,
      hasBody: true,
      run: (call) => scheduleRelease(call, idOf(call.request), requests.schedule(call.body)),
    },
    {
      method: 'POST',
      end: '/{id}/unschedule',
      right: 'publish',
      openApi: operations.unscheduleOperation,
      run: (call) => unscheduleRelease(call, idOf(call.request)),
    },
    {
      method: 'POST',
      end: '/{id}/publish',
      right: 'publish',
      openApi: operations.publishReleaseOperation,
      run: (call) =>
        inBulkQueue(call, async (begin) => {
          await begin();
          return publishRelease(call, idOf(call.request));
        }),
    },
  ];
  server.route([...readingRoutes(app), ...routes.map((route) => routeOf(app, route))]);
}

function routeOf(app: App, { method, end, right, openApi, hasBody, run }: Route): ServerRoute {
  const isNew = end === '';
  return {
    method,
    path: `${path}${end}`,
    options: {
      auth: strategy,
      payload: hasBody ? jsonPayload : noPayload,
      plugins: { openApi, takes: isNew ? ['idempotency-key'] : ['if-match', 'idempotency-key'] },
    },
    handler: async (request, h) => {
      await requireReleases({ app, request }, right);
      rejectQuery(request.query);
      const body = hasBody ? await readBody(request, app.model.limits.body) : null;
      requireLiving(app, request);
      noteReason(request, null);
      return run({ app, request, h, body });
    },
  };
}

/** The routes that record nothing. */
function readingRoutes(app: App): ServerRoute[] {
  const reading = (openApi: () => ApiOperation) => ({ auth: strategy, plugins: { openApi } });
  return [
    {
      method: 'GET',
      path,
      options: reading(operations.listReleasesOperation),
      handler: async (request, h) => {
        await requireReleases({ app, request }, 'read');
        const { state, from, to, ...asked } = readQuery(releaseParameters, request.query, app);
        const states = statesOf(state);
        const filter = { ...(states && { states }), ...(from !== null && { from }), ...(to !== null && { to }) };
        const { found, total } = app.releases.page(filter, asked);
        return sendText(
          h,
          pageText(
            found.map((release) => listedView(app, release)),
            total,
            asked,
          ),
        );
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: reading(operations.readReleaseOperation),
      handler: async (request, h) => {
        await admitReader(app, request);
        return answerRelease({ app, request, h }, idOf(request));
      },
    },
    {
      method: 'POST',
      path: `${path}/{id}/check`,
      options: { ...reading(operations.checkOperation), payload: noPayload },
      handler: async (request: Request, h: ResponseToolkit) => {
        await admitReader(app, request);
        return checkRelease({ app, request, h }, idOf(request));
      },
    },
  ];
}

async function admitReader(app: App, request: Request): Promise<void> {
  await requireReleases({ app, request }, 'read');
  rejectQuery(request.query);
}

function subjectIn({ names, globals, collections }: App, { params }: Request) {
  const slug = String(params.slug);
  const id = String(params.document);
  if (slug === globalsCategory && globals.has(id)) return { category: globalsCategory, id };
  if (collections.has(slug)) return { category: names.categoryFor(slug), id };
  throw new DomainError('not_found', `there is no ${show(`${slug}/${id}`)}`);
}
