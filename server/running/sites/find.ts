import type { IncomingMessage } from 'node:http';
import { isObject } from '../../../config/schema.ts';

/** The parts of a request that name its site. */
export type Asked = Pick<IncomingMessage, 'url' | 'headers'>;

/**
 * Paths of links that browsers follow without our headers: pictures in pages, pages that mails lead to, the admin
 * application.
 */
const linked = /^\/(?:(?:api\/media|account)\/|admin(?:\/|$))/;

/** A token of ours has a few hundred characters. */
const longestToken = 4096;

/**
 * Which site a request says that it is for (contract's decisions, "Cloud mode"): `x-site-id`, else the parameter `site`
 * of a link, else the site that its token names. Null where it says none, or two. Nothing of it is proved yet: the
 * site's own keys, secrets and sessions decide what the caller may.
 */
export function siteOf({ url = '', headers }: Asked): string | null {
  const { 'x-site-id': header, authorization } = headers;
  const [path = '', query = ''] = split(url);
  const isLink = query.includes('site') && (linked.test(path) || path === '/api/docs');
  const named = new Set(isLink ? new URLSearchParams(query).getAll('site') : []);
  // Several headers of one name come as one text with commas, which is not an id.
  if (header !== undefined) named.add(String(header));
  // A wrong name is an error even where another part names a site.
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

/** The site that a token of ours names, unverified; null for any other text. */
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
