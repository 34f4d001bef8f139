import type { Model } from '../../config/model.ts';
import type { CountedCall } from '../ports.ts';
import type { AddHeaders } from './errors.ts';
import { minuteSeconds } from './limits.ts';

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** The counts of the calls like this one; absent for a call that is not counted. */
    counted?: CountedCall;
  }
}

/**
 * Tells the callers of counted routes how many calls they have left (draft-ietf-httpapi-ratelimit-headers-10). Of the
 * count of an e-mail address only that it is full: otherwise each caller could see how often others log in.
 *
 * @returns the addition; none if nothing is limited.
 */
export function tellRateLimit({ rateLimit }: Pick<Model, 'rateLimit'>): AddHeaders[] {
  if (!rateLimit) return [];
  const { address, email } = rateLimit;
  const policy = `"address";q=${address};w=${minuteSeconds}, "email";q=${email};w=${minuteSeconds}`;
  const tell: AddHeaders = ({ app: { counted } }, headers) => {
    if (counted === undefined) return;
    const { remaining, reset, emailWait } = counted;
    headers['ratelimit-policy'] = policy;
    headers.ratelimit = `"address";r=${remaining};t=${reset}${emailWait > 0 ? `, "email";r=0;t=${emailWait}` : ''}`;
  };
  return [tell];
}
