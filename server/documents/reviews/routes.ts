import type { ResponseObject, ResponseToolkit, Server, ServerRoute } from '@hapi/hapi';
import { requireCredential } from '../../access/access.ts';
import type { Right } from '../../access/rules.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { pageParameters } from '../../queries/pages.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { sendText } from '../read/sending.ts';
import { pageText } from '../read/serialize.ts';
import { perform, type Writable, type Write, writeOf } from '../write/write-steps.ts';
import { readRefusal, readRequest } from './bodies.ts';
import { openReviewsOf } from './listing.ts';
import {
  listReviewsOperation,
  refuseReviewOperation,
  requestReviewOperation,
  withdrawReviewOperation,
} from './operations.ts';
import { refuseReview, requestReview, withdrawReview } from './reviewing.ts';

/** The route that lists the open requests for review, if there are drafts. */
export function reviews(server: Server, app: App): void {
  const targets = [...app.collections.values(), ...app.globals.values()];
  if (!targets.some(({ lines }) => lines)) return;
  server.route({
    method: 'GET',
    path: '/api/reviews',
    options: { auth: strategy, plugins: { openApi: () => listReviewsOperation(app.model) } },
    handler: async (request, h) => {
      const query = readQuery(pageParameters, request.query, app);
      const { reviews, total } = await openReviewsOf({ app, request }, query);
      return sendText(h, pageText(reviews, total, query));
    },
  });
}

/** The routes that request, withdraw and refuse a review of a document or global. None without drafts. */
export function reviewRoutes(path: string, writable: Writable): ServerRoute[] {
  const { app, target } = writable;
  if (!target.lines) return [];
  const { model } = target;
  return [
    {
      method: 'POST',
      path: `${path}/review`,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: () => requestReviewOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
      },
      handler: async (_request, h) => {
        const body = await bodyOf(writable, h, 'update');
        return performed(writable, h, { body, right: 'update' }, (write) => {
          return requestReview(write, readRequest(app, model, body));
        });
      },
    },
    {
      method: 'DELETE',
      path: `${path}/review`,
      options: {
        auth: strategy,
        payload: noPayload,
        plugins: { openApi: () => withdrawReviewOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
      },
      handler: async (_request, h) => performed(writable, h, { body: null, right: 'readDrafts' }, withdrawReview),
    },
    {
      method: 'POST',
      path: `${path}/review/refuse`,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: () => refuseReviewOperation(app.model, model), takes: ['if-match', 'idempotency-key'] },
      },
      handler: async (_request, h) => {
        const body = await bodyOf(writable, h, 'publish');
        return performed(writable, h, { body, right: 'publish' }, (write) => refuseReview(write, readRefusal(body)));
      },
    },
  ];
}

function performed(
  writable: Writable,
  h: ResponseToolkit,
  { body, right }: { body: unknown; right: Right },
  run: (write: Write) => Promise<ResponseObject>,
): Promise<ResponseObject> {
  requireCredential({ request: h.request, target: writable.target }, right);
  rejectQuery(h.request.query);
  const lines = { addressed: 'draft', answered: 'draft', right } as const;
  return perform(writeOf(writable, h, { operation: 'update', body, upload: null, data: null, lines }), run);
}

/** @throws DomainError `unauthorized` before the body is read, if a credential is needed. */
function bodyOf({ app, target }: Writable, { request }: ResponseToolkit, right: Right): Promise<unknown> {
  requireCredential({ request, target }, right);
  return readBody(request, app.model.limits.body);
}
