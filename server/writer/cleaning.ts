import type { RemainingFiles, Scrubber, ScrubResult } from '../../projections/tables/scrub.ts';

/** Clears data files of erased bytes between the batches of a writer. */
type Cleaning = {
  /** Takes an order. Orders are done one after the other. */
  take: (remaining: RemainingFiles[]) => void;
  /** To be called after each batch. */
  noteBatch: () => void;
  /** Ends without an answer to the remaining orders: the next start goes on with them. */
  stop: () => void;
};

/** How far the cleaning is. */
export type CleaningProgress = {
  /** How much is clean, from 0 to 1; null if nothing is being cleaned. */
  share: number | null;
  /** True if a reader has been in the way for a while. */
  isHindered: boolean;
};

type Options = {
  scrubber: Scrubber;
  /** Whether a thread keeps the search file. */
  isSearchKept: () => boolean;
  onProgress: (progress: CleaningProgress) => void;
  onEnd: (scrubbed: ScrubResult) => void;
  /** Runs a step at a time when the writer does not write. */
  between: (run: () => void) => void;
};

/**
 * How often to look whether a reader is still in the way, after how long to report it, and after how long to give up
 * the order for later: the write-ahead log grows meanwhile.
 */
const busyMilliseconds = { pause: 100, reported: 1000, most: 30_000 };
const progressMilliseconds = 250;

/** Opens the cleaning. It works in steps; while there are writes, they get as much time as the steps. */
export function openCleaning({ scrubber, isSearchKept, onProgress, onEnd, between }: Options): Cleaning {
  const orders: RemainingFiles[][] = [];
  let timer: NodeJS.Timeout | null = null;
  let isBusySince: number | null = null;
  let isWriting = false;
  let lastReport = 0;
  let isStopped = false;

  function begin(): void {
    const [remaining] = orders;
    if (!remaining || isStopped) return;
    scrubber.begin(remaining);
    isBusySince = null;
    schedule(0);
  }

  function schedule(milliseconds: number): void {
    timer = setTimeout(() => between(step), milliseconds);
  }

  function step(): void {
    if (isStopped) return;
    const started = performance.now();
    const result = scrubber.step(isSearchKept());
    if (result === 'going') {
      isBusySince = null;
      report();
      schedule(isWriting ? performance.now() - started : 0);
      isWriting = false;
    } else if (result === 'busy') {
      isBusySince ??= started;
      const waited = started - isBusySince;
      if (waited >= busyMilliseconds.reported) report(true);
      if (waited < busyMilliseconds.most) schedule(busyMilliseconds.pause);
      else {
        scrubber.stop();
        end({ isClean: false, because: 'reader' });
      }
    } else end(result);
  }

  function report(isHindered = false): void {
    const now = performance.now();
    if (now - lastReport < progressMilliseconds) return;
    lastReport = now;
    onProgress({ share: scrubber.progress(), isHindered });
  }

  function end(scrubbed: ScrubResult): void {
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
