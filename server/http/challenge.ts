import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';

const challenge = 'Bearer realm="annals"';
const challengeOfToken = `${challenge}, error="invalid_token"`;

/**
 * The `WWW-Authenticate` of a 401 (RFC 9110, section 11.6.1; RFC 6750, section 3). Only of `Bearer`: for `Basic` a
 * browser would open a dialog of its own. `x-api-key` has no scheme that could be named.
 */
export function challengeFor({ headers }: Request, error: Error): string {
  const isOfToken = error instanceof DomainError && error.code === 'invalid_token';
  return isOfToken && headers.authorization !== undefined ? challengeOfToken : challenge;
}
