import type { RangePiece, RangeResult } from '../../events/verify/verify-ranges.ts';
import type { SharePiece } from './build-shares.ts';

/** A piece of work that another thread can do. */
export type Piece = ({ kind: 'range' } & RangePiece) | ({ kind: 'share' } & SharePiece);

/** The result of a piece: the result of a range, or the number of events of a share. */
export type PieceResult = RangeResult | number;

/** Work that other threads are doing. */
export type HelperWork = {
  /**
   * Waits for all work. @returns the results of each thread, in the order of its pieces; null if anything has failed.
   */
  finish: () => PieceResult[][] | null;
  /** Ends running work, and waits until it has ended. */
  end: () => void;
};

/** Other threads, which work for a caller while it does not return. */
export type Helpers = {
  /** The number of threads that work, including the caller: at least two. */
  threads: number;
  /** The fewest events that are worth other threads: with fewer, the caller is done before others have begun. */
  fewest: number;
  /**
   * Has each of `threads - 1` other threads do its pieces, one after the other. @param told is called with the number
   * of events that were processed since.
   */
  begin: (pieces: readonly Piece[][], told: (events: number) => void) => HelperWork;
};

/**
 * A piece of work calls this again and again, with the number of events that it has processed since. Throws if the work
 * must end.
 */
export type Beat = (events: number) => void;
