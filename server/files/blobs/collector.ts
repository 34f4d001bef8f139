import { DomainError } from '../../../config/errors.ts';
import type { Tail } from '../../../events/service-events/blobs.ts';
import { BlobHeldError, type BlobStore } from '../../../storage/blobs.ts';
import type { Candidates, Collect, RemovalResult } from '../../ports.ts';
import type { PinBoard } from './pins.ts';

/**
 * At most as many candidates go in one call: a slow bucket has to answer for all of them before the caller gives up.
 */
export const maxCandidates = 200;

type Options = {
  /** The name of the store. */
  store: string;
  remove: BlobStore['remove'];
  /** Resolves when the store is known to be this log's. */
  ready: () => Promise<void>;
  pins: Pick<PinBoard, 'withhold'>;
  /** Resolves when the log here has all that was recorded before the call. */
  upToDate?: () => Promise<void>;
  isNamed: Tail;
};

/**
 * Makes the one collector beside a running service, to be called in the thread that has the pins.
 *
 * No file is removed that an event names, whatever runs beside it. An upload pins the file, then looks whether the
 * bytes are there, stores them if not, records the event that names them, and unpins. Of a candidate, three things are
 * done in this order:
 *
 * 1. If it is pinned it stays. If not, it is withheld: a pin from here on waits for the third step.
 * 2. The log is read from the candidate's position to its end. If an event names the file, it stays.
 * 3. It is removed, and no longer withheld.
 *
 * Take any upload of these bytes. If it unpinned before step 1, its event was recorded by then, and is found: at or
 * before the position by the command that named the candidate, after it by step 2. If it held its pin at step 1, the
 * file stayed. If it got its pin later, it got it after step 3, looks then, does not find the bytes, and stores them
 * again. No clock is part of this.
 *
 * A later event may name a file without a pin when an earlier one does: a named file is not a candidate any more.
 */
export function createCollector({ store, remove, ready, pins, isNamed, ...options }: Options): Collect {
  const { upToDate = async () => {} } = options;
  let last: Promise<unknown> = Promise.resolve();

  async function collect({ store: meant, position, sha256 }: Candidates): Promise<RemovalResult> {
    if (meant !== store) throw new DomainError('conflict', `the service keeps its files in ${store}, not in ${meant}`);
    await ready();
    const removed: string[] = [];
    const held: RemovalResult['held'] = [];
    for (const candidate of sha256) {
      const isRemoved = await pins
        .withhold(candidate, async () => {
          await upToDate();
          if (isNamed(position, candidate)) return false;
          await remove(candidate);
          return true;
        })
        .catch((error) => {
          if (!(error instanceof BlobHeldError)) throw error;
          held.push({ sha256: candidate, because: error.message });
          return false;
        });
      if (isRemoved) removed.push(candidate);
    }
    return { removed, held };
  }

  return (candidates) => {
    const result = last.then(() => collect(candidates));
    last = result.catch(() => {});
    return result;
  };
}
