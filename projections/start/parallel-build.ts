import type { Header } from '../../events/facts/envelope.ts';
import type { LogReader } from '../../events/log/log-reader.ts';
import { areSomeInBucket } from '../../events/segments/segments.ts';
import type { RangePiece, RangeResult } from '../../events/verify/verify-ranges.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { removeDatabase } from '../tables/files.ts';
import type { Projection } from '../tables/projection.ts';
import { foldFirst, mergeShares, sharesOf } from './build-shares.ts';
import type { Helpers, Piece } from './helpers.ts';
import type { Progress } from './rebuild.ts';

/** A read file to be built by several threads: from the log in `db`, as it is on the disk, up to a position. */
type ParallelBuildTask = {
  path: string;
  made: Projection;
  db: Sqlite;
  log: LogReader;
  upTo: number;
  helpers: Helpers;
  /** The ranges of events that each other thread checks before its share. */
  ranges?: RangePiece[][];
  /** The caller's other work, as a share of the work of building the file in one thread. */
  alsoOwn?: number;
  progress?: Progress | undefined;
};

/** A read file that is being built. */
type ParallelBuild = {
  /**
   * Finishes the file. @param look is called with each header. @returns the results of the ranges; null if anything
   * failed.
   */
  finish: (look?: (header: Header) => void) => RangeResult[] | null;
  /** Ends running work, and removes all files except a finished read file. */
  end: () => void;
};

/** The share that reading all headers has in the work of building the file in one thread. */
const headersShare = 0.06;

/** The page cache of all threads together, in MiB. */
const cacheMiB = 256;

/**
 * Begins to build a read file with several threads: each folds a share of the documents into its own file, and the
 * files are merged. Null if that is not worth it.
 */
export function beginParallelBuild(task: ParallelBuildTask): ParallelBuild | null {
  const { path, made, db, log, upTo, helpers, ranges = [], alsoOwn = 0, progress } = task;
  // Segments in the bucket are fetched one after the other, by a thread that waits for each.
  if (upTo < helpers.fewest || areSomeInBucket(db)) return null;
  const count = helpers.threads;
  const rangesShare = ranges.length > 0 ? 0.16 : 0;
  const all = 1 + headersShare + rangesShare + alsoOwn;
  const own = Math.max(0, all / count - headersShare - alsoOwn);
  const shares = sharesOf(db, made.tables, { count, first: Math.round(own * 256) });
  const paths = shares.map((_, at) => `${path}-${at}`);
  const room = Math.max(16, Math.floor(cacheMiB / count));
  // Checking a range takes less time than folding its events, and comes first: the progress may be a little ahead.
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
