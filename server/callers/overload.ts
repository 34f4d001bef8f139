import type { IncomingMessage } from 'node:http';
import type { HTTP_METHODS, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { isOperatorCall } from './authentication.ts';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** True for a route that does not only read, but writes nothing to the log before it answers. */
    neverShed?: true;
  }
}

/**
 * Whether a write is admitted however many wait. Calls of the operator are: they are few, and help a service in
 * trouble.
 *
 * @returns false also for a path without a route, or with `%`, which no path of a route needs.
 */
export function passesAnyway(server: Server, app: App, request: IncomingMessage): boolean {
  if (isOperatorCall(app, request)) return true;
  const { method = '', url = '' } = request;
  const [path = ''] = url.split(/[?#]/, 1);
  if (!path.startsWith('/') || path.includes('%')) return false;
  return server.match(method.toLowerCase() as Lowercase<HTTP_METHODS>, path)?.settings.plugins?.neverShed === true;
}
