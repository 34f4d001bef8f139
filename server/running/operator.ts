import type { Request, Server } from '@hapi/hapi';
import { normalEmail } from '../../config/addresses.ts';
import { readKeyEnd } from '../../config/api-keys.ts';
import { readRevocation, readUnlock } from '../../config/credentials.ts';
import { compileMembers } from '../../config/documents.ts';
import { DomainError, invalidField } from '../../config/errors.ts';
import { readKeyChange } from '../../config/signing-keys.ts';
import { didYouMean, show } from '../../config/suggest.ts';
import { decideRevoke, decideUnlock } from '../../events/accounts.ts';
import type { NoRule } from '../access/admission.ts';
import { revokeKey } from '../accounts/keys/manage.ts';
import { record } from '../accounts/record.ts';
import type { App, RouteParts } from '../app.ts';
import { strategy } from '../callers/authentication.ts';
import { authTargets, userWith } from '../callers/sessions.ts';
import { readCandidates } from '../files/blobs/collector.ts';
import { readSuspects, recordLosses } from '../files/blobs/losses.ts';
import { noPayload, readBody } from '../http/body.ts';
import { actorOf, noRoute } from '../http/requests.ts';
import { rejectQuery } from '../queries/parameters.ts';
import { applyPath } from './nodes/up-to-date.ts';
import { reloadPath } from './served.ts';
import { changeKeyPath } from './signing-keys.ts';

const readNothing = compileMembers<object>({});

/** Enough for the longest list of candidates, independent of the configured limit of bodies. */
const maxCandidatesBytes = 64 * 1024;

/**
 * Routes for the operator's commands: on accounts, on files that are not needed or lost, on the key that signs, and on the configuration.
 * They are not part of the API: for other callers the paths do not exist, and bodies are not read.
 */
export function operator(
  server: Server,
  app: App & Pick<RouteParts, 'store' | 'reload' | 'applySchema' | 'changeKey'>,
): void {
  const targets = new Map(authTargets(app).map((target) => [target.slug, target]));

  post('/api/operator/unlock', async (request) => {
    const { collection, email } = readUnlock(await bodyFor(request));
    const user = find(collection, email);
    if (!(await app.passwords.unlock(user.slug, email))) {
      throw new DomainError('conflict', `${show(email)} is not locked, and no failed login is counted`);
    }
    await record({ app, request }, decideUnlock(user));
    return { id: user.id };
  });

  post('/api/operator/sessions/revoke', async (request) => {
    const { collection, email, sid = null } = readRevocation(await bodyFor(request));
    const user = find(collection, email);
    const ended = app.accounts
      .sessions(user.slug, user.id)
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
    readNothing(await bodyFor(request));
    return app.reload();
  });

  post(changeKeyPath, async (request) => {
    const { way, reason } = readKeyChange(await bodyFor(request));
    return app.changeKey(way, reason);
  });

  post(applyPath, async (request) => {
    readNothing(await bodyFor(request));
    return app.applySchema();
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

  function find(slug: string, email: string): { slug: string; id: string } {
    const target = targets.get(slug);
    if (!target) {
      throw invalidField('collection', `must be one with auth, got ${show(slug)}${didYouMean(slug, targets.keys())}`);
    }
    const id = userWith(target, normalEmail(email));
    if (id === null) throw new DomainError('not-found', `there is no account ${show(email)} in ${slug}`);
    return { slug, id };
  }
}
