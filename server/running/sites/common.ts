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
import { tellOfRefused } from '../../http/refused-origins.ts';
import { requestId } from '../../http/requests.ts';
import { registerStatic } from '../../http/static.ts';
import { checkUrl } from '../../http/url.ts';
import { takeTurns } from '../../http/write-admission.ts';
import { docs } from '../../openapi/docs/routes.ts';
import type { Log } from '../../platform/logging.ts';
import type { State } from '../../platform/state.ts';
import type { ToldOrigins } from '../../ports.ts';
import { neverListening } from '../http-server.ts';
import type { ThreadMetrics } from '../metrics/counting.ts';
import { metricsRoute } from '../metrics/routes.ts';
import { logRequests } from '../request-log.ts';

/** Answers requests that no site does. */
export type Common = {
  server: Server;
  /** Has a request, which is passed on to the server right after, refused whatever it asks for. */
  refuse: (request: IncomingMessage, refusal: DomainError) => void;
  /**
   * Lets pages of these origins ask and read. Browsers send no `x-site-id` when they ask whether a page may call: what
   * any site opens is open then, and the call itself is for its site to answer.
   */
  openTo: (origins: readonly string[]) => void;
};

/** How many sites there are, and how many of them do not answer. */
export type Counts = { sites: number; starting: number; unavailable: number };

/** `backlog` is that of the thread. */
export type CommonOptions = {
  state: () => State;
  counts: () => Counts;
  told: ToldOrigins;
  isProduction: boolean;
  backlog: Backlog;
  metrics: ThreadMetrics | null;
  log: Log;
};

/** The refusal of a request whose site is not there: the same whether it names none or an unknown one. */
export function noSite(): DomainError {
  return new DomainError('unauthorized', 'x-site-id must name a site that is served here');
}

/**
 * Opens the routes that belong to no site: whether the process is well, and files that are the same for all. All else
 * is a 401.
 */
export async function openCommon(options: CommonOptions): Promise<Common> {
  const { state, counts, told, isProduction, backlog, metrics, log } = options;
  const refusals = new WeakMap<IncomingMessage, DomainError>();
  const refuseOthers = ({ raw: { req } }: Request) => {
    const refusal = refusals.get(req);
    if (refusal) throw refusal;
  };
  // The refusals first: a request for a site that failed gets the 401 of one that is not there.
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
      handler: () => {
        throw noSite();
      },
    },
  ]);
  await registerStatic(server);
  docs(server);
  accountAssets(server);
  adminAssets(server);
  server.ext(
    'onPreStop',
    takeTurns(
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
