import { hash } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import type { Logger } from 'pino';
import type { ToldOrigins } from '../ports.ts';
import { isExcludedFromCors, isOwnOrigin } from './cors.ts';
import type { AddHeaders } from './errors.ts';

/** How many origins are logged at most: callers may make them up. */
const mostTold = 20;

/** An origin that may be copied from the log into a configuration: it has nothing that ends a string there. */
const plainOrigin = /^[a-z][a-z0-9+.-]*:\/\/([a-z0-9._-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;
const longestOrigin = 300;

/** Makes an empty record of the logged origins. */
export function createToldOrigins(): ToldOrigins {
  return new Int32Array(new SharedArrayBuffer(mostTold * Int32Array.BYTES_PER_ELEMENT));
}

type Options = {
  log: Logger;
  told: ToldOrigins;
  /** The address at which clients reach the service; null: not configured. */
  baseUrl: string | null;
  /**
   * The advice about an origin, as the end of the sentence "to let it in, …"; null in production, where a stranger may
   * have made the origin up.
   */
  advice: ((origin: string) => string) | null;
};

/**
 * Logs the pages that a browser keeps from calling, once for each origin: neither the page nor its user learns why.
 * To be called with the headers of every response, after the CORS headers. It adds none.
 */
export function tellOfRefused({ log, told, baseUrl, advice }: Options): AddHeaders {
  return (request, headers) => {
    if (request.headers.origin === undefined || headers['access-control-allow-origin'] !== undefined) return;
    const origin = refusedOrigin(request, baseUrl);
    if (origin === null) return;
    const place = note(told, origin);
    if (place === null) return;
    const refused =
      origin === 'null' ? 'a page without an origin, from a file or in a sandbox,' : `a page of ${origin}`;
    const help = origin === 'null' ? ofNoOrigin : `to let it in, ${advice?.(origin)}`;
    log.warn(`${refused} may not call the service${advice === null ? '' : `: ${help}`}`);
    if (place === mostTold - 1) log.warn(`pages of ${mostTold} origins were refused; of more nothing is logged`);
  };
}

const ofNoOrigin = 'serve it over http, and let in what it then has';

/** The origin of a refused cross-origin request, by the headers of browsers; null for any other request. */
function refusedOrigin(request: Request, baseUrl: string | null): string | null {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers;
  const isCalled = mode === undefined || mode === 'cors';
  if (typeof origin !== 'string' || !isCalled || site === 'same-origin' || isExcludedFromCors(request.path))
    return null;
  if (origin === 'null') return origin;
  if (origin.length > longestOrigin || !plainOrigin.test(origin)) return null;
  return isOwnOrigin(origin, request.info.host, baseUrl) ? null : origin;
}

/** Notes an origin; gives its index, null if it is known or there is no index left. */
function note(told: ToldOrigins, origin: string): number | null {
  // 0 is a free index.
  const mark = hash('sha256', origin, 'buffer').readInt32LE() || 1;
  for (let place = 0; place < told.length; place += 1) {
    const known = Atomics.compareExchange(told, place, 0, mark);
    if (known === 0) return place;
    if (known === mark) return null;
  }
  return null;
}
