import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SqliteLog } from '../../events/log/sqlite-log.ts';
import { SegmentError, SegmentOffloadedError } from '../../events/segments/offloaded.ts';
import { isSystemError } from '../../storage/disk.ts';
import { codeOf, messageOf } from '../../storage/errors.ts';
import { DamagedPageError } from '../../storage/pages.ts';
import { type Cleaner, emptyWal, type Hindrance, hindranceOf, openCleaner } from '../../storage/scrub.ts';
import type { Sqlite, Statement } from '../../storage/sqlite.ts';
import { lookInto, removeDatabase, removeFormerReadFiles, syncPath } from './files.ts';
import { removeOtherSearchFiles, searchStateOf } from './search-tables.ts';

/** The stored files of an erasure that are still in their store. */
export type RemainingFiles = { position: number; files: string[] };

/** The reason for which something that was erased is still in the data directory. */
export type Obstacle =
  /** Another process has old pages in use, or has its own copy. */
  | 'reader'
  /** The thread that writes the search file has not cleaned it yet, or the file cannot be read. */
  | 'search'
  /** Some segments are not written anew yet. */
  | 'segments'
  /** The bucket may still have segments that were written anew. */
  | 'objects'
  /** A page or a segment is not what it should be, or a file is too large. */
  | 'damage'
  /** The disk does not let files beside the log and the read tables go, or has left the read tables behind. */
  | 'disk'
  | Hindrance;

/** The result of a scrub. `said`: the error that is the reason, for the operator. */
export type ScrubResult = { isClean: true } | { isClean: false; because: Obstacle; said?: string };

/** The result of a step; `busy`: a reader hinders the next step, perhaps only for a moment. */
type ScrubStep = ScrubResult | 'going' | 'busy';

export type Scrubber = ReturnType<typeof openScrubber>;

/** `databases`: both data files, as their only writer has them open. `searchFile`: null without one. */
type Options = {
  directory: string;
  databases: readonly [log: Sqlite, read: Sqlite];
  searchFile?: string | null;
  log: SqliteLog;
};

/** The progress of a scrubber. */
type ScrubState = Required<Options> & {
  cleaners: readonly Cleaner[];
  selectReached: Statement<number>;
  /**
   * The erasures up to this position have left nothing in the pages of the files. Erasures before this process are not
   * known to be clean.
   */
  cleanedUpTo: number;
  /** The erasure that is worked on, with all before it. */
  newest: number | null;
  /** The index of the file that is being cleaned. */
  current: number;
};

/**
 * Prepares the functions that clear a data directory of what was erased. They are for the one thread that writes the
 * directory; each step holds the thread up for some ten milliseconds.
 */
export function openScrubber({ directory, databases, searchFile = null, log }: Options) {
  const state: ScrubState = {
    directory,
    databases,
    searchFile,
    log,
    cleaners: databases.map((db) => openCleaner(db)),
    selectReached: databases[1].prepare<[], number>('SELECT position FROM checkpoint').pluck(),
    cleanedUpTo: 0,
    newest: null,
    current: 0,
  };
  return {
    /** Notes which stored files are left; `step` then does the rest. */
    begin: (remaining: readonly RemainingFiles[]): void => begin(state, remaining),
    /**
     * Cleans a part of the files if something was erased since the last time, and at last ends the erasures of which
     * nothing is left anywhere.
     *
     * @param isSearchKept whether a thread keeps the search file, and cleans it; else the file is removed, and the next
     * start makes it anew.
     */
    step: (isSearchKept: boolean): ScrubStep => step(state, isSearchKept),
    /** Gives up: the next time, files that are not clean by now are cleaned from their beginning. */
    stop: (): void => stop(state),
    /** Does all of it at once, segments included; gives up if a reader hinders it. */
    scrub: (remaining: readonly RemainingFiles[]): ScrubResult => scrub(state, remaining),
    /** How much of the pages has been cleaned, from 0 to 1; null if there is nothing to clean. */
    progress: (): number | null => progress(state),
  };
}

function begin(state: ScrubState, remaining: readonly RemainingFiles[]): void {
  const { log } = state;
  for (const { position, files } of remaining) {
    if (log.erasures.at(position)?.files.length === files.length) continue;
    log.erasing.setFiles(position, files);
    // The hashes of the files must not be left either.
    state.cleanedUpTo = Math.min(state.cleanedUpTo, position - 1);
  }
  state.newest = log.erasures.unfinished().at(-1)?.position ?? null;
}

