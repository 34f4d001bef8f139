import type { Request, Server } from '@hapi/hapi';
import type { App } from './app.ts';
import { strategy } from './authentication.ts';
import { noPayload } from './body.ts';
import { type Cors, corsOf, isClosedToOthers } from './cors.ts';
import type { AddHeaders } from './errors.ts';
import { noRoute } from './requests.ts';

/**
 * Lets pages of other origins in, as the configuration says.
 *
 * @returns what every answer has to say to browsers; null where nothing is open.
 */
export function openToOthers(server: Server, { model }: Pick<App, 'model'>): AddHeaders | null {
  const cors = corsOf(model.cors);
  return cors && answerOthers(server, () => cors, noRoute, strategy);
}

/**
 * Answers what browsers ask before they let a page of another origin call. hapi could do that for each route, but not for what has
 * none, and with answers of its own.
 *
 * @param current what is open now; null for nothing.
 * @param refusal what is answered to a request that asks for something else.
 * @param auth the strategy by which a credential is looked at that came all the same: browsers send none.
 * @returns what every answer has to say to browsers.
 */
export function answerOthers(
  server: Server,
  current: () => Cors | null,
  refusal: (request: Request) => Error,
  auth: string | false = false,
): AddHeaders {
  const openFor = ({ path }: Request) => (isClosedToOthers(path) ? null : current());

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
