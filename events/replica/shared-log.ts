import { UnknownOutcomeError } from '../facts/log.ts';
import { DivergedError } from '../log/ingesting.ts';
import type { MissingRows, SharedHead, Shipment } from '../log/shipment.ts';

/** The end of a replica. */
export type ReplicaEnd = Pick<SharedHead, 'size' | 'root'>;

/** An end that the log has had; with its root if that is known. */
export type KnownEnd = { size: number; root?: Buffer };

/**
 * A log that several nodes append to, each of which has all of it in its replica. Only the node that has taken the log
 * appends, so conditions are decided on the replica, by the same code as for a log with one writer.
 */
export type SharedLog = {
  /**
   * Waits until this node has the log for itself, and gives the rows that the node lacks.
   *
   * @param from the end of the replica.
   * @param within the milliseconds that waiting, deciding and shipping may take together.
   * @param hold the milliseconds that deciding may take: after them the node loses the log. By default
   * `holdMilliseconds`.
   * @throws SharedLogUnavailableError when the log was not free in time; TooFarBehindError; LogWentBackError.
   */
  take: (from: ReplicaEnd, within?: number, hold?: number) => Promise<TakenLog>;
  /**
   * Gives the rows that follow on a position, of at most `limit` events; `head` is null if there are more.
   *
   * @param after the position, with the root of a replica that ends there.
   * @param within the milliseconds that this may take.
   * @throws SharedLogUnavailableError, LogWentBackError.
   */
  tail: (after: KnownEnd, limit: number, within?: number) => Promise<MissingRows>;
  /** Gives the end of the log. @throws SharedLogUnavailableError, LogWentBackError. */
  head: () => Promise<SharedHead>;
  close: () => Promise<void>;
};

/**
 * The log, taken by this node. Exactly one call of `ship`, `confirm` or `release` gives it back; also a call that
 * throws has given it back.
 */
export type TakenLog = {
  /** The end of the log. */
  head: SharedHead;
  /** The clock of PostgreSQL, in milliseconds since the epoch. */
  now: number;
  /**
   * Gives the rows up to the head that a replica lacks.
   *
   * @param after the end of the replica: the `from` of `take`, or a later position.
   */
  missing: (after: number) => MissingRows;
  /**
   * Appends all rows that were decided on the replica, or none. They are durable when this returns.
   *
   * @throws UnknownShipmentError when they may or may not have been appended; SharedLogUnavailableError when they were
   * not; DivergedError when the log holds other things than the replica.
   */
  ship: (shipment: Shipment) => Promise<void>;
  /**
   * Returns when all that is in the log is durable: for a shipment that was found in it after its outcome was unknown.
   *
   * @throws as ship.
   */
  confirm: () => Promise<void>;
  /** Gives the log back unchanged. */
  release: () => Promise<void>;
};

/** Thrown when the shared log cannot be reached or taken in time; nothing was appended. `cause` is for the operator. */
export class SharedLogUnavailableError extends Error {
  override name = 'SharedLogUnavailableError';
}

/**
 * Thrown when it is not known whether a shipment was appended. To find out, undo it on the replica, take the log, and
 * only then look for the id of one of its events. Before the log is taken a missing event proves nothing: the former
 * session may still append it.
 */
export class UnknownShipmentError extends UnknownOutcomeError {
  override name = 'UnknownShipmentError';
}

/** Thrown when a replica lacks more events than a node may take in while others wait: `tail` comes first. */
export class TooFarBehindError extends Error {
  override name = 'TooFarBehindError';
}

/**
 * Thrown when the shared log has lost events that this node has seen, or holds others in their place. Acknowledged
 * writes are lost, as after a failover to a standby that was not synchronous, or the restore of a backup; the replica
 * still has them.
 */
export class LogWentBackError extends DivergedError {
  override name = 'LogWentBackError';
}

/** Thrown when the log is not in this database: it has not arrived yet, or has left. No node may work on it. */
export class LogMovedError extends DivergedError {
  override name = 'LogMovedError';
}

/** @throws LogWentBackError when a log that ends at `head` cannot be the one that ended at `seen`. */
export function refuseLoss(head: SharedHead, seen: KnownEnd): void {
  if (head.size < seen.size)
    throw new LogWentBackError(`the log went back: it ends at ${head.size}, this node has seen ${seen.size}`);
  if (head.size === seen.size && seen.root && !head.root.equals(seen.root))
    throw new LogWentBackError(`the log went back: at ${head.size} it holds other events than this node has seen`);
}
