import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import { SegmentError, SegmentOffloadedError } from '../../events/segments/offloaded.ts';
import { isSystemError } from '../../storage/disk.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { DamagedPageError } from '../../storage/pages.ts';
import { emptyWal, type Hindrance, hindranceOf, openCleaner } from '../../storage/scrub.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { lookInto, removeDatabase, removeFormerReadFiles, syncPath } from './files.ts';
import { removeOtherSearchFiles, searchStateOf } from './search-tables.ts';

/** Which files of an erasure are still in their store. */
export type Remaining = { position: number; files: string[] };

/**
 * `reader`: another process has old pages in use, or a copy of its own. `search`: the thread that writes the search
 * file has not cleaned it yet, or it cannot be read. `segments`: some are not written anew yet. `objects`: the bucket
 * may have some that were. `damage`: a page or a segment is not what it should be, or a file is too large. `disk`: it
 * does not let files go that are beside the log and the read tables, or has left the read tables behind.
 */
export type Obstacle = 'reader' | 'search' | 'segments' | 'objects' | 'damage' | 'disk' | Hindrance;

/** `said`: the error that is the reason, for the operator. */
export type Scrubbed = { isClean: true } | { isClean: false; because: Obstacle; said?: string };

/** `busy`: a reader is in the way of the next step, perhaps for a moment only. */
export type ScrubStep = Scrubbed | 'going' | 'busy';

export type Scrubber = ReturnType<typeof openScrubber>;

/** `databases`: both data files, as their only writer has them open. `searchFile`: null without one. */
type Options = {
  directory: string;
  databases: readonly [log: Sqlite, read: Sqlite];
  searchFile?: string | null;
  log: SqliteLog;
};

/**
 * Makes what clears a data directory of what was erased; for the one thread that writes it, which each step holds up
 * for some ten milliseconds.
 */