function step(state: ScrubState, isSearchKept: boolean): ScrubStep {
  const { newest, selectReached, cleaners } = state;
  if (newest === null) return { isClean: true };
  // A full disk may have kept what was erased in the read tables, until the next write brings them up to date.
  if ((selectReached.get() ?? 0) < newest) {
    stop(state);
    return { isClean: false, because: 'disk', said: 'the read tables are behind the log' };
  }
  try {
    if (newest > state.cleanedUpTo) {
      const result = cleaners[state.current]?.step();
      if (result === 'busy') return 'busy';
      if (result === 'done') state.current += 1;
      if (state.current < cleaners.length) return 'going';
      state.cleanedUpTo = newest;
    }
  } catch (error) {
    return hindered(state, error, null);
  }
  stop(state);
  try {
    return finish(state, newest, isSearchKept);
  } catch (error) {
    return hindered(state, error, 'disk');
  }
}

/**
 * The result of a step that has failed. After an error that is not understood, only `log.db` and the read tables cannot
 * be trusted any more.
 *
 * @param ofOthers the obstacle for an error of the system that can only be about other files.
 * @throws the error, unless it may pass or can be mended.
 */
function hindered(state: ScrubState, error: unknown, ofOthers: 'disk' | null): ScrubResult {
  stop(state);
  // Another thread, which may wait for the bucket, writes the segments anew.
  if (error instanceof SegmentOffloadedError) return { isClean: false, because: 'segments' };
  const isDamage = error instanceof DamagedPageError || error instanceof SegmentError;
  const because = isDamage ? 'damage' : (hindranceOf(error) ?? (isSystemError(error) ? ofOthers : null));
  if (because === null) throw error;
  return { isClean: false, because, said: messageOf(error) };
}

function finish(
  { directory, databases, searchFile, log }: ScrubState,
  position: number,
  isSearchKept: boolean,
): ScrubResult {
  if (log.segments.hasRemovals()) return { isClean: false, because: 'segments' };
  if (!removeReplays(directory) || !emptyWal(databases[0])) return { isClean: false, because: 'reader' };
  // No reader is left that knows the former segments.
  log.segments.removeStrays();
  if (log.segments.hasStrayObjects()) return { isClean: false, because: 'objects' };
  if (searchFile !== null && !isSearchKept) removeDatabase(searchFile);
  else if (searchFile !== null) {
    const state = cleanlinessOf(searchFile, databases[1]);
    if (state !== 'clean') return { isClean: false, because: 'search', ...state };
  }
  // A waiting node has the read files of the former configuration, which follow no log and are not cleaned.
  removeFormerReadFiles(directory, databases[1].name);
  removeOtherSearchFiles(directory, searchFile);
  // Until both are on the disk, a power cut brings back removed files and the end of a write-ahead log that was cut
  // off.
  for (const { name } of databases) syncPath(`${name}-wal`);
  syncPath(directory);
  log.erasing.finish(position);
  return { isClean: true };
}

function stop(state: ScrubState): void {
  for (const cleaner of state.cleaners) cleaner.end();
  state.current = 0;
}

function scrub(state: ScrubState, remaining: readonly RemainingFiles[]): ScrubResult {
  const { segments } = state.log;
  begin(state, remaining);
  try {
    if (segments.hasRemovals()) segments.rewriteNow();
  } catch (error) {
    return hindered(state, error, 'disk');
  }
  for (;;) {
    const result = step(state, false);
    if (result === 'going') continue;
    if (result !== 'busy') return result;
    stop(state);
    return { isClean: false, because: 'reader' };
  }
}

function progress({ newest, cleanedUpTo, cleaners }: ScrubState): number | null {
  if (newest === null || newest <= cleanedUpTo) return null;
  let pages = 0;
  let cleaned = 0;
  for (const cleaner of cleaners) {
    const its = cleaner.progress();
    pages += its.pages;
    cleaned += its.cleaned;
  }
  return pages === 0 ? 0 : cleaned / pages;
}

/**
 * Whether a search file has no trace of what was erased; a file that is not there yet will be made without. `said`: why
 * the file cannot be read. The thread that writes it finds that out too, and makes it anew.
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

/** Removes the files that a killed `annals verify` replayed into. False while a running one has such a file. */
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
