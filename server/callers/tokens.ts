import { createRequire } from 'node:module';
import type Jwt from '@hapi/jwt';
import { createCache } from '../../projections/tables/cache.ts';
import type { App } from '../app.ts';
import type { AuthTarget } from './sessions.ts';

/**
 * The claims of a token of a session (RFC 7519). Times are seconds since the epoch. `site`: where a process has
 * several.
 */
export type Claims = { sub: string; collection: string; sid: string; iat: number; exp: number; site?: string };

const require = createRequire(import.meta.url);
/**
 * Loaded for the first token: with what it brings to fetch keys, which we never do, it costs more than the main
 * thread's own.
 */
const jwt = (): typeof Jwt.token => require('@hapi/jwt').token;

/** Clocks of several machines differ: a token from further in the future than this was not made by us. */
const skewSeconds = 60;

/** The token of a session, from now on. */
export function tokenFor(app: App, { slug, model }: AuthTarget, { id, sid }: { id: string; sid: string }): string {
  const claims: Omit<Claims, 'iat' | 'exp'> = {
    sub: id,
    collection: slug,
    sid,
    ...(app.site === null ? {} : { site: app.site }),
  };
  return signToken(app.credentials.secrets, claims, model.auth.tokenExpiration, app.clock.believed());
}

/** Signs a token, HS256; the first secret signs. `now` is milliseconds since the epoch. */
export function signToken(
  [secret = '']: readonly string[],
  claims: { [name: string]: string },
  ttlSec: number,
  now: number,
): string {
  return jwt().generate(claims, { key: secret, algorithm: 'HS256' }, { ttlSec, now });
}

/**
 * Reads tokens: null for one that no secret of ours has signed, that is expired, that is no token of a session, or that
 * is one of another site. A token is verified once, for that costs more than the rest of a read.
 */
export function tokenReader(
  secrets: readonly string[],
  site: string | null,
): (token: string, now: number) => Claims | null {
  const verified = createCache<Claims>();

  return (token, now) => {
    const known = verified.get(token);
    const claims = known ?? claimsIn(signedClaims(secrets, site, token) ?? {});
    if (!claims) return null;
    if (!known) verified.set(token, claims);
    return isCurrent(claims, now) ? claims : null;
  };
}

/** The claims of a token of any kind; null for one that no secret of ours has signed, or that is of another site. */
export function signedClaims(
  secrets: readonly string[],
  site: string | null,
  token: string,
): { [name: string]: unknown } | null {
  try {
    const artifacts = jwt().decode(token);
    const claims: { [name: string]: unknown } = artifacts.decoded.payload;
    // Its extensions have to be understood (RFC 7515, section 4.1.11), and ours have none.
    if ('crit' in artifacts.decoded.header) return null;
    // Two sites may have been given one secret, and a site have become one of several.
    const isOurs = secrets.some((secret) => isSignedBy(artifacts, secret)) && (claims.site ?? null) === site;
    return isOurs ? claims : null;
  } catch {
    return null;
  }
}

/** Whether a token holds now, in milliseconds since the epoch. */
export function isCurrent({ iat, exp }: Pick<Claims, 'iat' | 'exp'>, now: number): boolean {
  const seconds = now / 1000;
  return exp > seconds && iat <= seconds + skewSeconds;
}

type Artifacts = ReturnType<typeof Jwt.token.decode>;

function isSignedBy(artifacts: Artifacts, key: string): boolean {
  try {
    // It refuses every other algorithm, `none` among them, whatever the token says of itself.
    jwt().verifySignature(artifacts, { key, algorithm: 'HS256' });
    return true;
  } catch {
    return false;
  }
}

function claimsIn({ sub, collection, sid, iat, exp, site, preview }: { [name: string]: unknown }): Claims | null {
  if (preview !== undefined) return null;
  if (typeof sub !== 'string' || typeof collection !== 'string' || typeof sid !== 'string') return null;
  if (typeof iat !== 'number' || typeof exp !== 'number') return null;
  if (site === undefined) return { sub, collection, sid, iat, exp };
  return typeof site === 'string' ? { sub, collection, sid, iat, exp, site } : null;
}
