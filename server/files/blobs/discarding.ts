import type { Logger } from 'pino';
import { DomainError } from '../../../config/errors.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';

/** Removes, some time later, files whose upload was refused after their bytes had been stored, unless an event names them. */
export type Discarding = { discard: (sha256: string) => void; close: () => void };

/**
 * Makes what discards. All that comes while the log is being read is looked for in one reading more, so that nobody makes the
 * service read it over and over. What cannot be removed is left to `annals blobs gc`.
 *
 * @param erase removes those of the files that no event names, and that nobody else has pinned: who has discards it in turn.
 */
export function createDiscarding(erase: (sha256: readonly string[]) => Promise<unknown>, log: Logger): Discarding {
  const waiting = new Set<string>();
  let isRunning = false;
  let isClosed = false;

  async function run(): Promise<void> {
    isRunning = true;
    while (waiting.size > 0 && !isClosed) {
      const files = [...waiting];
      waiting.clear();
      try {
        await erase(files);
      } catch (error) {
        if (isClosed) return;
        const left = 'files of refused uploads are left to annals blobs gc';
        if (isStoreFailure(error) || error instanceof DomainError) log.warn(`${left}: ${error.message}`);
        else log.error({ err: error }, left);
      }
    }
    isRunning = false;
  }

  return {
    discard(sha256) {
      waiting.add(sha256);
      if (!isRunning) run();
    },
    close() {
      isClosed = true;
    },
  };
}
