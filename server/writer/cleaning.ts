import type { Remaining, Scrubbed, Scrubber } from '../../projections/tables/scrub.ts';

/** Scrubs between the batches of a writer. */
export type Cleaning = {
  /** Takes an order; they are done one after the other. */
  take: (remaining: Remaining[]) => void;
  /** To be called after each batch. */
  noteBatch: () => void;
  /** Ends without an answer to the orders that are left: the next start goes on with them. */
  stop: () => void;
};

/**
 * `share`: how much is clean, from 0 to 1; null when nothing is being cleaned. `isHindered`: a reader has been in the
 * way for a while.
 */
export type Progress = { share: number | null; isHindered: boolean };

type Options = {
  scrubber: Scrubber;
  /** Whether a thread keeps the search file. */
  isSearchKept: () => boolean;
  onProgress: (progress: Progress) => void;
  onEnd: (scrubbed: Scrubbed) => void;
  /** Runs a step between the turns of the writer; at once by default. */
  between?: (run: () => void) => void;
};

/**
 * A reader that is in the way is looked for this often, told of after a while, and waited for this long at most:
 * meanwhile the write-ahead log grows. Then the order is given up, for later.
 */
const busyMilliseconds = { pause: 100, told: 1000, most: 30_000 };
const progressMilliseconds = 250;

/** Makes what cleans the data files in steps: while there are writes, they have as much time as the steps. */
export function openCleaning({
  scrubber,
  isSearchKept,
  onProgress,
  onEnd,
  between = (run) => run(),
}: Options): Cleaning {
  const orders: Remaining[][] = [];
  let timer: NodeJS.Timeout | null = null;
  let isBusySince: number | null = null;
  let isWriting = false;
  let lastTold = 0;
  let isStopped = false;

  function begin(): void {
    const [remaining] = orders;
    if (!remaining || isStopped) return;
    scrubber.begin(remaining);
    isBusySince = null;
    schedule(0);
  }

  function schedule(milliseconds: number): void {
    timer = setTimeout(() => between(turn), milliseconds);
  }

  function turn(): void {
    if (isStopped) return;
    const started = performance.now();
    const result = scrubber.step(isSearchKept());
    if (result === 'going') {
      isBusySince = null;
      tell();
      schedule(isWriting ? performance.now() - started : 0);
      isWriting = false;
    } else if (result === 'busy') {
      isBusySince ??= started;
      const waited = started - isBusySince;
      if (waited >= busyMilliseconds.told) tell(true);
      if (waited < busyMilliseconds.most) schedule(busyMilliseconds.pause);
      else {
        scrubber.stop();
        end({ isClean: false, because: 'reader' });
      }
    } else end(result);
  }

  function tell(isHindered = false): void {
    const now = performance.now();
    if (now - lastTold < progressMilliseconds) return;
    lastTold = now;
    onProgress({ share: scrubber.progress(), isHindered });
  }

  function end(scrubbed: Scrubbed): void {
    timer = null;
    onProgress({ share: null, isHindered: false });
    onEnd(scrubbed);
    orders.shift();
    begin();
  }

  return {
    take(remaining) {
      orders.push(remaining);
      if (orders.length === 1) between(begin);
    },
    noteBatch() {
      isWriting = true;
    },
    stop() {
      isStopped = true;
      if (timer) clearTimeout(timer);
      scrubber.stop();
    },
  };
}
