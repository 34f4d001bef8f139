import { DomainError } from '../../config/errors.ts';
import type { ReleaseOperation } from '../../config/model.ts';
import type { RouteCall } from '../app.ts';
import { actorOf, madeKeyOf, userOf, viewOf } from '../http/requests.ts';
import { credentialNeeded } from './access.ts';
import { noteReleaseRule } from './admission.ts';
import { saysYes } from './top-rules.ts';

/**
 * Lets a caller do something with releases, or throws. An API key that was made at run time never may.
 *
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export async function requireReleases(call: RouteCall, operation: ReleaseOperation): Promise<void> {
  const { app, request } = call;
  if (actorOf(request).type === 'anonymous') throw credentialNeeded();
  if (madeKeyOf(request)) throw new DomainError('forbidden', `no API key that was made here may ${operation} releases`);
  if (!(await mayUseReleases(call, operation))) throw new DomainError('forbidden', `you may not ${operation} releases`);
  if (operation !== 'read') noteReleaseRule(request, app.model.releases);
}

/** Whether a caller may do something with releases. */
export async function mayUseReleases({ app, request }: RouteCall, operation: ReleaseOperation): Promise<boolean> {
  const { type, id = null } = actorOf(request);
  if (type === 'system') return true;
  if (type === 'anonymous' || madeKeyOf(request)) return false;
  const { releases, adminCollection } = app.model;
  const user = userOf(request);
  if (!releases) return type === 'apiKey' || (user !== null && user.collection === adminCollection);
  const args = { user, apiKey: type === 'apiKey' ? id : null, req: viewOf(request), operation };
  return saysYes({ app, request }, 'releases', () => releases(args));
}
