import { setImmediate as turn } from 'node:timers/promises';
import { readLog } from '../../../events/log/log-reader.ts';
import { retryAfterFetch } from '../../../events/segments/fetching.ts';
import { openTail, readNamings } from '../../../events/service-events/blobs.ts';
import { BlobHeldError, type BlobStore } from '../../../storage/blobs.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';
import type { PinBoard } from './pins.ts';

/** As many events are looked at before others get their turn in this thread: some milliseconds. */
const chunk = 2000;

/** Questions of erasures about files. */
export type FileErasing = {
  /**
   * Removes files that no event names any more. Gives those that may still be there: an upload of the same bytes is
   * under way, or the store holds them, for the reason in `held`.
   *
   * @throws BlobsUnavailableError if the store does not answer; BlobsRefusedError if it never will.
   */
  erase: (sha256: readonly string[]) => Promise<{ left: string[]; held: BlobHeldError | null }>;
  /** Which of these files are named by events of other streams than these. */
  neededBeside: (sha256: readonly string[], streams: readonly string[]) => Promise<string[]>;
};

type Options = {
  /** The log. */
  db: Sqlite;
  pins: Pick<PinBoard, 'withhold'>;
  remove: BlobStore['remove'];
  /** Resolves when the store is known to be this log's. */
  ready: () => Promise<void>;
  /** Resolves when the log here has all that was recorded before the call. */
  upToDate?: () => Promise<void>;
};

/**
 * Makes what removes the files of erased documents. Other documents may have the same bytes, which only the whole log
 * can tell. It is read before a file is withheld from uploads, and from there to its end afterwards: so the argument of
 * the collector holds.
 */
export function openFileErasing({ db, pins, remove, ready, upToDate = async () => {} }: Options): FileErasing {
  const log = readLog(db);

  async function named(sha256: readonly string[], upTo: number, isOther: (stream: string) => boolean) {
    const sought = new Set(sha256);
    const found = new Set<string>();
    for (let after = 0; after < upTo && found.size < sought.size; after += chunk) {
      for (const naming of await retryAfterFetch(() => [...readNamings(db, after, Math.min(after + chunk, upTo))])) {
        if (sought.has(naming.sha256) && isOther(naming.stream)) found.add(naming.sha256);
      }
      await turn();
    }
    return found;
  }

  return {
    async erase(sha256) {
      if (sha256.length === 0) return { left: [], held: null };
      await ready();
      const { size } = log.head();
      const needed = await named(sha256, size, () => true);
      const isNamed = openTail(db);
      const left: string[] = [];
      let held: BlobHeldError | null = null;
      for (const one of sha256) {
        if (needed.has(one)) continue;
        const isSettled = await pins
          .withhold(one, async () => {
            await upToDate();
            if (!isNamed(size, one)) await remove(one);
            return true;
          })
          .catch((error) => {
            // One that is locked holds up no other.
            if (!(error instanceof BlobHeldError)) throw error;
            held ??= error;
            return false;
          });
        // The upload that has pinned it may be refused, and would leave it behind.
        if (!isSettled) left.push(one);
      }
      return { left, held };
    },
    async neededBeside(sha256, streams) {
      const own = new Set(streams);
      return [...(await named(sha256, log.head().size, (stream) => !own.has(stream)))];
    },
  };
}
