import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { App } from '../app.ts';
import { addressOf } from '../http/requests.ts';

/**
 * Counts a call of a public account route.
 *
 * @param email the address that the call is about; null if it is about none.
 * @throws DomainError `rate_limited` with the seconds to wait.
 */
export async function countCall({ passwords }: App, request: Request, email: string | null): Promise<void> {
  // Each route counts by itself: a caller who has mails sent to users does not keep them from logging in.
  const about = email === null ? null : `${request.route.path} ${email}`;
  const counted = await passwords.limit(addressOf(request), about);
  if (counted === null) return;
  request.app.counted = counted;
  const seconds = Math.max(counted.wait, counted.emailWait);
  if (seconds > 0) throw new DomainError('rate_limited', 'too many calls; try again later', [], seconds);
}
