import type { Lifecycle, Plugin, Request, RouteOptions } from '@hapi/hapi';
import { UsageError } from '../../settings/settings.ts';
import { type Given, readOptions, type ServiceOptions } from './options.ts';
import { ownRoutes } from './paths.ts';
import { type Embedded, type EmbeddedReady, startEmbedded } from './service.ts';

declare module '@hapi/hapi' {
  interface PluginProperties {
    /** The services of this server, by the prefix of their routes, `/` where they have none. */
    annals: { [prefix: string]: EmbeddedReady };
  }
}

/**
 * A service as a plugin of a hapi server, under the prefix of its registration. It begins when it is registered and
 * ends with the server. That server's settings of routes (authentication, parsers, CORS, pages for errors) do not reach
 * it, and the reverse: requests are passed on as they came, to a server of its own that never listens.
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
        // A server that has CORS takes what comes with OPTIONS and has no route by that name.
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
function requirePath({ path, settings: { baseUrl } }: Given, prefix: string): void {
  if (path === prefix) return;
  throw new UsageError(
    `options.baseUrl must end with the prefix of the routes, ${prefix === '' ? 'which is empty' : prefix}, got ${baseUrl}; ` +
      'where a proxy changes the path, say in options.path which one comes here',
  );
}

/** Nothing of a request is looked at here: cookies, credentials and bodies are for the service. */
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
    // The service has bounds of its own, and some answers are long.
    timeout: { server: false },
    ext: { onPreAuth: { method } },
  };
}

function unreached(): never {
  throw new Error('this request was to be passed on');
}

/** As the server knows it by now, which may have been told to take it for another one. */
function urlOf(request: Request, prefix: string): string {
  const { url = '' } = request.raw.req;
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  return `${request.path.slice(prefix.length) || '/'}${searchOf(request) ?? query}`;
}

/** Null where the host of the request is not valid in a URL. */
function searchOf(request: Request): string | null {
  try {
    return request.url.search;
  } catch {
    return null;
  }
}
