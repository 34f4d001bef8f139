import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import { readKeyEnd } from '../../config/api-keys.ts';
import { compileMembers } from '../../config/documents.ts';
import { readKeyChange } from '../../config/signing-keys.ts';
import type { NoRule } from '../access/admission.ts';
import { revokeKey } from '../accounts/keys/manage.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { readCandidates } from '../files/blobs/candidates.ts';
import { readSuspects, recordLosses } from '../files/blobs/losses.ts';
import { noPayload, readBody } from '../http/body.ts';
import { actorOf, noRoute } from '../http/requests.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { changeKeyPath } from './engine/signing-keys.ts';
import { reloadPath } from './listener-swap.ts';
import { applyPath } from './nodes/up-to-date.ts';
import { accountCommands } from './operator-accounts.ts';

/** Adds the route of a command, whose answer is JSON. `body` reads the body, at most `maxBytes` of it. */
export type AddCommand = (path: string, run: (request: Request, body: Body) => Promise<object>) => void;

type Body = (maxBytes?: number) => Promise<unknown>;

const readAccepted = compileMembers<{ acceptLoss?: boolean }>({ acceptLoss: Joi.boolean() });

/** Enough for the longest list of candidates, independent of the configured limit of bodies. */
const maxCandidatesBytes = 64 * 1024;

/**
 * Routes for the operator's commands: on accounts, on files that are not needed or lost, on the key that signs, and on
 * the configuration. They are not part of the API: for other callers the paths do not exist, and bodies are not read.
 */
export function operator(
  server: Server,
  app: App & Pick<RouteParts, 'store' | 'reload' | 'applySchema' | 'changeKey'>,
): void {
  const add: AddCommand = (path, run) => {
    server.route({
      method: 'POST',
      path,
      options: { auth: strategy, payload: noPayload },
      handler: (request) => run(request, (maxBytes = app.model.limits.body) => bodyFor(request, maxBytes)),
    });
  };

  accountCommands(add, app);
  add('/api/operator/keys/revoke', async (request, body) => revokeKey({ app, request }, readKeyEnd(await body()).id));
  add('/api/operator/blobs/collect', async (_request, body) => {
    return app.pins.collect(readCandidates(await body(maxCandidatesBytes)));
  });
  add('/api/operator/blobs/losses', async (request, body) => {
    return recordLosses({ app, request }, readSuspects(await body(maxCandidatesBytes)));
  });
  add(reloadPath, async (_request, body) => {
    const { acceptLoss = false } = readAccepted(await body());
    return app.reload({ acceptsLoss: acceptLoss });
  });
  add(changeKeyPath, async (_request, body) => {
    const { way, reason } = readKeyChange(await body());
    return app.changeKey(way, reason);
  });
  add(applyPath, async (_request, body) => {
    const { acceptLoss = false } = readAccepted(await body());
    return app.applySchema({ acceptsLoss: acceptLoss });
  });
}

function bodyFor(request: Request, maxBytes: number): Promise<unknown> {
  if (actorOf(request).type !== 'system') throw noRoute(request);
  rejectQuery(request.query);
  request.app.rule = 'operator' satisfies NoRule;
  return readBody(request, maxBytes);
}
