import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { App } from '../app.ts';
import { addressOf } from '../requests.ts';

/**
 * Counts a call of a public account route.
 *
 * @param email the one that it is about; null where it is about none.
 * @throws DomainError `too-many` with the seconds to wait.
 */
export async function countCall({ keeper }: App, request: Request, email: string | null): Promise<void> {
  const seconds = await keeper.limit(addressOf(request), email);
  if (seconds > 0) throw new DomainError('too-many', 'too many calls; try again later', [], seconds);
}
