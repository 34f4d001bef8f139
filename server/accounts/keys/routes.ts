import type { Request, Server } from '@hapi/hapi';
import { compileKeyRequest, readKeyRotation } from '../../../config/api-keys.ts';
import { requireKeyManager } from '../../access/key-management.ts';
import type { App } from '../../app.ts';
import { strategy } from '../../callers/authentication.ts';
import { unstored } from '../../callers/vary.ts';
import { sendText } from '../../documents/read/sending.ts';
import { pageText } from '../../documents/read/serialize.ts';
import { jsonPayload, noPayload, readBody } from '../../http/body.ts';
import { locationOf } from '../../http/location.ts';
import { noteReason } from '../../http/reason.ts';
import { idOf } from '../../http/requests.ts';
import { pageParameters } from '../../queries/pages.ts';
import { readQuery, rejectQuery } from '../../queries/parameters.ts';
import { listKeys, makeKey, revokeKey, rotateKey, showKey } from './manage.ts';
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
      options: { auth: strategy, payload: jsonPayload, plugins: { openApi: createKeyOperation } },
      handler: async (request, h) => {
        await admit(request);
        const asked = readKey(await readBody(request, app.model.limits.body), app.clock.believed());
        noteReason(request, null);
        const made = await makeKey({ app, request }, asked);
        return unstored(
          h
            .response(made)
            .code(201)
            .location(locationOf(app, `${path}/${made.id}`)),
        );
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
      options: { auth: strategy, payload: jsonPayload, plugins: { openApi: rotateKeyOperation } },
      handler: async (request, h) => {
        await admit(request);
        const body = await readBody(request, app.model.limits.body);
        const { overlapSeconds } = readKeyRotation(body === undefined ? {} : body);
        noteReason(request, null);
        return unstored(h.response(await rotateKey({ app, request }, idOf(request), overlapSeconds)));
      },
    },
  ]);

  async function admit(request: Request): Promise<void> {
    await requireKeyManager({ app, request });
    rejectQuery(request.query);
  }
}
