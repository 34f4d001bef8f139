import { followMilliseconds, readMilliseconds } from '../../storage/postgres/durations.ts';
import { shareNext } from './share-next.ts';
import { type SharedLog, SharedLogUnavailableError } from './shared-log.ts';
import { openWaitingReads } from './waiting-reads.ts';
import { openPause } from './wakeable-pause.ts';

/**
 * @param reached gives the number of events that this node can be read up to.
 * @param follow takes in a page of the events that others have appended, and gives their number; `isExpected` says
 * that there are likely to be some.
 * @param fail is told why this node may not go on: its replica and the shared log differ.
 */
type FollowerOptions = {
  shared: Pick<SharedLog, 'head'>;
  reached: () => number;
  follow: (isExpected: boolean) => Promise<number>;
  fail: (error: unknown) => void;
};

/** Keeps a replica close behind the log that several nodes append to, and lets reads wait until it is there. */
export function openFollower({ shared, reached, follow, fail }: FollowerOptions) {
  let isClosed = false;
  /** Whether a read has begun to wait since the last look began. */
  let isAsked = false;
  const pause = openPause();
  const reads = openWaitingReads(reached, () => {
    isAsked = true;
    pause.wake();
  });
  const headNow = shareNext(async () => (await shared.head()).size);
  const running = run();

  async function run(): Promise<void> {
    let milliseconds = followMilliseconds.shortest;
    let last = performance.now();
    const isQuiet = () => performance.now() - last > followMilliseconds.afterQuiet;
    while (!isClosed) {
      isAsked = false;
      const count = await look(!isQuiet());
      reads.tell();
      if (count > 0) last = performance.now();
      milliseconds = isQuiet() ? Math.min(milliseconds * 1.5, followMilliseconds.longest) : followMilliseconds.shortest;
      // A read may wait for a position that is not there yet, or never comes.
      if (count === 0 && !isClosed && !isAsked)
        await pause.sleep(reads.isEmpty() ? milliseconds : followMilliseconds.shortest);
    }
  }

  async function look(isExpected: boolean): Promise<number> {
    try {
      return await follow(isExpected || !reads.isEmpty());
    } catch (error) {
      if (!(error instanceof SharedLogUnavailableError)) {
        isClosed = true;
        fail(error);
      } else if (!isClosed) await pause.sleep(followMilliseconds.longest);
      return 0;
    }
  }

  return {
    /**
     * Waits until this node has `size` events.
     *
     * @throws SharedLogUnavailableError when it has fewer after `readMilliseconds`.
     */
    reach: (size: number): Promise<void> => reads.reach(size, readMilliseconds),
    /**
     * Waits until this node has all that was appended before the call, by any node.
     *
     * @throws SharedLogUnavailableError.
     */
    async current(): Promise<void> {
      const began = performance.now();
      const size = await inTime(headNow());
      await reads.reach(size, readMilliseconds - (performance.now() - began));
    },
    /** To be called when this node itself has appended. */
    tell: reads.tell,
    async close(): Promise<void> {
      isClosed = true;
      pause.wake();
      await running;
    },
  };
}

/** The question goes on for others when this caller has given up. */
async function inTime<T>(asked: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new SharedLogUnavailableError('the shared log did not say in time where it ends')),
      readMilliseconds,
    );
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
