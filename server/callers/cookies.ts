import type { Request, ResponseToolkit, ServerStateCookieOptions } from '@hapi/hapi';
import type { Collection, Model } from '../../config/model.ts';
import type { App } from '../app.ts';
import { isOwnOrigin } from '../http/cors.ts';

/**
 * The name of the cookie that holds the token of a session of this collection's users. Several sites may share an
 * address, so their names differ: neither the id of a site nor a slug has a dot.
 */
export function cookieName(site: string | null, slug: string): string {
  return site === null ? `annals-${slug}` : `annals-${site}.${slug}`;
}

/** Sets the cookie of a session for as long as its token is valid, if the collection has cookies. */
export function setCookie(
  h: ResponseToolkit,
  app: App,
  { model: { slug, auth }, token }: { model: Collection; token: string },
): void {
  if (!auth?.cookies || isPlanted(app, h.request, auth.cookies)) return;
  h.request.app.changesCookies = true;
  h.state(cookieName(app.site, slug), token, { ...optionsOf(app, auth.cookies), ttl: auth.tokenExpiration * 1000 });
}

/** Makes the browser forget the cookie. */
export function clearCookie(app: App, { slug, auth }: Collection, h: ResponseToolkit): void {
  if (!auth?.cookies) return;
  h.request.app.changesCookies = true;
  h.unstate(cookieName(app.site, slug), optionsOf(app, auth.cookies));
}

type CookieOptions = NonNullable<NonNullable<Collection['auth']>['cookies']>;

function optionsOf({ isProduction, basePath }: App, { secure, sameSite, domain }: CookieOptions) {
  const options: ServerStateCookieOptions = {
    // Browsers refuse a cookie for other sites that is not secure.
    isSecure: secure ?? (isProduction || sameSite === 'None'),
    isHttpOnly: true,
    isSameSite: sameSite,
    path: basePath,
    encoding: 'none',
    strictHeader: true,
  };
  return domain === null ? options : { ...options, domain };
}

/**
 * The collections whose cookies count for a route, in this order: the collection of the route, the admin collection,
 * the others in the order of the configuration.
 */
export function cookieCollections({ collections, adminCollection }: Model, path: string): Collection[] {
  const own = /\/api\/collections\/([^/]+)/.exec(path)?.[1];
  const rank = ({ slug }: Collection) => (slug === own ? 0 : slug === adminCollection ? 1 : 2);
  return [...collections.values()].filter(({ auth }) => auth?.cookies).sort((a, b) => rank(a) - rank(b));
}

/**
 * The value of a cookie; null without the cookie, and with several of that name. It is read from the header itself: if
 * hapi reads it, a cookie of another application without a value, or with the name `__proto__`, takes ours away.
 */
export function cookieOf({ headers }: Request, name: string): string | null {
  const start = `${name}=`;
  const cookies = String(headers.cookie ?? '').split(';');
  const [own, ...others] = cookies.map((text) => text.trim()).filter((text) => text.startsWith(start));
  return own === undefined || own === start || others.length > 0 ? null : own.slice(start.length);
}

/**
 * Whether another site may have made a browser log in, as a user whom the person at the browser would take for
 * themselves. If the hosts of a domain share a cookie, any of them may set it.
 */
function isPlanted({ baseUrl }: App, { headers, info }: Request, { domain }: CookieOptions): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  if (site !== undefined)
    return !['same-origin', 'none', ...(domain === null ? [] : ['same-site'])].includes(String(site));
  return typeof origin === 'string' && domain === null && !isOwnOrigin(origin, info.host, baseUrl);
}

const safeMethods = ['get', 'head', 'options'];

/**
 * Whether another site may have made a browser send this write: then a cookie gives no right to it. A browser says
 * where a write comes from by `Sec-Fetch-Site` or `Origin`; a request with neither does not count as from our pages.
 */
export function isForeign(request: Request, baseUrl: string | null): boolean {
  return !safeMethods.includes(request.method) && !isFromOwnPage(request, baseUrl);
}

/** Whether a browser says that a page of the same origin sent this request. */
export function isFromOwnPage({ headers, info }: Request, baseUrl: string | null): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  if (site !== undefined) return site === 'same-origin';
  return typeof origin === 'string' && isOwnOrigin(origin, info.host, baseUrl);
}
