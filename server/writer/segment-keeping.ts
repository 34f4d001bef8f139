import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import type { PendingSegment, SegmentSizes } from '../../events/segments/segment-writer.ts';
import { isSystemError } from '../../storage/disk.ts';
import { messageOf } from '../../storage/errors.ts';
import type { SegmentOutcome } from './messages.ts';

/** The milliseconds that the deletion of a slice of rows or pages takes, about. */
const sliceMilliseconds = 8;
/** After a slice the writer rests for this many times as long. */
const restFactor = 9;
const retryMilliseconds = 5000;

type Options = {
  /** Null if no further segment is to be written. */
  sizes: SegmentSizes | null;
  /** Called when a segment is due. */
  onDue: () => void;
  /** Throws an error of the log, unless it may pass. */
  onFailure: (error: unknown) => void;
  /** Runs what writes to the log at a time when the writer does not. */
  between: (run: () => void) => void;
};

/**
 * The writer's part in archiving: makes the log name pending segments, and deletes archived payloads from the table and
 * their pages from the file, in slices between batches.
 */
export function keepSegments({ head, segments }: SqliteLog, { sizes, onDue, onFailure, between }: Options) {
  let timer: NodeJS.Timeout | undefined;
  let slice = 50;
  let dueAt = Number.POSITIVE_INFINITY;
  let isClosed = false;

  /** To be called when the log has grown. */
  function look(): void {
    const { size } = head();
    if (size < dueAt) return;
    // If the segment cannot be written, it is due again after further events.
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
      // An error of its file or folder: the log is as it was.
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