export function openScrubber({ directory, databases, searchFile = null, log }: Options) {
  const readFile = databases[1].name;
  const cleaners = databases.map((db) => openCleaner(db));
  const selectReached = databases[1].prepare<[], number>('SELECT position FROM checkpoint').pluck();
  /**
   * The erasures up to this position have left nothing in the pages of the files. Not known of those before this
   * process.
   */
  let cleanedUpTo = 0;
  /** The erasure that is worked on with all before it, and the file that is being cleaned. */
  let newest: number | null = null;
  let current = 0;

  /** Notes which stored files are left; {@link step} then does the rest. */
  function begin(remaining: readonly Remaining[]): void {
    for (const { position, files } of remaining) {
      if (log.erasures.at(position)?.files.length === files.length) continue;
      log.erasing.setFiles(position, files);
      // Their hashes are not to be left either.
      cleanedUpTo = Math.min(cleanedUpTo, position - 1);
    }
    newest = log.erasures.unfinished().at(-1)?.position ?? null;
  }

  /**
   * Cleans a part of the files where something was erased since the last time, and at last ends the erasures of which
   * nothing is left anywhere.
   *
   * @param isSearchKept whether a thread keeps the search file, and cleans it; else it is removed, for the next start
   * to make it anew.
   */
  function step(isSearchKept: boolean): ScrubStep {
    if (newest === null) return { isClean: true };
    // A full disk may have kept what was erased in them, until the next write brings them up to date.
    if ((selectReached.get() ?? 0) < newest) {
      stop();
      return { isClean: false, because: 'disk', said: 'the read tables are behind the log' };
    }
    try {
      if (newest > cleanedUpTo) {
        const result = cleaners[current]?.step();
        if (result === 'busy') return 'busy';
        if (result === 'done') current += 1;
        if (current < cleaners.length) return 'going';
        cleanedUpTo = newest;
      }
    } catch (error) {
      return hindered(error, null);
    }
    stop();
    try {
      return finish(newest, isSearchKept);
    } catch (error) {
      return hindered(error, 'disk');
    }
  }

  /**
   * Only `log.db` and the read tables are no longer to be trusted after an error that is not understood.
   *
   * @param ofOthers what an error of the system means where it can be one of other files only.
   * @throws the error, where it is not one that may pass or be mended.
   */
  function hindered(error: unknown, ofOthers: 'disk' | null): Scrubbed {
    stop();
    // They are written anew by another thread, which may wait for the bucket.
    if (error instanceof SegmentOffloadedError) return { isClean: false, because: 'segments' };
    const isDamage = error instanceof DamagedPageError || error instanceof SegmentError;
    const because = isDamage ? 'damage' : (hindranceOf(error) ?? (isSystemError(error) ? ofOthers : null));
    if (because === null) throw error;
    return { isClean: false, because, said: messageOf(error) };
  }

  function finish(position: number, isSearchKept: boolean): Scrubbed {
    if (log.segments.hasRemovals()) return { isClean: false, because: 'segments' };
    if (!removeReplays(directory) || !emptyWal(databases[0])) return { isClean: false, because: 'reader' };
    // No reader is left that knows of the former ones.
    log.segments.removeStrays();
    if (log.segments.hasStrayObjects()) return { isClean: false, because: 'objects' };
    if (searchFile !== null && !isSearchKept) removeDatabase(searchFile);
    else if (searchFile !== null) {
      const state = cleanlinessOf(searchFile, databases[1]);
      if (state !== 'clean') return { isClean: false, because: 'search', ...state };
    }
    // A node that waits has those of the configuration before its own, which follow no log and are not cleaned.
    removeFormerReadFiles(directory, readFile);
    removeOtherSearchFiles(directory, searchFile);
    // A power cut brings back what was cut off from a write-ahead log, and files that were removed, until that is on
    // the disk.
    for (const { name } of databases) syncPath(`${name}-wal`);
    syncPath(directory);
    log.erasing.finish(position);
    return { isClean: true };
  }

  /** Gives up: files that are not clean by now are cleaned from their beginning the next time. */
  function stop(): void {
    for (const cleaner of cleaners) cleaner.end();
    current = 0;
  }

  /** All of it at once, segments included; given up where a reader is in the way. */
  function scrub(remaining: readonly Remaining[]): Scrubbed {
    begin(remaining);
    try {
      if (log.segments.hasRemovals()) log.segments.rewriteNow();
    } catch (error) {
      return hindered(error, 'disk');
    }
    for (;;) {
      const result = step(false);
      if (result === 'going') continue;
      if (result !== 'busy') return result;
      stop();
      return { isClean: false, because: 'reader' };
    }
  }

  /** How much of the pages has been cleaned, from 0 to 1; null where nothing is to be cleaned. */
  function progress(): number | null {
    if (newest === null || newest <= cleanedUpTo) return null;
    const all = cleaners.map((cleaner) => cleaner.progress());
    const [pages = 0, cleaned = 0] = [
      all.reduce((sum, { pages }) => sum + pages, 0),
      all.reduce((sum, { cleaned }) => sum + cleaned, 0),
    ];
    return pages === 0 ? 0 : cleaned / pages;
  }

  return { begin, step, stop, scrub, progress };
}

/**
 * Whether a search file has no trace of what was erased; one that is not there yet will be made without. `said`: why it
 * cannot be read, which the thread that writes it finds out too, and makes it anew.
 */
function cleanlinessOf(searchFile: string, read: Sqlite): 'clean' | { said?: string } {
  if (!existsSync(searchFile)) return 'clean';
  const erasures = read.prepare<[], number>('SELECT count FROM erasures').pluck().get();
  try {
    return lookInto(searchFile, searchStateOf)?.cleaned === erasures ? 'clean' : {};
  } catch (error) {
    return { said: messageOf(error) };
  }
}

/** Removes the files that a killed `annals verify` replayed into. False while one that runs has such a file. */
function removeReplays(directory: string): boolean {
  let isOver = true;
  for (const name of readdirSync(directory)) {
    const [, pid] = /^read-0\.db\.verify-(\d+)$/.exec(name) ?? [];
    if (pid === undefined) continue;
    if (isAlive(Number(pid))) isOver = false;
    else removeDatabase(join(directory, name));
  }
  return isOver;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
