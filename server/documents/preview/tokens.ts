import { isCurrent, signedClaims, signToken } from '../../callers/tokens.ts';

/** How long a preview token opens a draft. */
export const previewSeconds = 15 * 60;

/**
 * Signs a preview token. It names its draft and nothing that a token of a session says, so that neither passes for the
 * other.
 *
 * @param site the site that the draft is of; null where the service has only one.
 * @param now milliseconds since the epoch.
 */
export function signPreview(secrets: readonly string[], draft: string, site: string | null, now: number): string {
  return signToken(secrets, { preview: draft, ...(site === null ? {} : { site }) }, previewSeconds, now);
}

/**
 * The id of the draft that a preview token of this site opens; null for every other token, and one that has expired.
 */
export function openPreview(
  secrets: readonly string[],
  token: string,
  site: string | null,
  now: number,
): string | null {
  const { preview, iat, exp, sid, sub } = signedClaims(secrets, site, token) ?? {};
  if (typeof preview !== 'string' || sid !== undefined || sub !== undefined) return null;
  if (typeof iat !== 'number' || typeof exp !== 'number') return null;
  return isCurrent({ iat, exp }, now) ? preview : null;
}
