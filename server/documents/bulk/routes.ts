import type { Request, Server, ServerRoute } from '@hapi/hapi';
import { invalidBody } from '../../../config/errors.ts';
import type { Collection, Model } from '../../../config/model.ts';
import { authorizeEither, requireCredential } from '../../access/access.ts';
import { requireScope } from '../../access/key-scopes.ts';
import type { App, Call, Target } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { requireLiving } from '../../callers/sessions.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { actorOf } from '../../http/requests.ts';
import type { ApiOperation } from '../../openapi/operation.ts';
import { isDraftAsked } from '../drafts/asking.ts';
import { countSignUp } from '../write/passwords.ts';
import { changeMany } from './change.ts';
import { createMany } from './create.ts';
import { writableOf } from './items.ts';
import { type ChangeKind, wayOf } from './kinds.ts';
import {
  createManyOperation,
  deleteManyOperation,
  discardManyOperation,
  publishManyOperation,
  unpublishManyOperation,
  updateManyOperation,
} from './operations.ts';
import { inBulkQueue } from './queue.ts';
import { readChange, readCreate } from './requests.ts';

/** How long a body may take, in milliseconds: it may have megabytes. */
const patience = 60_000;

/** The routes that write many documents of a collection at once. */
export function bulk(server: Server, app: App): void {
  for (const target of app.collections.values()) {
    if (target.model.upload) refuseFiles(server, target);
    else routesOf(server, app, target);
  }
}

function routesOf(server: Server, app: App, target: Target<Collection>): void {
  const { slug, model } = target;
  const path = `/api/collections/${slug}/bulk`;
  const writable = writableOf(app, target);

  /** Reads the body of a call. That may take a while, so the user is read again afterwards. */
  async function bodyOf(request: Request, maxBytes: number): Promise<unknown> {
    const body = await readBody(request, maxBytes, patience);
    requireLiving(app, request);
    request.app.user = null;
    return body;
  }

  server.route([
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: () => createManyOperation(app.model, model), takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        const call = { app, request, target };
        await authorizeWriter(call);
        return inBulkQueue(call, async (begin) => {
          const body = await bodyOf(request, app.model.limits.bulkBody);
          const wanted = readCreate(body, target);
          await begin();
          // Each is a sign-up.
          if (model.auth) for (const _ of wanted.docs) await countSignUp(call, 'create');
          return createMany({ ...call, h, writable, body }, wanted);
        });
      },
    },
    changeRoute('update', updateManyOperation),
    changeRoute('delete', deleteManyOperation),
    ...(target.lines
      ? [
          changeRoute('publish', publishManyOperation),
          changeRoute('unpublish', unpublishManyOperation),
          changeRoute('discard', discardManyOperation),
        ]
      : []),
  ]);

  function changeRoute(kind: ChangeKind, openApi: (model: Model, target: Collection) => ApiOperation): ServerRoute {
    return {
      method: 'POST',
      path: `${path}/${kind}`,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: () => openApi(app.model, model), takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        const call = { app, request, target };
        const { right, isDraft } = wayOf(call, kind);
        requireCredential(call, right);
        requireScope(request, model, right, isDraft);
        return inBulkQueue(call, async (begin) => {
          const body = await bodyOf(request, app.model.limits.body);
          const wanted = readChange(body, target, kind);
          await begin();
          return changeMany({ ...call, h, writable, body }, kind, wanted);
        });
      },
    };
  }
}

/**
 * Refuses a caller without a credential, or an API key, that may neither create nor change anything here, before
 * megabytes are read. A user is refused later, with the names of the documents.
 */
async function authorizeWriter(call: Call<Collection>): Promise<void> {
  requireCredential(call, 'create');
  if (actorOf(call.request).type === 'user') return;
  if (isDraftAsked(call)) return requireScope(call.request, call.target.model, 'create', true);
  // A caller may be allowed to change documents and not to create any.
  await authorizeEither(call, 'create', 'update');
}

/** The bulk routes of an upload collection, which refuse: each document comes with the bytes of its file. */
function refuseFiles(server: Server, { slug }: Target): void {
  server.route(
    ['bulk', 'bulk/update', 'bulk/delete'].map((path) => ({
      method: 'POST',
      path: `/api/collections/${slug}/${path}`,
      options: { auth: strategy, payload: noPayload },
      handler: () => {
        throw invalidBody('invalid', `${slug} holds files, which are written one by one`);
      },
    })),
  );
}
