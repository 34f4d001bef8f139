import type { IncomingMessage } from 'node:http';
import type { Request, Server } from '@hapi/hapi';
import { DomainError } from '../../../config/errors.ts';
import { accountAssets } from '../../accounts/pages/routes.ts';
import { adminAssets } from '../../admin/routes.ts';
import { varyBySite } from '../../callers/vary.ts';
import type { Backlog } from '../../http/backlog.ts';
import { noPayload } from '../../http/body.ts';
import { type Cors, corsOf } from '../../http/cors.ts';
import { corsRoutes } from '../../http/cors-routes.ts';
import { allOf, answerErrors, answerState } from '../../http/errors.ts';
import { wrongMethod } from '../../http/methods.ts';
import { tellOfRefused } from '../../http/refused-origins.ts';
import { requestId } from '../../http/requests.ts';
import { registerStatic } from '../../http/static.ts';
import { checkUrl } from '../../http/url.ts';
import { admitWrites } from '../../http/write-admission.ts';
import { docs } from '../../openapi/docs/routes.ts';
import type { Log } from '../../platform/logging.ts';
import type { ServiceState } from '../../platform/state.ts';
import type { ToldOrigins } from '../../ports.ts';
import { neverListening } from '../http-server.ts';
import type { ThreadMetrics } from '../metrics/counting.ts';
import { metricsRoute } from '../metrics/routes.ts';
import { logRequests } from '../request-log.ts';

/** Answers requests that belong to no site. */
type Common = {
  server: Server;
  /** Marks a request as refused. It is passed on to the server right after. */
  refuse: (request: IncomingMessage, refusal: DomainError) => void;
  /**
   * Lets pages of these origins ask and read. Browsers send no `x-site-id` when they ask whether a page may call, so
   * the answer allows the origins of all sites; the site of the call itself decides.
   */
  openTo: (origins: readonly string[]) => void;
};

/** The number of sites, and the number of sites that do not answer. */
export type SiteCounts = { sites: number; starting: number; unavailable: number };

/** `backlog` is the backlog of the thread. */
export type CommonOptions = {
  state: () => ServiceState;
  counts: () => SiteCounts;
  told: ToldOrigins;
  isProduction: boolean;
  backlog: Backlog;
  metrics: ThreadMetrics | null;
  log: Log;
};

/** The refusal of a request whose site is not there. It does not tell an unknown site from a missing name. */
export function noSite(): DomainError {
  return new DomainError('unauthorized', 'x-site-id must name a site that is served here');
}

/**
 * Opens the routes that belong to no site: the health of the process, and files that are the same for all sites. All
 * other paths are answered with 401.
 */
export async function openCommon(options: CommonOptions): Promise<Common> {
  const { state, counts, told, isProduction, backlog, metrics, log } = options;
  const refusals = new WeakMap<IncomingMessage, DomainError>();
  const refuseOthers = ({ raw: { req } }: Request) => {
    const refusal = refusals.get(req);
    if (refusal) throw refusal;
  };
  // The refusals come first: a request for a site that failed gets the 401 of an unknown site.
  const server = neverListening([refuseOthers, checkUrl]);
  let cors: Cors | null = null;
  const addCors = corsRoutes(server, { current: () => cors, refusal: noSite });
  const advice = (origin: string) => `add '${origin}' to cors in the configuration of its site`;
  const tell = tellOfRefused({ log, told, baseUrl: null, advice: isProduction ? null : advice });
  server.ext(
    'onPreResponse',
    answerErrors(
      (err, request) => {
        log.error({ err, requestId: requestId(request) }, 'a request failed');
        return undefined;
      },
      { backlog, addTo: allOf(addCors, tell, varyBySite) },
    ),
  );
  logRequests(server, { log, state: () => 'ready' });
  metrics?.count(server, '');
  metricsRoute(server, metrics);
  server.route([
    {
      method: 'GET',
      path: '/health',
      options: { auth: false },
      handler: () => {
        const { sites, unavailable } = counts();
        return { status: 'ok', sites, unavailable };
      },
    },
    {
      method: 'GET',
      path: '/ready',
      options: { auth: false },
      handler: (_request, h) => answerState(h, state()),
    },
    {
      method: '*',
      path: '/{any*}',
      options: { payload: noPayload },
      handler: (request) => {
        throw wrongMethod(request) ?? noSite();
      },
    },
  ]);
  await registerStatic(server);
  docs(server);
  accountAssets(server);
  adminAssets(server);
  server.ext(
    'onPreStop',
    admitWrites(
      server.listener,
      () => false,
      () => true,
    ),
  );
  await server.start();
  return {
    server,
    refuse: (request, refusal) => void refusals.set(request, refusal),
    openTo(origins) {
      cors = corsOf(origins);
    },
  };
}
