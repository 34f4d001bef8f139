import type { Request } from '@hapi/hapi';
import type { Append } from '../../events/facts/log.ts';
import type { App } from '../app.ts';
import { actorOf } from '../http/requests.ts';

/** The append for the events of a request: a call of the operator is never refused because too many wait. */
export function appendOf(app: App, request: Request): Append {
  return actorOf(request).type === 'system' ? app.appendAnyway : app.append;
}
