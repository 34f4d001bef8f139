import type { Request } from '@hapi/hapi';
import type { App } from '../app.ts';
import { actorOf, userOf } from '../http/requests.ts';
import type { CallerKind } from '../ports.ts';

/** The name and the kind of a caller with a credential, by which quotas are counted. */
export function callerForQuota({ model }: App, request: Request): { caller: string; by: CallerKind } {
  const { type, id: caller = type } = actorOf(request);
  if (type === 'apiKey' || type === 'system') return { caller, by: 'key' };
  return { caller, by: userOf(request)?.collection === model.adminCollection ? 'user' : 'other' };
}
