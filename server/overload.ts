import type { Request, Server } from '@hapi/hapi';
import type { Append } from '../events/log.ts';
import type { App } from './app.ts';
import { isOperatorCall } from './authentication.ts';
import { isShed } from './door.ts';
import { actorOf } from './requests.ts';
import { tooMany } from './waiting.ts';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** True for a route that writes nothing to the log before it answers, though it is none of those that only read. */
    neverShed?: true;
  }
}

/**
 * Refuses the writes that came when too many waited already: before a credential is looked at, a body is read or a hook runs. The
 * operator's calls pass: they are few, and are what helps a service in trouble.
 */
export function shedWrites(server: Server, app: App): void {
  server.ext('onPreAuth', (request, h) => {
    if (isShed(request.raw.req) && !request.route.settings.plugins?.neverShed && !isOperatorCall(app, request))
      throw tooMany();
    return h.continue;
  });
}

/** How what a request causes is appended: what the operator does is refused for no line. */
export function appendOf(app: App, request: Request): Append {
  return actorOf(request).type === 'system' ? app.appendAnyway : app.append;
}
