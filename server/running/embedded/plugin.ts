import type { Lifecycle, Plugin, Request, RouteOptions } from '@hapi/hapi';
import { UsageError } from '../../settings/settings.ts';
import { type EmbeddedSettings, readOptions, type ServiceOptions } from './options.ts';
import { ownRoutes } from './paths.ts';
import { type Embedded, type EmbeddedReady, startEmbedded } from './service.ts';

declare module '@hapi/hapi' {
  interface PluginProperties {
    /** The services of this server, by the prefix of their routes; `/` without a prefix. */
    annals: { [prefix: string]: EmbeddedReady };
  }
}

/**
 * A service as a plugin of a hapi server, under the prefix of its registration. It starts when it is registered and
 * ends with the server. The server's settings of routes (authentication, parsers, CORS, error pages) do not apply to
 * it, nor its own to them: requests are passed on unchanged to a separate server that never listens.
 */
export const annals: Plugin<ServiceOptions> = {
  name: 'annals',
  multiple: true,
  async register(server, options) {
    const { prefix = '' } = server.realm.modifiers.route;
    const given = readOptions(options);
    requirePath(given, prefix);
    const service = startEmbedded(given);
    const ready = await service.ready;
    try {
      for (const path of prefix === '' ? ownRoutes(ready.adminUrl !== null) : ['/{any*}']) {
        // If the server has CORS, hapi answers each OPTIONS request itself that has no route of that method.
        for (const method of ['*', 'OPTIONS'] as const) {
          server.route({ method, path, options: passedOn(service, prefix), handler: unreached });
        }
      }
    } catch (error) {
      // The server has such routes already.
      await service.close();
      throw error;
    }
    server.expose(prefix === '' ? '/' : prefix, ready);
    server.ext('onPreStop', () => service.release());
    server.ext('onPostStop', () => service.close());
  },
};

/** Links in mails would lead nowhere. */
function requirePath({ path, settings: { baseUrl } }: EmbeddedSettings, prefix: string): void {
  if (path === prefix) return;
  throw new UsageError(
    `options.baseUrl must end with the prefix of the routes, ${prefix === '' ? 'which is empty' : prefix}, got ${baseUrl}; ` +
      'where a proxy changes the path, say in options.path which one comes here',
  );
}

/** The route reads nothing of a request: cookies, credentials and bodies are left to the service. */
function passedOn(service: Embedded, prefix: string): RouteOptions {
  const method: Lifecycle.Method = async (request, h) => {
    const { req, res } = request.raw;
    await service.answer(req, res, urlOf(request, prefix), prefix);
    return h.abandon;
  };
  return {
    auth: false,
    cors: false,
    state: { parse: false, failAction: 'ignore' },
    // The service has its own time limits, and some answers are long.
    timeout: { server: false },
    ext: { onPreAuth: { method } },
  };
}

function unreached(): never {
  throw new Error('this request was to be passed on');
}

/** The URL as the server has it by now: an extension may have changed it. */
function urlOf(request: Request, prefix: string): string {
  const { url = '' } = request.raw.req;
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  return `${request.path.slice(prefix.length) || '/'}${searchOf(request) ?? query}`;
}

/** Null if the host of the request is not valid in a URL. */
function searchOf(request: Request): string | null {
  try {
    return request.url.search;
  } catch {
    return null;
  }
}
