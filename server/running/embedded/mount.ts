import type { IncomingMessage, ServerResponse } from 'node:http';
import { refuseUnknown } from './gate.ts';
import { readOptions, type ServiceOptions } from './options.ts';
import { type MountPath, urlBelow } from './paths.ts';
import { type EmbeddedReady, startEmbedded } from './service.ts';

/** A service for a server of `node:http`, Express or similar. */
export type Mount = {
  /**
   * Answers a request. Its body must not have been read before. A request for another handler goes to `next`; without
   * `next` it is answered with 404.
   */
  handler: (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void) => void;
  /**
   * Resolves when requests are answered; until then they get 503. Rejects if the service cannot start, which is logged
   * too.
   */
  ready: Promise<EmbeddedReady>;
  /** Finishes the requests in flight and closes everything. Call it when the server takes no more requests. */
  close: () => Promise<void>;
};

/**
 * Starts a service inside another server, which passes it the requests below the path of `baseUrl`.
 *
 * @throws UsageError naming every option that is missing, unknown or wrong.
 */
export function mount(options: ServiceOptions): Mount {
  const given = readOptions(options);
  const { ready, answer, close } = startEmbedded(given);
  // Until the configuration is read, its requests wait as all others do.
  let hasAdmin = true;
  ready.then(
    ({ adminUrl }) => {
      hasAdmin = adminUrl !== null;
    },
    () => {},
  );

  function handler(request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): void {
    const { before, url } = whereabouts(request, { path: given.path, hasAdmin });
    if (url !== null) answer(request, response, url, before);
    else if (next) next();
    else if (!response.headersSent) refuseUnknown(response, `there is no ${request.method} ${pathOf(request)}`);
  }

  return { handler, ready, close };
}

type RoutedRequest = IncomingMessage & { originalUrl?: string; baseUrl?: string };

/** The path prefix before the service, and the url without it. Express and connect have already removed the prefix. */
function whereabouts(request: RoutedRequest, below: MountPath): { before: string; url: string | null } {
  const { url = '/', originalUrl = url, baseUrl } = request;
  if (baseUrl) return { before: baseUrl, url };
  const isCut = baseUrl === undefined && originalUrl !== url && originalUrl.endsWith(url);
  if (isCut) return { before: originalUrl.slice(0, originalUrl.length - url.length), url };
  return { before: below.path, url: urlBelow(below, url) };
}

function pathOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1);
  return path.slice(0, 200);
}
