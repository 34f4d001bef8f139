import type { Request } from '@hapi/hapi';
import { networkOf } from './limits.ts';
import { actorOf, addressOf } from './requests.ts';

/** The caller whose share is counted: an account, a key, or all callers of one network without a credential. */
export function callerOf(request: Request): string {
  const { type, id = networkOf(addressOf(request)) } = actorOf(request);
  return `${type}:${id}`;
}
