import type { RecordedEvent } from '../facts/log.ts';
import { NewerEventError } from '../log/ingesting.ts';
import type { MissingRows } from '../log/shipment.ts';
import type { SqliteLog } from '../log/sqlite-log.ts';
import { OutdatedError, partBefore } from './outdated.ts';

/**
 * A replica and the read tables that follow it.
 *
 * @param replica the log of this node, to which only its shared writer writes; its ids and times are made with the
 * shared clock.
 * @param apply is told all events of the log, in their order, once each, when they are in the replica: for the read
 * tables.
 * @param refuses why an event that another node has appended may not be taken into the replica; null if it may.
 */
export type ReplicaParts = {
  replica: Pick<SqliteLog, 'head' | 'range' | 'prepare' | 'ingest'>;
  apply: (recorded: readonly RecordedEvent[]) => void;
  refuses: (event: MissingRows['events'][number]) => string | null;
};

/**
 * Takes rows into the replica. A page that is already overtaken is left out.
 *
 * @throws OutdatedError at an event that this node may not take: all before it is in the replica.
 */
export function ingest(parts: ReplicaParts, missing: MissingRows): void {
  if (missing.from !== parts.replica.head().size) return;
  const refused = missing.events.find((event) => parts.refuses(event) !== null);
  if (refused) {
    takeIn(parts, partBefore(missing, refused.position));
    throw new OutdatedError(parts.refuses(refused) ?? '');
  }
  try {
    takeIn(parts, missing);
  } catch (error) {
    if (!(error instanceof NewerEventError)) throw error;
    takeIn(parts, partBefore(missing, error.position));
    throw new OutdatedError(error.message, { cause: error });
  }
}

/** The same; gives the OutdatedError in place of throwing it. */
export function ingestUntilOutdated(parts: ReplicaParts, missing: MissingRows): OutdatedError | null {
  try {
    ingest(parts, missing);
    return null;
  } catch (error) {
    if (error instanceof OutdatedError) return error;
    throw error;
  }
}

function takeIn({ replica, apply }: ReplicaParts, missing: MissingRows): void {
  if (missing.events.length === 0 && missing.idempotencyRecords.length === 0) return;
  const recorded = replica.ingest(missing);
  if (recorded.length > 0) apply(recorded);
}
