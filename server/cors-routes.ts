import type { Server } from '@hapi/hapi';
import type { App } from './app.ts';
import { noPayload } from './body.ts';
import { corsOf, isClosedToOthers } from './cors.ts';
import type { AddHeaders } from './errors.ts';
import { noRoute } from './requests.ts';

/**
 * Lets pages of other origins in, as the configuration says, and answers what browsers ask before they do. hapi could do that
 * for each route, but not for what has none, and with answers of its own.
 *
 * @returns what every answer has to say to browsers; null where nothing is open.
 */
export function openToOthers(server: Server, { model }: Pick<App, 'model'>): AddHeaders | null {
  const cors = corsOf(model.cors);
  if (!cors) return null;
  const root = (server.realm.modifiers.route.prefix ?? '').length;
  const isClosed = (path: string) => isClosedToOthers(path.slice(root));

  server.route({
    method: 'OPTIONS',
    path: '/{any*}',
    options: { auth: false, payload: noPayload, response: { emptyStatusCode: 204 } },
    handler: (request, h) => {
      const headers = isClosed(request.path) ? null : cors.preflight(request.raw.req.headers);
      if (!headers) throw noRoute(request);
      const response = h.response().code(204);
      for (const [name, value] of Object.entries(headers)) response.header(name, String(value));
      return response;
    },
  });

  return (request, headers) => {
    // A preflight has said it all.
    if (request.method !== 'options' && !isClosed(request.path)) cors.addTo(headers, request.raw.req.headers);
  };
}
