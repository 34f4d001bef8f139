import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SegmentError } from '../events/segments.ts';
import type { SqliteLog } from '../events/sqlite-log.ts';
import { codeOf } from '../storage/errors.ts';
import { emptyWal, type Hindrance, hindranceOf, rewrite } from '../storage/scrub.ts';
import { logFile, lookInto, removeDatabase } from './files.ts';
import { searchStateOf } from './search-tables.ts';

/** Which files of an erasure are still in their store. */
export type Remaining = { position: number; files: string[] };

/**
 * `reader`: another process has old pages in use, or a copy of its own. `search`: the thread that writes the search file has not
 * cleaned it yet. `segments`: some are not written anew yet. `damage`: one cannot be.
 */
export type Obstacle = 'reader' | 'search' | 'segments' | 'damage' | Hindrance;

export type Scrubbed = { isClean: true } | { isClean: false; because: Obstacle };

export type Scrubber = ReturnType<typeof openScrubber>;

/** `searchFile`: null without one. */
type Options = { directory: string; readFile: string; searchFile?: string | null; log: SqliteLog };

/** Makes what clears a data directory of what was erased; for the one thread that writes it, which it holds up. */
export function openScrubber({ directory, readFile, searchFile = null, log }: Options) {
  const paths = [logFile(directory), readFile];
  /** The erasures up to this position have left nothing in the pages of the files. Not known of those before this process. */
  let rewrittenUpTo = 0;

  /**
   * Notes which stored files are left, writes the files anew where something was erased since the last time, and ends the
   * erasures of which nothing is left anywhere.
   *
   * @param isSearchKept whether a thread keeps the search file, and cleans it; else it is removed, for the next start to make it anew.
   * @param isServing whether segments are written anew elsewhere; else here.
   */
  function scrub(remaining: readonly Remaining[], isSearchKept = false, isServing = false): Scrubbed {
    for (const { position, files } of remaining) {
      if (log.erasures.at(position)?.files.length === files.length) continue;
      log.erasing.setFiles(position, files);
      // Their hashes are not to be left either.
      rewrittenUpTo = Math.min(rewrittenUpTo, position - 1);
    }
    const newest = log.erasures.unfinished().at(-1)?.position;
    if (newest === undefined) return { isClean: true };
    try {
      if (log.segments.hasRemovals()) {
        if (isServing) return { isClean: false, because: 'segments' };
        log.segments.rewriteNow();
      }
      if (newest > rewrittenUpTo) for (const path of paths) rewrite(path);
      rewrittenUpTo = newest;
      if (!removeReplays(directory) || !paths.map(emptyWal).every((isEmpty) => isEmpty)) {
        return { isClean: false, because: 'reader' };
      }
      // No reader is left that knows of the former ones.
      log.segments.removeStrays();
      if (searchFile !== null && !isSearchKept) removeDatabase(searchFile);
      else if (searchFile !== null && !isSearchClean(searchFile, readFile))
        return { isClean: false, because: 'search' };
      log.erasing.finish(newest);
      return { isClean: true };
    } catch (error) {
      const because = error instanceof SegmentError ? 'damage' : hindranceOf(error);
      if (because === null) throw error;
      return { isClean: false, because };
    }
  }

  return { scrub };
}

/** Whether a search file has no trace of what was erased; one that is not there yet will be made without. */
function isSearchClean(searchFile: string, readFile: string): boolean {
  if (!existsSync(searchFile)) return true;
  const erasures = lookInto(readFile, (db) => db.prepare<[], number>('SELECT count FROM erasures').pluck().get());
  const state = lookInto(searchFile, searchStateOf);
  return state !== null && state.cleaned === erasures;
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
