import type { Request, Server } from '@hapi/hapi';
import type { App, RouteParts } from '../app.ts';
import { noPayload } from './body.ts';
import { type Cors, corsOf, isExcludedFromCors } from './cors.ts';
import type { AddHeaders } from './errors.ts';
import { allowedMethods } from './methods.ts';
import { tellOfRefused } from './refused-origins.ts';
import { noRoute } from './requests.ts';

/**
 * Allows the origins of the configuration; the log tells how to allow others.
 *
 * @param auth the strategy that checks a credential sent with a preflight request; browsers send none.
 * @returns adds the CORS headers to a response.
 */
export function registerCors(
  server: Server,
  app: Pick<App & RouteParts, 'model' | 'log' | 'baseUrl' | 'isProduction' | 'toldOrigins'>,
  auth: string,
): AddHeaders {
  const { model, log, baseUrl, isProduction, toldOrigins: told } = app;
  const cors = corsOf(model.cors);
  const addCors = corsRoutes(server, { current: () => cors, refusal: noRoute, auth });
  const add = cors && addCors;
  const advice = (origin: string) => `write cors: ['${[...model.cors, origin].join("', '")}'] in the configuration`;
  const tell = tellOfRefused({ log, told, baseUrl, advice: isProduction ? null : advice });
  return (request, headers) => {
    add?.(request, headers);
    tell(request, headers);
  };
}

type Options = {
  /** The current rules; null: no other origin is allowed. */
  current: () => Cors | null;
  /** The error for `OPTIONS` of a path without methods that is not an allowed preflight. */
  refusal: (request: Request) => Error;
  /** As in {@link registerCors}; false: credentials are ignored. */
  auth?: string | false;
};

/**
 * Answers `OPTIONS` with the methods of the path, and preflight requests (Fetch standard) on every path. hapi can do
 * the latter only for paths with a route, and with its own responses.
 *
 * @returns adds the CORS headers to a response.
 */
export function corsRoutes(server: Server, { current, refusal, auth = false }: Options): AddHeaders {
  const openFor = ({ path }: Request) => (isExcludedFromCors(path) ? null : current());

  server.route({
    method: 'OPTIONS',
    path: '/{any*}',
    options: { auth, payload: noPayload, response: { emptyStatusCode: 204 } },
    handler: (request, h) => {
      const headers = openFor(request)?.preflight(request.raw.req.headers);
      const allow = allowedMethods(request);
      if (!headers && allow === null) throw refusal(request);
      const response = h.response().code(204);
      if (allow !== null) response.header('allow', allow);
      for (const [name, value] of Object.entries(headers ?? {})) response.header(name, String(value));
      return response;
    },
  });

  return (request, headers) => {
    // The response to a preflight has its headers already.
    if (request.method !== 'options') openFor(request)?.addTo(headers, request.raw.req.headers);
  };
}
