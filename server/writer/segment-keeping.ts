import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import type { PendingSegment, SegmentSizes } from '../../events/segments/segment-writer.ts';
import { isSystemError } from '../../storage/disk.ts';
import { messageOf } from '../../storage/errors.ts';
import type { SegmentOutcome } from './messages.ts';

/**
 * A slice of rows or pages is as many as are gone in about so many milliseconds; then the writer rests for so many
 * times as long.
 */
const sliceMilliseconds = 8;
const restFactor = 9;
const retryMilliseconds = 5000;

type Options = {
  /** Null: no further segment is written. */
  sizes: SegmentSizes | null;
  /** Called when there are enough events for a segment. */
  onDue: () => void;
  /** Throws an error of the log that does not pass. */
  onFailure: (error: unknown) => void;
  /** Runs what writes to the log when the writer does not; at once by default. */
  between?: (run: () => void) => void;
};

/**
 * The writer's part in sealing: makes segments of drafts, and empties the table and the file of what they hold in
 * slices between its batches.
 */
export function keepSegments(
  { head, segments }: SqliteLog,
  { sizes, onDue, onFailure, between = (run) => run() }: Options,
) {
  let timer: NodeJS.Timeout | undefined;
  let slice = 50;
  let dueAt = Number.POSITIVE_INFINITY;
  let isClosed = false;

  /** To be called when the log has grown. */
  function look(): void {
    const { size } = head();
    if (size < dueAt) return;
    // Again with further events, where it could not be done.
    dueAt = size + Math.ceil(size / 100);
    onDue();
  }

  function keep(pending: PendingSegment): SegmentOutcome {
    try {
      const isKept = segments.keep(pending);
      findDue();
      shedSoon(0);
      return { isKept, failure: null };
    } catch (error) {
      // Of its file or folder: the log is as it was.
      if (isSystemError(error)) return { isKept: false, failure: messageOf(error) };
      onFailure(error);
      return { isKept: false, failure: null };
    }
  }

  function shedSoon(pause: number): void {
    clearTimeout(timer);
    timer = setTimeout(() => between(shed), pause).unref();
  }

  function shed(): void {
    if (isClosed) return;
    const began = performance.now();
    try {
      const hasMore = segments.shed(slice) || segments.shrink(slice);
      const took = performance.now() - began;
      slice = Math.min(4000, Math.max(20, Math.round(slice * Math.min(2, sliceMilliseconds / took))));
      if (hasMore) shedSoon(restFactor * took);
    } catch (error) {
      onFailure(error);
      shedSoon(retryMilliseconds);
    }
  }

  function findDue(): void {
    if (sizes !== null) dueAt = segments.dueAt(sizes);
  }

  findDue();
  shedSoon(0);
  look();
  return {
    look,
    keep,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
