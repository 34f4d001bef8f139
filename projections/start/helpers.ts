import type { RangeFound, RangePiece } from '../../events/verify/verify-ranges.ts';
import type { SharePiece } from './build-shares.ts';

/** A piece of work that another thread can do. */
export type Piece = ({ kind: 'range' } & RangePiece) | ({ kind: 'share' } & SharePiece);

/** The result of a piece: that of a range, or the number of events of a share. */
export type PieceResult = RangeFound | number;

/** Work that other threads are doing. */
export type Work = {
  /**
   * Waits for all of it. @returns the results of each thread, in the order of its pieces; null if anything has failed.
   */
  finish: () => PieceResult[][] | null;
  /** Ends what is still being done, and waits until nothing of it is. */
  end: () => void;
};

/** Other threads of a caller that does not return meanwhile. */
export type Helpers = {
  /** The number of threads that work, the caller among them: at least two. */
  threads: number;
  /** With fewer events a caller is done before others have begun. */
  fewest: number;
  /**
   * Has each of `threads - 1` others do its pieces, one after the other. @param told how many more events were gone
   * through.
   */
  begin: (pieces: readonly Piece[][], told: (events: number) => void) => Work;
};

/**
 * Called by a piece of work again and again: with the number of events that it has gone through since. Throws where it
 * is to end.
 */
export type Beat = (events: number) => void;
