import type { Request, Server } from '@hapi/hapi';
import Joi from 'joi';
import { readKeyEnd } from '../../config/api-keys.ts';
import { readNewPassword, readRevocation, readUnlock, readUsersAsked } from '../../config/credentials.ts';
import { compileMembers } from '../../config/documents.ts';
import { DomainError, invalidField } from '../../config/errors.ts';
import { readKeyChange } from '../../config/signing-keys.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import { type AccountRef, decideRevoke, decideUnlock } from '../../events/facts/accounts.ts';
import type { NoRule } from '../access/admission.ts';
import { revokeKey } from '../accounts/keys/manage.ts';
import { listedUsers } from '../accounts/listed-users.ts';
import { record } from '../accounts/record.ts';
import { accountCalled, setPassword } from '../accounts/set-password.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { type AuthTarget, authTargets } from '../callers/sessions.ts';
import { readCandidates } from '../files/blobs/candidates.ts';
import { readSuspects, recordLosses } from '../files/blobs/losses.ts';
import { noPayload, readBody } from '../http/body.ts';
import { actorOf, noRoute } from '../http/requests.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { reloadPath } from './listener-swap.ts';
import { applyPath } from './nodes/up-to-date.ts';
import { changeKeyPath } from './signing-keys.ts';

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
  const targets = new Map(authTargets(app).map((target) => [target.slug, target]));

  post('/api/operator/unlock', async (request) => {
    const { collection, email } = readUnlock(await bodyFor(request));
    const user = find(collection, email);
    if (!(await app.passwords.unlock(user.category, email))) {
      throw new DomainError('conflict', `${show(email)} is not locked, and no failed login is counted`);
    }
    await record({ app, request }, decideUnlock(user));
    return { id: user.id };
  });

  post('/api/operator/set-password', async (request) => {
    const { collection, email, password } = readNewPassword(await bodyFor(request));
    return setPassword({ app, request, target: targetCalled(collection) }, { email, password });
  });

  post('/api/operator/users', async (request) => {
    const { collection, after = null } = readUsersAsked(await bodyFor(request));
    return listedUsers(app, targetCalled(collection), after);
  });

  post('/api/operator/sessions/revoke', async (request) => {
    const { collection, email, sid = null } = readRevocation(await bodyFor(request));
    const user = find(collection, email);
    const ended = app.accounts
      .sessions(user.category, user.id)
      .filter((session) => session.expiresAt > app.clock.believed() && (sid === null || session.sid === sid));
    if (sid !== null && ended.length === 0) {
      throw new DomainError('not-found', `${show(email)} has no session ${show(sid)}`);
    }
    if (ended.length > 0) await record({ app, request }, decideRevoke(user, sid));
    return { id: user.id, ended: ended.length };
  });

  post('/api/operator/keys/revoke', async (request) => {
    return revokeKey({ app, request }, readKeyEnd(await bodyFor(request)).id);
  });

  post('/api/operator/blobs/collect', async (request) => {
    return app.pins.collect(readCandidates(await bodyFor(request, maxCandidatesBytes)));
  });

  post('/api/operator/blobs/losses', async (request) => {
    return recordLosses({ app, request }, readSuspects(await bodyFor(request, maxCandidatesBytes)));
  });

  post(reloadPath, async (request) => {
    const { acceptLoss = false } = readAccepted(await bodyFor(request));
    return app.reload({ acceptsLoss: acceptLoss });
  });

  post(changeKeyPath, async (request) => {
    const { way, reason } = readKeyChange(await bodyFor(request));
    return app.changeKey(way, reason);
  });

  post(applyPath, async (request) => {
    const { acceptLoss = false } = readAccepted(await bodyFor(request));
    return app.applySchema({ acceptsLoss: acceptLoss });
  });

  function post(path: string, handler: (request: Request) => Promise<object>): void {
    server.route({ method: 'POST', path, options: { auth: strategy, payload: noPayload }, handler });
  }

  function bodyFor(request: Request, maxBytes = app.model.limits.body): Promise<unknown> {
    if (actorOf(request).type !== 'system') throw noRoute(request);
    rejectQuery(request.query);
    request.app.rule = 'operator' satisfies NoRule;
    return readBody(request, maxBytes);
  }

  function targetCalled(slug: string): AuthTarget {
    const target = targets.get(slug);
    if (target) return target;
    throw invalidField('collection', `must be one with auth, got ${show(slug)}${didYouMean(slug, targets.keys())}`);
  }

  function find(slug: string, email: string): AccountRef {
    const target = targetCalled(slug);
    return { category: target.category, id: accountCalled(target, email) };
  }
}
