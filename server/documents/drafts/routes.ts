import type { ResponseObject, ResponseToolkit, ServerRoute } from '@hapi/hapi';
import { requireCredential } from '../../access/access.ts';
import type { Right } from '../../access/rules.ts';
import { strategy } from '../../callers/authentication.ts';
import { jsonPayload, readBody } from '../../http/body.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { refuseDryRunIn } from '../../queries/dry-run.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { dryRunParameter } from '../../queries/query.ts';
import { isPlan, planDocument } from '../releases/planning.ts';
import { perform, type Writable, type Write, type WrittenLines, writeOf } from '../write/write-steps.ts';
import { publish } from './publishing.ts';
import { tryPublication } from './trying.ts';
import { readPublication, refuseMembers } from './wanted.ts';
import { discard, unpublish } from './withdrawing.ts';

/** The descriptions of the routes; a global has no `unpublish`, since it is always public. */
type Descriptions = {
  publish: () => ApiOperation;
  discard: () => ApiOperation;
  unpublish?: () => ApiOperation;
};

/** The routes that publish drafts and discard them. None without drafts. */
export function draftRoutes(path: string, writable: Writable, describe: Descriptions): ServerRoute[] {
  if (!writable.target.lines) return [];
  const route = (name: string, openApi: () => ApiOperation, handler: (h: ResponseToolkit) => Promise<ResponseObject>) =>
    ({
      method: 'POST',
      path: `${path}/${name}`,
      options: { auth: strategy, payload: jsonPayload, plugins: { openApi, takes: ['if-match', 'idempotency-key'] } },
      handler: (_request, h) => handler(h),
    }) satisfies ServerRoute;
  return [
    route('publish', describe.publish, (h) => publishing(writable, h)),
    route('discard', describe.discard, (h) => {
      return withdrawing(writable, h, { addressed: 'draft', answered: 'draft', right: 'update', run: discard });
    }),
    ...(describe.unpublish
      ? [
          route('unpublish', describe.unpublish, (h) => {
            return withdrawing(writable, h, {
              addressed: 'public',
              answered: 'draft',
              right: 'publish',
              run: unpublish,
            });
          }),
        ]
      : []),
  ];
}

async function publishing(writable: Writable, h: ResponseToolkit): Promise<ResponseObject> {
  const { app } = writable;
  const { request } = h;
  const body = await bodyOf(writable, h, 'publish');
  if (isPlan(body)) return planDocument({ ...writable, request, h, body }, 'publish');
  refuseDryRunIn(body);
  const wanted = readPublication(body);
  const { dryRun: isDry } = readQuery(dryRunParameter, request.query, app);
  const lines = { addressed: 'draft', answered: 'public', right: 'publish' } as const;
  const write = writeOf(writable, h, { operation: 'update', body, upload: null, data: wanted.data, lines });
  return isDry ? tryPublication(write, wanted) : perform(write, () => publish(write, wanted));
}

async function withdrawing(
  writable: Writable,
  h: ResponseToolkit,
  { run, ...lines }: WrittenLines & { run: (write: Write) => Promise<ResponseObject> },
): Promise<ResponseObject> {
  const body = await bodyOf(writable, h, lines.right);
  if (run === unpublish && isPlan(body)) return planDocument({ ...writable, request: h.request, h, body }, 'unpublish');
  refuseMembers(body);
  rejectQuery(h.request.query);
  return perform(writeOf(writable, h, { operation: 'update', body, upload: null, data: null, lines }), run);
}

/** @throws DomainError `unauthorized` before the body is read, if a credential is needed. */
function bodyOf({ app, target }: Writable, { request }: ResponseToolkit, right: Right): Promise<unknown> {
  requireCredential({ request, target }, right);
  return readBody(request, app.model.limits.body);
}
