import { isCurrent, signedClaims, signToken } from '../../callers/tokens.ts';

/** How long a preview token shows its preview. */
export const previewSeconds = 15 * 60;

/** The secrets of preview tokens, their site (null: the service has only one), and the time, in ms since the epoch. */
type Signing = { secrets: readonly string[]; site: string | null; now: number };

/**
 * Signs a preview token. It names its preview and nothing that the token of a session says: so neither passes for the
 * other.
 */
export function signPreview(preview: string, { secrets, site, now }: Signing): string {
  return signToken(secrets, { preview, ...(site === null ? {} : { site }) }, { ttlSec: previewSeconds, now });
}

/** The id of the preview that a token of this site shows; null for every other token, and one that has expired. */
export function openPreview(token: string, { secrets, site, now }: Signing): string | null {
  const { preview, iat, exp, sid, sub } = signedClaims(secrets, site, token) ?? {};
  if (typeof preview !== 'string' || sid !== undefined || sub !== undefined) return null;
  if (typeof iat !== 'number' || typeof exp !== 'number') return null;
  return isCurrent({ iat, exp }, now) ? preview : null;
}
