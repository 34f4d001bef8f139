import type { Request, ResponseToolkit, ServerStateCookieOptions } from '@hapi/hapi';
import type { Collection, Model } from '../../config/model.ts';
import type { App } from '../app.ts';
import { isOwnOrigin } from '../http/cors.ts';

/**
 * The cookie that holds the token of a session of this collection's users. Of several sites under one address each has
 * its own: neither an id nor a slug has a dot.
 */
export function cookieName(site: string | null, slug: string): string {
  return site === null ? `annals-${slug}` : `annals-${site}.${slug}`;
}

/** Sets the cookie of a session for as long as its token lives; nothing where the collection has no cookies. */
export function setCookie(app: App, { slug, auth }: Collection, h: ResponseToolkit, token: string): void {
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
    // Browsers refuse one for other sites that is not secure.
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
 * The collections whose cookies count for a route, the first that is there: its own collection, then the admin
 * collection, then the others in the order of the configuration.
 */
export function cookieCollections({ collections, adminCollection }: Model, path: string): Collection[] {
  const own = /\/api\/collections\/([^/]+)/.exec(path)?.[1];
  const rank = ({ slug }: Collection) => (slug === own ? 0 : slug === adminCollection ? 1 : 2);
  return [...collections.values()].filter(({ auth }) => auth?.cookies).sort((a, b) => rank(a) - rank(b));
}

/**
 * The value of a cookie; null without one, and with several of that name. It is read from the header itself: as hapi
 * reads that, a cookie of another application that has no value, or the name `__proto__`, takes ours away.
 */
export function cookieOf({ headers }: Request, name: string): string | null {
  const start = `${name}=`;
  const cookies = String(headers.cookie ?? '').split(';');
  const [own, ...others] = cookies.map((text) => text.trim()).filter((text) => text.startsWith(start));
  return own === undefined || own === start || others.length > 0 ? null : own.slice(start.length);
}

/**
 * Whether another site may have made a browser log in as somebody else, whom its user would then take for themselves. A
 * cookie that is shared with the other hosts of a domain is theirs to set too.
 */
function isPlanted({ baseUrl }: App, { headers, info }: Request, { domain }: CookieOptions): boolean {
  const { 'sec-fetch-site': site, origin } = headers;
  if (site !== undefined)
    return !['same-origin', 'none', ...(domain === null ? [] : ['same-site'])].includes(String(site));
  return typeof origin === 'string' && domain === null && !isOwnOrigin(origin, info.host, baseUrl);
}

const safeMethods = ['get', 'head', 'options'];

/**
 * Whether a browser may have been made to send this request by another site: then a cookie gives no right to write. A
 * browser says where a write comes from by `Sec-Fetch-Site` or `Origin`; what says neither is not taken for a page of
 * ours.
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
