import { DomainError, isForNow } from '../../config/errors.ts';
import { isDiskFull } from '../../storage/sqlite.ts';

/** The refusal of a write on a full disk. */
export function diskFull(): DomainError {
  return new DomainError('disk_full', 'there is no room on the disk: nothing was written, try again later');
}

/** The refusal of a signature on a full disk. */
export function diskFullAtSigning(): DomainError {
  return new DomainError('disk_full', 'there is no room on the disk to sign a checkpoint, try again later');
}

/** Whether work may be tried again later: the disk was full, or the vault of the nodes did not answer. */
export function canWait(error: unknown): boolean {
  return isDiskFull(error) || isForNow(error);
}
