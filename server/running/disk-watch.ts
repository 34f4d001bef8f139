import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { privateFile } from '../../storage/private.ts';
import { isFull, type StateCell, setFull } from '../platform/state.ts';
import { every } from '../platform/ticks.ts';

type Options = { directory: string; state: StateCell; log: Logger; milliseconds?: number };

/** The space that a few small writes take. */
const needed = Buffer.alloc(64 * 1024);

/**
 * Logs when the disk is full, and finds out when there is space again. No write may come that would show it, because a
 * balancer that asks `/ready` sends none.
 *
 * @returns ends the watch.
 */
export function watchDisk({ directory, state, log, milliseconds = 1000 }: Options): () => Promise<void> {
  const probe = join(directory, 'room.probe');
  let wasFull = false;
  let looking: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    if (isFull(state) && !wasFull) {
      wasFull = true;
      log.warn('writes are refused: there is no room on the disk; reads go on');
    }
    if (isFull(state) && (await hasRoom(probe))) setFull(state, false);
    if (!wasFull || isFull(state)) return;
    wasFull = false;
    log.info('there is room on the disk again');
  }

  const end = every(milliseconds, () => {
    if (isFull(state) || wasFull) looking = looking.then(look);
  });
  return async () => {
    end();
    await looking;
  };
}

/**
 * Whether a file can be written. The number of free blocks does not tell: a quota may be used up, and the last blocks
 * may be kept for another user.
 */
async function hasRoom(probe: string): Promise<boolean> {
  try {
    await writeFile(probe, needed, { mode: privateFile, flush: true });
    return true;
  } catch {
    return false;
  } finally {
    await rm(probe, { force: true }).catch(() => {});
  }
}
