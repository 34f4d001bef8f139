import type { Header } from '../facts/envelope.ts';
import type { IdempotencyRecord, RecordedEvent } from '../facts/log.ts';
import type { Head } from '../proof/seals.ts';

/** A head as nodes that share a log tell it to each other: each seals its own. */
export type SharedHead = Omit<Head, 'mac'>;

/** An event as the log stores it. `header` is the leaf of the tree, byte for byte; `body` the payload, encoding 0. */
export type ShippedEvent = Pick<Header, 'position' | 'id' | 'stream' | 'version'> & { header: string; body: string };

/**
 * A unique value that a stream takes or gives up. `position`: that of the first event of the command, so no two
 * commands have the same. At one position no value is twice, but at that of a changed schema: there those that are
 * given up come first.
 */
export type ShippedClaim = { position: number; stream: string; scope: string; value: string; isTaken: boolean };

/**
 * The first answer to an attempt, and when it was kept, in milliseconds since the epoch. It takes the place of one with
 * its key. A command without an event in its own stream answers with the position of the event before it.
 */
export type ShippedAttempt = IdempotencyRecord & {
  position: number;
  stream: string;
  version: number;
  recordedAt: number;
};

/**
 * The part of the log that the erasure at a position takes out of it, of all that was appended before it and with it.
 * `payloads`: the positions of the payloads. `streams`: those whose claims go, and whose changes of claims at positions
 * up to this one. `attemptsOf`: the streams whose attempts go. `files`: SHA-256 of the files to be removed where
 * nothing else needs them.
 */
export type ShippedErasure = {
  position: number;
  payloads: number[];
  streams: string[];
  attemptsOf: string[];
  files: string[];
};

/**
 * All that one transaction writes to a log after `from` events, in rows that another store can keep. In the order of
 * positions; at one position claims come before an erasure, and that before an attempt.
 */
export type Shipped = {
  from: number;
  head: SharedHead;
  events: ShippedEvent[];
  claims: ShippedClaim[];
  attempts: ShippedAttempt[];
  erasures: ShippedErasure[];
};

/**
 * The rows that a replica lacks: those of any number of {@link Shipped}, cut at any event. `head` is the one after the
 * last event; null where more is to come before the head is reached. `body` is null where the payload was erased since,
 * and so are the claims and attempts not there that the erasure took.
 */
export type Missed = Pick<Shipped, 'from' | 'claims' | 'attempts'> & {
  head: SharedHead | null;
  events: (Omit<ShippedEvent, 'body'> & { body: string | null })[];
  erasures: Pick<ShippedErasure, 'position' | 'files'>[];
};

/**
 * The rows of a transaction that are not in its headers, gathered while it is written. `bodies`: the payload of each
 * event.
 */
export type Rows = Pick<Shipped, 'claims' | 'attempts' | 'erasures'> & { bodies: string[] };

export function newRows(): Rows {
  return { bodies: [], claims: [], attempts: [], erasures: [] };
}

/** Forgets the rows that are gathered from now on. @returns the function that does. */
export function markRows({ bodies, claims, attempts, erasures }: Rows): () => void {
  const lists: unknown[][] = [bodies, claims, attempts, erasures];
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
export function shippedOf(
  { recorded, leaves, rows }: { recorded: readonly RecordedEvent[]; leaves: readonly string[]; rows: Rows },
  { before, after }: { before: Head; after: Head },
): Shipped {
  const { bodies, ...others } = rows;
  const { mac: _, ...head } = after;
  const events = recorded.map(({ header: { position, id, stream, version } }, at) => {
    return { position, id, stream, version, header: leaves[at] as string, body: bodies[at] as string };
  });
  return { from: before.size, head, events, ...others };
}
