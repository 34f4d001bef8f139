import type { IncomingMessage } from 'node:http';
import { isObject } from '../../../config/schema.ts';

/** The parts of a request that name its site. */
type SiteRequest = Pick<IncomingMessage, 'url' | 'headers'>;

/**
 * Paths of links that browsers follow without our headers: pictures in pages, pages that mails link to, the admin
 * application.
 */
const linked = /^\/(?:(?:api\/media|account)\/|admin(?:\/|$))/;

/** Our tokens have a few hundred characters. */
const longestToken = 4096;

/**
 * The site that a request names (contract's decisions, "Cloud mode"): by `x-site-id`, else by the parameter `site` of a
 * link, else by its token. Null if it names none, or two. Nothing is proved yet: the site's own keys, secrets and
 * sessions decide what the caller may do.
 */
export function siteOf({ url = '', headers }: SiteRequest): string | null {
  const { 'x-site-id': header, authorization } = headers;
  const [path = '', query = ''] = split(url);
  const isLink = query.includes('site') && (linked.test(path) || path === '/api/docs');
  const named = new Set(isLink ? new URLSearchParams(query).getAll('site') : []);
  // Several headers of one name arrive as one text with commas, which is not an id.
  if (header !== undefined) named.add(String(header));
  // A wrong name is an error even if another part names a site.
  if (named.size > 0) return named.size === 1 ? ([...named][0] ?? null) : null;
  const bearer = /^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (bearer !== undefined) return claimIn(bearer);
  return path === '/api/preview-data' ? claimIn(onlyToken(query)) : null;
}

function split(url: string): [path: string, query: string] {
  const end = url.indexOf('?');
  return end === -1 ? [url, ''] : [url.slice(0, end), url.slice(end + 1)];
}

function onlyToken(query: string): string {
  const tokens = new URLSearchParams(query).getAll('token');
  return tokens.length === 1 ? (tokens[0] ?? '') : '';
}

/** The site that one of our tokens names, unverified; null for any other text. */
function claimIn(token: string): string | null {
  if (token.length > longestToken) return null;
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
    const site = isObject(claims) ? claims.site : null;
    return typeof site === 'string' ? site : null;
  } catch {
    return null;
  }
}
