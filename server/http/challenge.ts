import { DomainError } from '../../config/errors.ts';

/** The refusal of a token in the `authorization` header that is not valid, or no longer. */
export class InvalidTokenError extends DomainError {
  override name = 'InvalidTokenError';

  constructor() {
    super('unauthorized', 'the token is not valid, or its session has ended');
  }
}

const challenge = 'Bearer realm="annals"';
const challengeOfToken = `${challenge}, error="invalid_token"`;

/**
 * The `WWW-Authenticate` of a 401 (RFC 9110, section 11.6.1; RFC 6750, section 3). Only of `Bearer`: for `Basic` a
 * browser would open a dialog of its own. `x-api-key` has no scheme that could be named.
 */
export function challengeFor(error: Error): string {
  return error instanceof InvalidTokenError ? challengeOfToken : challenge;
}
