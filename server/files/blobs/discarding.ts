import type { Logger } from 'pino';
import { DomainError } from '../../../config/errors.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';

/**
 * Removes, some time later, files whose upload was refused after their bytes had been stored, unless an event names
 * them.
 */
type Discarding = { discard: (sha256: string) => void; close: () => void };

/**
 * Creates the discarding of files. Files that come while the log is being read wait for one more reading, so that a
 * client cannot make the service read the log over and over. Files that cannot be removed are left to `annals blobs
 * gc`.
 *
 * @param erase removes the files that no event names. A file that another upload has pinned is left: that upload
 *   discards it.
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
