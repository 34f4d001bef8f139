import type { IncomingMessage } from 'node:http';
import type { HTTP_METHODS, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { isShed } from '../http/door.ts';
import { tooMany } from '../writer/waiting.ts';
import { isOperatorCall } from './authentication.ts';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** True for a route that writes nothing to the log before it answers, though it does not only read. */
    neverShed?: true;
  }
}

const lineMilliseconds = 60_000;

/**
 * Whether a write is taken however many wait. The operator's calls are few, and are what helps a service in trouble.
 *
 * @returns false also for paths that are no route or are written with `%`, which those of routes never need.
 */
export function passesAnyway(server: Server, app: App, request: IncomingMessage): boolean {
  if (isOperatorCall(app, request)) return true;
  const { method = '', url = '' } = request;
  const [path = ''] = url.split(/[?#]/, 1);
  if (!path.startsWith('/') || path.includes('%')) return false;
  return server.match(method.toLowerCase() as Lowercase<HTTP_METHODS>, path)?.settings.plugins?.neverShed === true;
}

/** Refuses the writes that came when too many waited already: before a credential is looked at, a body is read or a hook runs. */
export function shedWrites(server: Server, app: App): void {
  let nextLine = 0;

  server.ext('onPreAuth', (request, h) => {
    if (!isShed(request.raw.req)) return h.continue;
    // Each refusal has its line as every request has; this one says why.
    if (performance.now() >= nextLine) {
      nextLine = performance.now() + lineMilliseconds;
      app.log.warn('writes are refused with 503: too many wait to be written, or the writer is held up');
    }
    throw tooMany();
  });
}
