import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { SqliteLog } from '../events/sqlite-log.ts';
import { codeOf } from '../storage/errors.ts';
import { emptyWal, type Hindrance, hindranceOf, rewrite } from '../storage/scrub.ts';
import { logFile, removeDatabase } from './files.ts';

/** Which files of an erasure are still in their store. */
export type Remaining = { position: number; files: string[] };

/** `reader`: another process has old pages in use, or a copy of its own. */
export type Obstacle = 'reader' | Hindrance;

export type Scrubbed = { isClean: true } | { isClean: false; because: Obstacle };

export type Scrubber = ReturnType<typeof openScrubber>;

type Options = { directory: string; readFile: string; log: SqliteLog };

/** Makes what clears a data directory of what was erased; for the one thread that writes it, which it holds up. */
export function openScrubber({ directory, readFile, log }: Options) {
  const paths = [logFile(directory), readFile];
  /** The erasures up to this position have left nothing in the pages of the files. Not known of those before this process. */
  let rewrittenUpTo = 0;

  /**
   * Notes which stored files are left, writes the files anew where something was erased since the last time, and ends the
   * erasures of which nothing is left anywhere.
   */
  function scrub(remaining: readonly Remaining[]): Scrubbed {
    for (const { position, files } of remaining) {
      if (log.erasures.at(position)?.files.length === files.length) continue;
      log.erasing.setFiles(position, files);
      // Their hashes are not to be left either.
      rewrittenUpTo = Math.min(rewrittenUpTo, position - 1);
    }
    const newest = log.erasures.unfinished().at(-1)?.position;
    if (newest === undefined) return { isClean: true };
    try {
      if (newest > rewrittenUpTo) for (const path of paths) rewrite(path);
      rewrittenUpTo = newest;
      if (!removeReplays(directory) || !paths.map(emptyWal).every((isEmpty) => isEmpty)) {
        return { isClean: false, because: 'reader' };
      }
      log.erasing.finish(newest);
      return { isClean: true };
    } catch (error) {
      const because = hindranceOf(error);
      if (because === null) throw error;
      return { isClean: false, because };
    }
  }

  return { scrub };
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
