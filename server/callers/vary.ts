import type { Request, ResponseObject } from '@hapi/hapi';
import type { AddHeaders, AnswerHeaders } from '../http/errors.ts';
import { strategy } from './authentication.ts';

/** The headers by which a request says who calls. */
const caller = 'authorization,cookie,x-api-key';
/** The headers by which a request names its site, if the address does not. */
const site = 'x-site-id,authorization';
const siteAndCaller = 'x-site-id,authorization,cookie,x-api-key';

/**
 * Tells caches that the answers of routes that look at a credential differ by caller. A shared cache may not keep an
 * answer to a credential; it may keep a public answer, and has to revalidate it each time.
 */
export const varyByCaller: AddHeaders = (request, headers) => {
  if (looksAtCaller(request)) addCaller(request, headers, caller);
};

/**
 * As {@link varyByCaller}, for several sites under one address: a cache must not give the answer of one site to a
 * caller of another.
 */
export const varyBySite: AddHeaders = (request, headers) => {
  if (looksAtCaller(request)) addCaller(request, headers, siteAndCaller);
  else addVary(headers, site);
};

function addCaller(request: Request, headers: AnswerHeaders, names: string): void {
  addVary(headers, names);
  const { authorization, cookie, 'x-api-key': key } = request.headers;
  if (authorization === undefined && cookie === undefined && key === undefined) return;
  headers['cache-control'] ??= 'private, no-cache';
}

function looksAtCaller({ route }: Request): boolean {
  // `false` for routes that look at no credential, and absent if no route was found yet.
  return route.settings.auth?.strategies?.[0] === strategy;
}

function addVary(headers: AnswerHeaders, names: string): void {
  headers.vary = headers.vary === undefined ? names : `${headers.vary},${names}`;
}

/** Marks an answer that holds a token: no cache may keep it (RFC 6750, section 5.3). */
export function unstored(response: ResponseObject): ResponseObject {
  return response.header('cache-control', 'no-store');
}

/**
 * Marks the answer that ends the session of its caller: the browser empties its cache of this origin, for the next user
 * of the browser (https://www.w3.org/TR/clear-site-data/#header). Cookies and storage stay: other applications may
 * share the origin.
 */
export function leftBehind(response: ResponseObject): ResponseObject {
  return response.header('clear-site-data', '"cache"');
}
