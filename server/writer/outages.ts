import { DomainError } from '../../config/errors.ts';
import { UnknownOutcomeError } from '../../events/log.ts';
import { SharedLogUnavailableError } from '../../events/shared-log.ts';
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

/** Waits for what this node has to see. @throws DomainError `unavailable`, where it does not see it in time. */
export async function told(waiting: Promise<void>): Promise<void> {
  try {
    await waiting;
  } catch (error) {
    if (!(error instanceof SharedLogUnavailableError)) throw error;
    const message = 'this node does not see what other nodes have written: try again later';
    throw new DomainError('unavailable', message, [], retrySeconds);
  }
}
