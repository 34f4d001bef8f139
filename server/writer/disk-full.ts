import { DomainError } from '../../config/errors.ts';
import { isDiskFull } from '../../storage/sqlite.ts';

/** The refusal of what would have to be written to a disk that is full. */
export function diskFull(): DomainError {
  return new DomainError('unavailable', 'there is no room on the disk: nothing was written, try again later');
}

/** The refusal of a signature for which there is no room: a later try may succeed. */
export function diskFullAtSigning(): DomainError {
  return new DomainError('unavailable', 'there is no room on the disk to sign a checkpoint, try again later');
}

/** Whether work that can wait failed for want of room, or since the vault of the nodes did not answer. */
export function canWait(error: unknown): boolean {
  return isDiskFull(error) || (error instanceof DomainError && error.code === 'unavailable');
}
