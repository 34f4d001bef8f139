import { DomainError } from '../../config/errors.ts';
import { UnknownOutcomeError } from '../../events/facts/log.ts';
import { SharedLogUnavailableError } from '../../events/replica/shared-log.ts';
import { messageOf } from '../../storage/errors.ts';
import type { ThreadParts } from './thread-parts.ts';

/** Why a write has no outcome; null for an error that is not of the shared log. */
export function kindOf(error: unknown): 'unknown' | 'unreachable' | null {
  if (error instanceof UnknownOutcomeError) return 'unknown';
  return error instanceof SharedLogUnavailableError ? 'unreachable' : null;
}

/** Makes what tells the operator once that something stops, and once that it goes on. */
export function openTelling(say: ThreadParts['say'], [stopped, goesOn]: readonly [string, string]) {
  let isTold = false;

  function tell(isNow: boolean, message: string): void {
    if (isNow !== isTold) say({ kind: 'warning', message });
    isTold = isNow;
  }

  return {
    stops: (why: unknown) => tell(true, `${stopped}: ${typeof why === 'string' ? why : messageOf(why)}`),
    goesOn: () => tell(false, goesOn),
  };
}

const retrySeconds = 1;

const unseen = 'this node does not see what other nodes have written: try again later';

/** The answer to a write that can be seen and may yet be lost. */
export const undecided = 'it is not known yet whether this was done: send it again later';

/** Waits for what this node has to see. @throws DomainError `unavailable`, where it does not see it in time. */
export async function told(waiting: Promise<void>, message = unseen): Promise<void> {
  try {
    await waiting;
  } catch (error) {
    if (kindOf(error) === null) throw error;
    throw new DomainError('unavailable', message, [], retrySeconds);
  }
}
