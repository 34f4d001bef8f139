import { DomainError } from '../../config/errors.ts';
import { UnknownOutcomeError } from '../../events/facts/log.ts';
import { movedAway } from '../../events/store/moved.ts';

/** How much may wait in one thread to be written, before callers are told to come again. */
export const mostWaiting = {
  /** So many wait as long as it takes, even where a writer is held up for minutes. */
  few: 64,
  /** Where there are more, this is for how long the first of them may have waited, in milliseconds. */
  milliseconds: 250,
  /**
   * And for how long the last of them will have waited, in milliseconds, by what the writer has done in the last second
   * of such a load.
   */
  foreseen: 300,
  commands: 1000,
  /** Of the texts of the commands. */
  bytes: 32 * 1024 * 1024,
  /** Writes of one document, which are decided one after the other. */
  ofOneStream: 128,
};

const retrySeconds = 1;

/** The refusal of a write that would have to wait behind too many others. */
export function tooMany(): DomainError {
  const message = 'too many writes wait already: nothing of this one was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}

/** The refusal of a write that was admitted under a configuration which is not in force any more. */
export function formerRules(): DomainError {
  const message = 'the configuration was changed meanwhile: nothing of this write was recorded, try again';
  return new DomainError('unavailable', message, [], retrySeconds);
}

/** The refusal of a write that could not be appended to the shared log in time. */
export function logUnreachable(): DomainError {
  const message = 'the log cannot be written at the moment: nothing of this write was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}

/** The refusal of a write to a log that has moved. */
export function logMoved(): DomainError {
  return new DomainError('unavailable', movedAway);
}

/** The refusal of what waits for a writer that has ended: the next start goes on. */
export function writerEnded(): DomainError {
  return new DomainError(
    'unavailable',
    'the service cannot write any more, and ends: try again later',
    [],
    retrySeconds,
  );
}

/** The refusal of a write of which the writer did not say in time whether it was recorded; null for another error. */
export function unknownRefusal(error: unknown): DomainError | null {
  if (!(error instanceof UnknownOutcomeError)) return null;
  const message =
    'it is not known whether this write was recorded: sent again with the same Idempotency-Key, it is recorded once';
  return new DomainError('unavailable', message, [], retrySeconds);
}
