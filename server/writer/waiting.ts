import { DomainError } from '../../config/errors.ts';
import { UnknownOutcomeError } from '../../events/facts/log.ts';

/** How many commands of one thread may wait for the writer, before further ones are refused. */
export const mostWaiting = {
  /** So few wait as long as it takes, even if something holds up the writer for minutes. */
  few: 64,
  /** If more wait: the milliseconds that the first of them may have waited. */
  milliseconds: 250,
  /** If more wait: the milliseconds that the last of them may have to wait, by the writer's rate in the last second. */
  foreseen: 300,
  commands: 1000,
  /** The length of the commands as texts. */
  bytes: 32 * 1024 * 1024,
  /** Writes of one document, which the service decides one after the other. */
  ofOneStream: 128,
};

const retrySeconds = 1;

/** The refusal of a write because too many others wait. */
export function tooMany(): DomainError {
  const message = 'too many writes wait already: nothing of this one was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
}

/** The refusal of a write that a former configuration admitted. */
export function formerRules(): DomainError {
  const message = 'the configuration was changed meanwhile: nothing of this write was recorded, try again';
  return new DomainError('unavailable', message, [], retrySeconds);
}

/** The refusal of a write that could not be appended to the shared log in time. */
export function logUnreachable(): DomainError {
  const message = 'the log cannot be written at the moment: nothing of this write was recorded, try again later';
  return new DomainError('unavailable', message, [], retrySeconds);
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

/** The refusal of a write if the writer did not say in time whether it was recorded; null for another error. */
export function unknownRefusal(error: unknown): DomainError | null {
  if (!(error instanceof UnknownOutcomeError)) return null;
  const message =
    'it is not known whether this write was recorded: sent again with the same Idempotency-Key, it is recorded once';
  return new DomainError('outcome_unknown', message, [], retrySeconds);
}
