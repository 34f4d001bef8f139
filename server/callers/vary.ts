import type { Request, ResponseObject } from '@hapi/hapi';
import type { AddHeaders, AnswerHeaders } from '../http/errors.ts';
import { strategy } from './authentication.ts';

/** By what a request says who calls. */
const caller = 'authorization,cookie,x-api-key';
/** By what it says its site, where its address does not. */
const site = 'x-site-id,authorization';
const siteAndCaller = 'x-site-id,authorization,cookie,x-api-key';

/**
 * Tells caches which answers are not for everybody: those of routes that look at a credential. An answer to a
 * credential is for no shared cache; a public answer may be kept there, to be revalidated each time.
 */
export const varyByCaller: AddHeaders = (request, headers) => {
  if (looksAtCaller(request)) addCaller(request, headers, caller);
};

/**
 * As {@link varyByCaller}, where each site answers for itself under one address: a cache must not give one's answer to
 * another.
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
  // `false` for routes that look at no credential, and absent where there was no route yet.
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
 * Marks the answer that ends the session of its caller: the browser forgets what it has kept of this origin, for the
 * next user of it (https://www.w3.org/TR/clear-site-data/#header). Neither cookies nor storage: other applications may
 * share the origin.
 */
export function leftBehind(response: ResponseObject): ResponseObject {
  return response.header('clear-site-data', '"cache"');
}
