import { DomainError } from '../../config/errors.ts';

/** The refusal of what would have to be written to a disk that is full. */
export function noRoom(): DomainError {
  return new DomainError('unavailable', 'there is no room on the disk: nothing was written, try again later');
}

/** The refusal of a signature for which there is no room: a later try may succeed. */
export function noRoomToSign(): DomainError {
  return new DomainError('unavailable', 'there is no room on the disk to sign a checkpoint, try again later');
}
