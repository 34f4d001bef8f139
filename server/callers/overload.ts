import type { IncomingMessage } from 'node:http';
import type { HTTP_METHODS, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { isOperatorCall } from './authentication.ts';

declare module '@hapi/hapi' {
  interface PluginSpecificConfiguration {
    /** True for a route that writes nothing to the log before it answers, though it does not only read. */
    neverShed?: true;
  }
}

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
