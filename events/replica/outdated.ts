import type { MissingRows } from '../log/shipment.ts';

/**
 * Thrown when the shared log goes on with an event that this node cannot take: another configuration, or an event of a
 * newer version. All events before it are in the replica. The log is not at fault: other nodes go on with it.
 */
export class OutdatedError extends Error {
  override name = 'OutdatedError';
}

/** The rows before a position. */
export function partBefore(missing: MissingRows, position: number): MissingRows {
  const isBefore = (row: { position: number }) => row.position < position;
  return {
    from: missing.from,
    head: null,
    events: missing.events.filter(isBefore),
    claims: missing.claims.filter(isBefore),
    idempotencyRecords: missing.idempotencyRecords.filter(isBefore),
    erasures: missing.erasures.filter(isBefore),
  };
}
