import type { IncomingHttpHeaders } from 'node:http';
import type { AnswerHeaders } from './errors.ts';

/** The rights of pages of other origins (https://fetch.spec.whatwg.org/#http-cors-protocol). */
export type Cors = {
  /** Adds the headers that let a page of the caller's origin read an answer: without them the browser refuses that. */
  addTo: (headers: AnswerHeaders, request: IncomingHttpHeaders) => void;
  /** The headers of the answer to a preflight, a 204; null for a request that is not a preflight. */
  preflight: (request: IncomingHttpHeaders) => AnswerHeaders | null;
};

const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE';

/** `*` allows every other header, such as those that hooks read, except `authorization`. */
const requestHeaders = [
  'authorization',
  'content-type',
  'x-api-key',
  'x-site-id',
  'if-match',
  'if-none-match',
  'if-range',
  'range',
  'idempotency-key',
  'x-change-reason',
  'last-event-id',
  'annals-position',
  '*',
].join(', ');

/**
 * Response headers that pages may read, beside those they always may, `content-length` and `content-type` among them.
 */
const exposedHeaders = [
  'allow',
  'etag',
  'location',
  'retry-after',
  'ratelimit',
  'ratelimit-policy',
  'www-authenticate',
  'x-request-id',
  'accept-ranges',
  'content-range',
  'content-disposition',
  'idempotent-replayed',
  'annals-position',
  'annals-range',
  'annals-events',
  'annals-checkpoint',
].join(', ');

/** As long as the browser with the shortest limit keeps a preflight. */
const maxAgeSeconds = '7200';

/**
 * Opens the service to the pages of these origins; null if there are none. Never with credentials: a cookie is only for
 * our own pages, other pages send a token or a key.
 *
 * @param origins of the configuration: exact origins, or `*` for any.
 */
export function corsOf(origins: readonly string[]): Cors | null {
  if (origins.length === 0) return null;
  const isAny = origins.includes('*');
  const listed = new Set(origins);

  function allow(headers: AnswerHeaders, { origin }: IncomingHttpHeaders): boolean {
    if (!isAny) headers.vary = headers.vary === undefined ? 'origin' : `${headers.vary},origin`;
    // `*` is sent to everybody: so the answer is the same, and one cache serves all.
    const isAllowed = isAny || (origin !== undefined && listed.has(origin));
    if (isAllowed) headers['access-control-allow-origin'] = isAny ? '*' : origin;
    return isAllowed;
  }

  return {
    addTo(headers, request) {
      if (allow(headers, request)) headers['access-control-expose-headers'] = exposedHeaders;
    },
    preflight(request) {
      if (request.origin === undefined || request['access-control-request-method'] === undefined) return null;
      const headers: AnswerHeaders = {};
      if (allow(headers, request)) {
        headers['access-control-allow-methods'] = methods;
        headers['access-control-allow-headers'] = requestHeaders;
        headers['access-control-max-age'] = maxAgeSeconds;
      }
      return headers;
    },
  };
}

const closed = /^\/(?:api\/operator\/|account\/|admin(?:\/|$))/;

/** Whether a path is closed to pages of all other origins: the operator's routes, and our own pages. */
export function isExcludedFromCors(path: string): boolean {
  return closed.test(path);
}

/**
 * Whether an origin is that of the service: by the address at which clients reach it, or by the host that is called. If
 * the address is known, the scheme must be the same: anybody on the network can make a page of http://… for a service
 * at https://….
 */
export function isOwnOrigin(text: string, ownHost: string, baseUrl: string | null): boolean {
  if (!URL.canParse(text)) return false;
  const { host, origin, protocol } = new URL(text);
  if (baseUrl === null) return host === ownHost;
  const own = new URL(baseUrl);
  return origin === own.origin || (host === ownHost && protocol === own.protocol);
}
