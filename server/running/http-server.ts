import type { IncomingMessage, Server as Listener } from 'node:http';
import type { AddressInfo } from 'node:net';
import Hapi, { type Request, type Server } from '@hapi/hapi';
import { passesAnyway } from '../callers/overload.ts';
import { refuseOddPath } from '../documents/media/routes.ts';
import type { Backlog } from '../http/backlog.ts';
import { createLazyRoutes, type LazyRoutes } from '../http/lazy-routes.ts';
import { createListener, requireHead } from '../http/listener.ts';
import { noteRequest } from '../http/pulse.ts';
import { checkUrl } from '../http/url.ts';
import { admitWrites } from '../http/write-admission.ts';
import type { OpenApp } from './app/open-app.ts';
import { routes } from './app/routes.ts';
import { metricsRoute } from './metrics/routes.ts';
import { waitUntilUpToDate } from './nodes/up-to-date.ts';
import { logRequests } from './request-log.ts';

/**
 * Opens a server that never listens: another listener passes requests on to the server's own.
 *
 * @param backlog the backlog of the thread, if the thread has several such servers, at once or one after the other.
 */
export async function openServer(app: OpenApp, backlog?: Backlog): Promise<Server> {
  const hasFiles = [...app.collections.values()].some(({ model }) => model.upload);
  const lazy = createLazyRoutes();
  const server = neverListening([...(hasFiles ? [refuseOddPath] : []), checkUrl, lazy.addFor]);
  await serve(server, { app, lazy, ...(backlog && { backlog }) });
  await server.start();
  return server;
}

/** The port of a listener that listens. */
export function portOf(listener: Listener): number {
  return (listener.address() as AddressInfo).port;
}

type Options = { app: OpenApp; lazy: LazyRoutes; backlog?: Backlog };

async function serve(server: Server, options: Options): Promise<void> {
  const { app } = options;
  if (app.site !== null) server.app.site = app.site;
  const isExempt = (request: IncomingMessage) => passesAnyway(server, app, request);
  server.ext('onPreStop', admitWrites(server.listener, app.isCrowded, isExempt));
  waitUntilUpToDate(server, app);
  logRequests(server, app);
  app.metrics?.count(server, app.site ?? '');
  await server.register({ plugin: routes, options: { ...options, isAlone: !app.upToDate } });
  metricsRoute(server, app.metrics);
}

/**
 * Creates a hapi server whose listener never listens.
 *
 * @param steps run before the route of a request is looked for, and throw if the request is refused. They share one
 * extension of hapi, for each costs time.
 */
export function neverListening(steps: readonly ((request: Request) => void)[] = []): Server {
  const server = Hapi.server({
    listener: createListener(),
    autoListen: false,
    compression: { minBytes: 4096 },
    debug: false,
    // There are no connections that could be ended.
    operations: { cleanStop: false },
    // Other applications of the same domain send cookies of any form: `callers/cookies.ts` reads ours.
    routes: { state: { parse: false } },
  });
  server.ext('onRequest', (request, h) => {
    noteRequest(request);
    requireHead(request.raw.req);
    for (const step of steps) step(request);
    return h.continue;
  });
  return server;
}
