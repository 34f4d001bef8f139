import { DomainError } from '../../config/errors.ts';
import type { RouteCall } from '../app.ts';
import { actorOf, madeKeyOf, userOf, viewOf } from '../http/requests.ts';
import { credentialNeeded } from './access.ts';
import { noteKeyRule } from './admission.ts';
import { saysYes } from './top-rules.ts';

/** Users of this collection manage keys if no rule is set; users of another admin collection do not. */
const managers = '__admins';

/**
 * Refuses a caller who may not make, list and revoke API keys. The operator always may, a key that was made at run time
 * never. Else the `keys` rule decides; without it, users of `__admins` and API keys of the environment may.
 *
 * @throws DomainError `unauthorized` without a credential, `forbidden` with one.
 */
export async function requireKeyManager(call: RouteCall): Promise<void> {
  const { app, request } = call;
  if (actorOf(request).type === 'anonymous') throw credentialNeeded();
  if (madeKeyOf(request)) throw refusal('no API key that was made here may');
  if (!(await mayManage(call))) throw refusal('you may not');
  noteKeyRule(request, app.model.keys);
}

/** Whether a caller may manage API keys. */
export async function managesKeys(call: RouteCall): Promise<boolean> {
  return actorOf(call.request).type !== 'anonymous' && !madeKeyOf(call.request) && mayManage(call);
}

async function mayManage({ app, request }: RouteCall): Promise<boolean> {
  const { type, id = null } = actorOf(request);
  if (type === 'system') return true;
  const { keys } = app.model;
  const user = userOf(request);
  if (!keys) return type === 'apiKey' || user?.collection === managers;
  const args = { user, apiKey: type === 'apiKey' ? id : null, req: viewOf(request) };
  return saysYes({ app, request }, 'keys', () => keys(args));
}

function refusal(subject: string): DomainError {
  return new DomainError('forbidden', `${subject} manage API keys`);
}
