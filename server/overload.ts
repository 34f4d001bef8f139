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

const lineMilliseconds = 60_000;

/**
 * Refuses the writes that came when too many waited already: before a credential is looked at, a body is read or a hook runs. The
 * operator's calls pass: they are few, and are what helps a service in trouble.
 */
export function shedWrites(server: Server, app: App): void {
  let nextLine = 0;

  server.ext('onPreAuth', (request, h) => {
    if (!isShed(request.raw.req) || request.route.settings.plugins?.neverShed || isOperatorCall(app, request))
      return h.continue;
    tell();
    throw tooMany();
  });

  /** Each refusal has its line as every request has; this one is for whoever looks for why. */
  function tell(): void {
    if (performance.now() < nextLine) return;
    nextLine = performance.now() + lineMilliseconds;
    app.log.warn('writes are refused with 503: too many wait to be written, or the writer is held up');
  }
}

/** How what a request causes is appended: what the operator does is refused for no line. */
export function appendOf(app: App, request: Request): Append {
  return actorOf(request).type === 'system' ? app.appendAnyway : app.append;
}
