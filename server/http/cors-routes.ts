import type { Request, Server } from '@hapi/hapi';
import type { App } from '../app.ts';
import { noPayload } from './body.ts';
import { type Cors, corsOf, isExcludedFromCors } from './cors.ts';
import type { AddHeaders } from './errors.ts';
import { tellOfRefused } from './refused-origins.ts';
import { noRoute } from './requests.ts';

/**
 * Lets pages of other origins in, as the configuration says; of the others it says in the log how to let them in.
 *
 * @param auth the strategy by which a credential is looked at that came with what a browser asks: they send none.
 * @returns what every answer has to say to browsers.
 */
export function registerCors(
  server: Server,
  app: Pick<App, 'model' | 'log' | 'baseUrl' | 'toldOrigins'>,
  auth: string,
): AddHeaders {
  const { model, log, baseUrl, toldOrigins: told } = app;
  const cors = corsOf(model.cors);
  const add = cors && corsRoutes(server, () => cors, noRoute, auth);
  const advice = (origin: string) => `write cors: ['${[...model.cors, origin].join("', '")}'] in the configuration`;
  const tell = tellOfRefused({ log, told, baseUrl, advice });
  return (request, headers) => {
    add?.(request, headers);
    tell(request, headers);
  };
}

/**
 * Answers what browsers ask before they let a page of another origin call. hapi could do that for each route, but not for what has
 * none, and with answers of its own.
 *
 * @param current what is open now; null for nothing.
 * @param refusal what is answered to a request that asks for something else.
 * @param auth as above; without it no credential is looked at.
 * @returns what every answer has to say to browsers.
 */
export function corsRoutes(
  server: Server,
  current: () => Cors | null,
  refusal: (request: Request) => Error,
  auth: string | false = false,
): AddHeaders {
  const openFor = ({ path }: Request) => (isExcludedFromCors(path) ? null : current());

  server.route({
    method: 'OPTIONS',
    path: '/{any*}',
    options: { auth, payload: noPayload, response: { emptyStatusCode: 204 } },
    handler: (request, h) => {
      const headers = openFor(request)?.preflight(request.raw.req.headers);
      if (!headers) throw refusal(request);
      const response = h.response().code(204);
      for (const [name, value] of Object.entries(headers)) response.header(name, String(value));
      return response;
    },
  });

  return (request, headers) => {
    // A preflight has said it all.
    if (request.method !== 'options') openFor(request)?.addTo(headers, request.raw.req.headers);
  };
}
