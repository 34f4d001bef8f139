import type { Missed } from '../log/shipped.ts';

/**
 * Thrown where the shared log goes on with what this node cannot take: another configuration, or events of a newer
 * version. All before it is in the replica. Nothing is wrong with the log: other nodes go on with it.
 */
export class OutdatedError extends Error {
  override name = 'OutdatedError';
}

/** The rows of a log up to a position, which is not among them. */
export function partBefore(missed: Missed, position: number): Missed {
  const isBefore = (row: { position: number }) => row.position < position;
  return {
    from: missed.from,
    head: null,
    events: missed.events.filter(isBefore),
    claims: missed.claims.filter(isBefore),
    attempts: missed.attempts.filter(isBefore),
    erasures: missed.erasures.filter(isBefore),
  };
}
