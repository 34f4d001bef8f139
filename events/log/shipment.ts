import type { Header } from '../facts/envelope.ts';
import type { IdempotencyRecord, RecordedEvent } from '../facts/log.ts';
import type { Head } from '../proof/seals.ts';

/** A head as nodes that share a log tell it to each other: each seals its own. */
export type SharedHead = Omit<Head, 'mac'>;

/** An event as the log stores it. `header` is the leaf of the tree, byte for byte; `body` the payload, encoding 0. */
type ShippedEvent = Pick<Header, 'position' | 'id' | 'stream' | 'version'> & { header: string; body: string };

/**
 * A unique value that a stream takes or gives up. `position`: that of the first event of the command, so no two
 * commands have the same. At one position those that are given up come first: a command may take what it gives up.
 */
export type ShippedClaim = { position: number; stream: string; scope: string; value: string; isTaken: boolean };

/**
 * The first answer under an idempotency key. `recordedAt`: when it was kept, in milliseconds since the epoch. It
 * replaces an older record with this key. A command without an event in its own stream has the position of the event
 * before it.
 */
export type ShippedIdempotencyRecord = IdempotencyRecord & {
  position: number;
  stream: string;
  version: number;
  recordedAt: number;
};

/**
 * The part of the log that the erasure at a position takes out of it, of all that was appended before it and with it.
 * `payloads`: the positions of the payloads. `streams`: those whose claims go, and whose changes of claims at positions
 * up to this one. `idempotencyOf`: the streams whose idempotency records go. `files`: SHA-256 of the files to be
 * removed if nothing else needs them.
 */
export type ShippedErasure = {
  position: number;
  payloads: number[];
  streams: string[];
  idempotencyOf: string[];
  files: string[];
};

/**
 * All that one transaction writes to a log after `from` events, in rows that another store can keep. In the order of
 * positions; at one position claims come before an erasure, and the erasure before an idempotency record.
 */
export type Shipment = {
  from: number;
  head: SharedHead;
  events: ShippedEvent[];
  claims: ShippedClaim[];
  idempotencyRecords: ShippedIdempotencyRecord[];
  erasures: ShippedErasure[];
};

/**
 * The rows that a replica lacks: those of any number of shipments, cut at any event. `head` is the head after the last
 * event; null if more rows follow before the head of the log. `body` is null if the payload was erased since; the
 * claims and idempotency records that the erasure took are not there either.
 */
export type MissingRows = Pick<Shipment, 'from' | 'claims' | 'idempotencyRecords'> & {
  head: SharedHead | null;
  events: (Omit<ShippedEvent, 'body'> & { body: string | null })[];
  erasures: Pick<ShippedErasure, 'position' | 'files'>[];
};

/**
 * The rows of a transaction that are not in its headers, gathered while it is written. `bodies`: the payload of each
 * event.
 */
export type Rows = Pick<Shipment, 'claims' | 'idempotencyRecords' | 'erasures'> & { bodies: string[] };

export function newRows(): Rows {
  return { bodies: [], claims: [], idempotencyRecords: [], erasures: [] };
}

/** Forgets the rows that are gathered from now on. @returns the function that does. */
export function markRows({ bodies, claims, idempotencyRecords, erasures }: Rows): () => void {
  const lists: unknown[][] = [bodies, claims, idempotencyRecords, erasures];
  const lengths = lists.map(({ length }) => length);
  return () => {
    lists.forEach((list, at) => {
      list.length = lengths[at] as number;
    });
  };
}

/**
 * The rows of a transaction that leads from one head to another. `leaves`: the headers of the events as they are
 * stored.
 */
export function shipmentOf(
  { recorded, leaves, rows }: { recorded: readonly RecordedEvent[]; leaves: readonly string[]; rows: Rows },
  { before, after }: { before: Head; after: Head },
): Shipment {
  const { bodies, ...others } = rows;
  const { mac: _, ...head } = after;
  const events = recorded.map(({ header: { position, id, stream, version } }, at) => {
    return { position, id, stream, version, header: leaves[at] as string, body: bodies[at] as string };
  });
  return { from: before.size, head, events, ...others };
}
