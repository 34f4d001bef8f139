import type { Request, Server } from '@hapi/hapi';
import { compileKeyRequest, readKeyRotation } from '../../../config/api-keys.ts';
import { requireGrantable } from '../../access/key-grants.ts';
import { requireKeyManager } from '../../access/key-management.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { unstored } from '../../callers/vary.ts';
import { answerOnce } from '../../documents/concurrency/answer-once.ts';
import { sendText } from '../../documents/read/sending.ts';
import { pageText } from '../../documents/read/serialize.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { locationOf } from '../../http/location.ts';
import { noteReason } from '../../http/reason.ts';
import { idOf } from '../../http/requests.ts';
import { pageParameters } from '../../queries/pages.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { listKeys, makeKey, requireRotatable, revokeKey, rotateKey, showKey } from './manage.ts';
import {
  createKeyOperation,
  listKeysOperation,
  readKeyOperation,
  revokeKeyOperation,
  rotateKeyOperation,
} from './operations.ts';

/** The API keys that are made at run time, for callers who manage keys. */
export function apiKeys(server: Server, app: App): void {
  const readKey = compileKeyRequest(app.model);
  const path = '/api/keys';

  server.route([
    {
      method: 'GET',
      path,
      options: { auth: strategy, plugins: { openApi: listKeysOperation } },
      handler: async (request, h) => {
        await requireKeyManager({ app, request });
        const query = readQuery(pageParameters, request.query, app);
        const { keys, total } = await listKeys({ app, request }, query);
        return sendText(h, pageText(keys, total, query));
      },
    },
    {
      method: 'GET',
      path: `${path}/{id}`,
      options: { auth: strategy, plugins: { openApi: readKeyOperation } },
      handler: async (request) => {
        await admit(request);
        return showKey({ app, request }, idOf(request));
      },
    },
    {
      method: 'POST',
      path,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: createKeyOperation, takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        await admit(request);
        const body = await readBody(request, app.model.limits.body);
        const asked = readKey(body, app.clock.believed());
        noteReason(request, null);
        const make = async (app: App) => {
          const made = await makeKey({ app, request }, asked);
          return { status: 201, body: made, location: locationOf(app, `${path}/${made.id}`) };
        };
        const again = () => requireGrantable({ app, request }, asked);
        return unstored(await answerOnce({ app, request, h, body }, make, { again, hasSecret: true }));
      },
    },
    {
      method: 'DELETE',
      path: `${path}/{id}`,
      options: { auth: strategy, payload: noPayload, plugins: { openApi: revokeKeyOperation } },
      handler: async (request) => {
        await admit(request);
        noteReason(request, null);
        return revokeKey({ app, request }, idOf(request));
      },
    },
    {
      method: 'POST',
      path: `${path}/{id}/rotate`,
      options: {
        auth: strategy,
        payload: jsonPayload,
        plugins: { openApi: rotateKeyOperation, takes: ['idempotency-key'] },
      },
      handler: async (request, h) => {
        await admit(request);
        const body = await readBody(request, app.model.limits.body);
        const { overlapSeconds } = readKeyRotation(body === undefined ? {} : body);
        noteReason(request, null);
        const id = idOf(request);
        const rotate = async (app: App) => ({ body: await rotateKey({ app, request }, id, overlapSeconds) });
        const again = () => requireRotatable({ app, request }, id);
        return unstored(await answerOnce({ app, request, h, body }, rotate, { again, hasSecret: true }));
      },
    },
  ]);

  async function admit(request: Request): Promise<void> {
    await requireKeyManager({ app, request });
    rejectQuery(request.query);
  }
}
