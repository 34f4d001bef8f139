import { UnknownOutcomeError } from '../facts/log.ts';
import { DivergedError } from '../log/ingesting.ts';
import type { Missed, SharedHead, Shipped } from '../log/shipped.ts';

/** How far a node has come: the size and the root of its replica. */
export type Reached = Pick<SharedHead, 'size' | 'root'>;

/** A size that the log had. `root`: the one that it had then, where it is known. */
export type Seen = { size: number; root?: Buffer };

/**
 * A log that several nodes append to, each of which has all of it in a replica of its own. Only the one that has taken
 * it appends, so conditions are decided on the replica, by the same code that decides them on a log of one's own.
 */
export type SharedLog = {
  /**
   * Waits until this node has the log for itself, and gives what it lacks.
   *
   * @param from where the replica ends.
   * @param within the milliseconds that waiting, deciding and shipping may take together.
   * @param hold the milliseconds that deciding may take: it is not taken any more after them; 2 seconds by default.
   * @throws SharedLogUnavailableError when it was not free in time; TooFarBehindError; LogWentBackError.
   */
  take: (from: Reached, within?: number, hold?: number) => Promise<Taken>;
  /**
   * Gives all that follows on a position, up to so many events; its `head` is null if there is more.
   *
   * @param after the position, with the root of a replica that ends there.
   * @param within the milliseconds that this may take.
   * @throws SharedLogUnavailableError, LogWentBackError.
   */
  tail: (after: Seen, limit: number, within?: number) => Promise<Missed>;
  /** Where the log ends now. @throws SharedLogUnavailableError, LogWentBackError. */
  head: () => Promise<SharedHead>;
  close: () => Promise<void>;
};

/**
 * The log, taken by this node. Exactly one of the three calls ends that; when one throws, it is no longer taken either.
 */
export type Taken = {
  /** Where the log ends. */
  head: SharedHead;
  /** The clock of the log, in milliseconds since the epoch: that of no node. */
  now: number;
  /**
   * Gives all that a replica lacks that ends at a position, from which this was taken or one after it; up to the head.
   */
  missed: (after: number) => Missed;
  /**
   * Appends what was decided on the replica, all or nothing. It is durable when this returns.
   *
   * @throws UnknownShipmentError when it may or may not have been appended; SharedLogUnavailableError when it was not;
   *   DivergedError when the log holds other things than the replica.
   */
  ship: (shipped: Shipped) => Promise<void>;
  /**
   * Gives it back, when all that is in it is durable: for what was found in it after its outcome was unknown. @throws
   * as ship.
   */
  confirm: () => Promise<void>;
  /** Gives it back unchanged. */
  release: () => Promise<void>;
};

/** Thrown when the shared log cannot be reached or taken in time. Nothing was appended. `cause` is for the operator. */
export class SharedLogUnavailableError extends Error {
  override name = 'SharedLogUnavailableError';
}

/**
 * Thrown when it is not known whether a shipment was appended. The way to know: undo it on the replica, take the log,
 * and only then look for the id of an event of it. That it is missing from a log that was not taken proves nothing: the
 * former session may still append it.
 */
export class UnknownShipmentError extends UnknownOutcomeError {
  override name = 'UnknownShipmentError';
}

/** Thrown when a replica lacks more than can be caught up while the log is taken: `tail` comes first. */
export class TooFarBehindError extends Error {
  override name = 'TooFarBehindError';
}

/**
 * Thrown when the shared log has lost events that this node has seen, or holds others in their place: acknowledged
 * writes are lost, as after a failover to a standby that was not synchronous, or the restore of a backup. The replica
 * has them still.
 */
export class LogWentBackError extends DivergedError {
  override name = 'LogWentBackError';
}

/** Thrown when the log is not in this place: it has not arrived yet, or has left. No node works on it. */
export class LogMovedError extends DivergedError {
  override name = 'LogMovedError';
}

/** @throws LogWentBackError when a log that ends at `head` cannot be the one that ended at `seen`. */
export function refuseLoss(head: SharedHead, seen: Seen): void {
  if (head.size < seen.size)
    throw new LogWentBackError(`the log went back: it ends at ${head.size}, this node has seen ${seen.size}`);
  if (head.size === seen.size && seen.root && !head.root.equals(seen.root))
    throw new LogWentBackError(`the log went back: at ${head.size} it holds other events than this node has seen`);
}
