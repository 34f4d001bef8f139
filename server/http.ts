import type { Server as Listener } from 'node:http';
import Boom from '@hapi/boom';
import Hapi, { type Server } from '@hapi/hapi';
import type { App } from './app.ts';
import { type Address, createListener, guardListener, listen } from './listener.ts';
import { annals } from './plugin.ts';

/** Starts a hapi server of our own around the plugin; resolves when it answers. */
export async function startServer(app: App, address: Address): Promise<Server> {
  const listener = createListener();
  const server = hapiOn(listener);
  guardListener(listener);
  await server.register({ plugin: annals, options: { app, isAlone: true } });
  await server.start();
  await listen(listener, address);
  return server;
}

/** A server that answers what another listener passes on to its own, which never listens. */
export async function openServer(app: App): Promise<Server> {
  const server = neverListening();
  await server.register({ plugin: annals, options: { app, isAlone: true } });
  await server.start();
  return server;
}

/** A hapi server whose listener never listens. */
export function neverListening(): Server {
  return hapiOn(createListener(), false);
}

/** @param hasConnections whether its listener has connections, to be ended in good order when it stops. */
function hapiOn(listener: Listener, hasConnections = true): Server {
  const server = Hapi.server({
    listener,
    autoListen: false,
    compression: { minBytes: 4096 },
    debug: false,
    operations: { cleanStop: hasConnections },
    // Cookies of other applications of the same domain come along, of whatever form.
    state: { strictHeader: false, ignoreErrors: true },
    routes: { state: { failAction: 'ignore' } },
  });
  server.ext('onRequest', ({ raw: { req } }, h) => {
    if (req.headers.host === undefined && req.httpVersion === '1.1')
      throw Boom.badRequest('the Host header is missing');
    return h.continue;
  });
  return server;
}
