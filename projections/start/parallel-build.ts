import type { Header } from '../../events/facts/envelope.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { areSomeInBucket } from '../../events/segments/segments.ts';
import type { RangeFound, RangePiece } from '../../events/verify/verify-ranges.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { foldFirst, mergeShares, shareOut } from './build-shares.ts';
import type { Helpers, Piece } from './helpers.ts';
import type { Progress } from './rebuild.ts';

/**
 * A read file to be made by several threads: of the log in `db`, which is read as it is on the disk, up to a position.
 */
export type Task = {
  path: string;
  made: Projection;
  db: Sqlite;
  log: LogReader;
  upTo: number;
  helpers: Helpers;
  /** Ranges of events that the other threads check before, some for each. */
  ranges?: RangePiece[][];
  /** The caller's other work, as a share of making the file in one thread. */
  alsoOwn?: number;
  progress?: Progress | undefined;
};

/** A read file that is being made. */
export type Making = {
  /** Finishes it. @param look is shown each header. @returns the results of the ranges; null where anything failed. */
  finish: (look?: (header: Header) => void) => RangeFound[] | null;
  /** Ends all that is still being done, and removes all but a finished file. */
  end: () => void;
};

/** The share of the caller's work that reading all headers is, when it makes the file alone. */
const headersShare = 0.06;

/** So many MiB of pages all threads have together. */
const cacheMiB = 256;

/**
 * Has the read file made by several threads: each folds a share of the documents into a file of its own, and the files
 * are merged. Null where it is not worth it.
 */
export function beginTogether(task: Task): Making | null {
  const { path, made, db, log, upTo, helpers, ranges = [], alsoOwn = 0, progress } = task;
  // Segments in the bucket are fetched one after the other, by the thread that waits for them.
  if (upTo < helpers.fewest || areSomeInBucket(db)) return null;
  const count = helpers.threads;
  const rangesShare = ranges.length > 0 ? 0.16 : 0;
  const all = 1 + headersShare + rangesShare + alsoOwn;
  const own = Math.max(0, all / count - headersShare - alsoOwn);
  const shares = shareOut(db, made.tables, { count, first: Math.round(own * 256) });
  const paths = shares.map((_, at) => `${path}-${at}`);
  const room = Math.max(16, Math.floor(cacheMiB / count));
  // A range takes less than the same events of a share, and is in front of it: the bar may be a little ahead.
  const toDo = upTo + ranges.flat().reduce((sum, range) => sum + range.upTo - range.after, 0);
  let done = 0;
  const tell = (events: number) => {
    done += events;
    progress?.(Math.min(Math.floor((done * upTo) / toDo), upTo), upTo);
  };
  const { epochs } = made;
  const pieces = shares.slice(1).map((share, at): Piece[] => {
    const checks = (ranges[at] ?? []).map((range): Piece => ({ kind: 'range', ...range }));
    return [...checks, { kind: 'share', path: `${path}-${at + 1}`, log: db.name, upTo, epochs, share, cacheMiB: room }];
  });
  const work = helpers.begin(pieces, tell);

  function finish(look?: (header: Header) => void) {
    const [share] = shares;
    if (!share) return null;
    const folded = foldFirst({ path: `${path}-0`, log, upTo, made, share, cacheMiB: room }, { beat: tell, look });
    const results = work.finish();
    if (!results) return null;
    const found = results.flat();
    const counts = found.filter((result) => typeof result === 'number');
    if (counts.reduce((sum, one) => sum + one, folded) !== upTo) return null;
    mergeShares(path, paths, { tables: made.tables, cacheMiB });
    return found.filter((result) => typeof result !== 'number');
  }

  function end(): void {
    work.end();
    for (const part of paths) removeDatabase(part);
  }

  return { finish, end };
}
