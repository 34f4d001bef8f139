import { createRequire } from 'node:module';
import type Jwt from '@hapi/jwt';
import { createCache } from '../../projections/cache.ts';

/** What a token of a session says (RFC 7519). Times are seconds since the epoch. */
export type Claims = { sub: string; collection: string; sid: string; iat: number; exp: number };

const require = createRequire(import.meta.url);
/** Loaded for the first token: with what it brings to fetch keys, which we never do, it costs more than the main thread's own. */
const jwt = () => (require('@hapi/jwt') as typeof Jwt).token;

/** Clocks of several machines differ: a token from further in the future than this was not made by us. */
const skewSeconds = 60;

/** Signs a token of a session, HS256; the first secret signs. `now` is milliseconds since the epoch. */
export function signToken(
  [secret = '']: readonly string[],
  claims: Pick<Claims, 'sub' | 'collection' | 'sid'>,
  ttlSec: number,
  now: number,
): string {
  return jwt().generate(claims, { key: secret, algorithm: 'HS256' }, { ttlSec, now });
}

/**
 * Reads tokens: null for one that no secret of ours has signed, that is expired, or that is no token of a session. What
 * was verified once is not again, for that costs more than the rest of a read.
 */
export function tokenReader(secrets: readonly string[]): (token: string, now: number) => Claims | null {
  const verified = createCache<Claims>();

  function read(token: string): Claims | null {
    try {
      const artifacts = jwt().decode(token);
      return secrets.some((secret) => isSignedBy(artifacts, secret)) ? claimsIn(artifacts.decoded.payload) : null;
    } catch {
      return null;
    }
  }

  return (token, now) => {
    const known = verified.get(token);
    const claims = known ?? read(token);
    if (!claims) return null;
    if (!known) verified.set(token, claims);
    const seconds = now / 1000;
    return claims.exp > seconds && claims.iat <= seconds + skewSeconds ? claims : null;
  };
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

function claimsIn({ sub, collection, sid, iat, exp }: { [name: string]: unknown }): Claims | null {
  if (typeof sub !== 'string' || typeof collection !== 'string' || typeof sid !== 'string') return null;
  return typeof iat === 'number' && typeof exp === 'number' ? { sub, collection, sid, iat, exp } : null;
}
