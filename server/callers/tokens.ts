import { createRequire } from 'node:module';
import type Jwt from '@hapi/jwt';
import { createCache } from '../../projections/tables/cache.ts';
import type { App } from '../app.ts';
import type { AuthTarget } from './sessions.ts';

/** The claims of the token of a session (RFC 7519). Times are seconds since the epoch; `site`, if there are several. */
type Claims = { sub: string; collection: string; sid: string; iat: number; exp: number; site?: string };

const require = createRequire(import.meta.url);
/** Loaded for the first token: it brings code that fetches keys, which we never do, and takes long to load. */
const jwt = (): typeof Jwt.token => require('@hapi/jwt').token;

/** The clocks of machines differ, but not by more than this: a token from further in the future is not ours. */
const skewSeconds = 60;

/** The token of a session, valid from now on. */
export function tokenFor(app: App, { slug, model }: AuthTarget, { id, sid }: { id: string; sid: string }): string {
  const claims: Omit<Claims, 'iat' | 'exp'> = {
    sub: id,
    collection: slug,
    sid,
    ...(app.site === null ? {} : { site: app.site }),
  };
  const time = { ttlSec: model.auth.tokenExpiration, now: app.clock.believed() };
  return signToken(app.credentials.secrets, claims, time);
}

/** Signs a token, HS256; the first secret signs. It begins `now`, in milliseconds since the epoch. */
export function signToken(
  [secret = '']: readonly string[],
  claims: { [name: string]: string },
  { ttlSec, now }: { ttlSec: number; now: number },
): string {
  return jwt().generate(claims, { key: secret, algorithm: 'HS256' }, { ttlSec, now });
}

/**
 * Reads tokens of sessions. Null for a token that none of our secrets has signed, that has expired, that is of another
 * kind, or of another site. A token is verified once: that costs more than the rest of a read.
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

/** The claims of a token of any kind; null if none of our secrets has signed it, or if it is of another site. */
export function signedClaims(
  secrets: readonly string[],
  site: string | null,
  token: string,
): { [name: string]: unknown } | null {
  try {
    const artifacts = jwt().decode(token);
    const claims: { [name: string]: unknown } = artifacts.decoded.payload;
    // Critical extensions have to be understood (RFC 7515, section 4.1.11), and our tokens have none.
    if ('crit' in artifacts.decoded.header) return null;
    // Two sites may have one secret, and a single site may have become one of several.
    const isOurs = secrets.some((secret) => isSignedBy(artifacts, secret)) && (claims.site ?? null) === site;
    return isOurs ? claims : null;
  } catch {
    return null;
  }
}

/** Whether a token is valid at a time, in milliseconds since the epoch. */
export function isCurrent({ iat, exp }: Pick<Claims, 'iat' | 'exp'>, now: number): boolean {
  const seconds = now / 1000;
  return exp > seconds && iat <= seconds + skewSeconds;
}

type Artifacts = ReturnType<typeof Jwt.token.decode>;

function isSignedBy(artifacts: Artifacts, key: string): boolean {
  try {
    // It refuses every other algorithm, also `none`, whatever the header of the token says.
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
