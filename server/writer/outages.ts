import { DomainError } from '../../config/errors.ts';
import { UnknownOutcomeError } from '../../events/facts/log.ts';
import { SharedLogUnavailableError } from '../../events/replica/shared-log.ts';
import { messageOf } from '../../storage/errors.ts';
import type { ThreadParts } from './thread-parts.ts';

/** Why a write has no outcome; null for an error that is not of the shared log. */
export function failureOf(error: unknown): 'unknown' | 'unreachable' | null {
  if (error instanceof UnknownOutcomeError) return 'unknown';
  return error instanceof SharedLogUnavailableError ? 'unreachable' : null;
}

/** Tells the operator when something stops, and when it goes on: once each. */
export function openOutageNotice(say: ThreadParts['say'], [stopped, goesOn]: readonly [string, string]) {
  let isStopped = false;

  function tell(isNow: boolean, message: string): void {
    if (isNow !== isStopped) say({ kind: 'warning', message });
    isStopped = isNow;
  }

  return {
    stops: (why: unknown) => tell(true, `${stopped}: ${typeof why === 'string' ? why : messageOf(why)}`),
    goesOn: () => tell(false, goesOn),
  };
}

const retrySeconds = 1;

const unseen = 'this node does not see what other nodes have written: try again later';

/** The answer to a write that readers can see and that may still be lost. */
export const undecided = 'it is not known yet whether this was done: send it again later';

/** Waits for the shared log. @throws DomainError `unavailable` with `message` if the log does not answer in time. */
export async function orUnavailable(waiting: Promise<void>, message = unseen): Promise<void> {
  try {
    await waiting;
  } catch (error) {
    if (failureOf(error) === null) throw error;
    throw new DomainError('unavailable', message, [], retrySeconds);
  }
}
