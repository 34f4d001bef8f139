import { type SharedLog, SharedLogUnavailableError } from './shared-log.ts';

/**
 * @param reached gives the size of what this node can be read from.
 * @param follow takes a page of what others have appended, and gives how many events that were; `isExpected` says that
 * there may well be some.
 * @param fail is told why this node may not go on: its replica and the shared log differ.
 */
export type FollowerOptions = {
  shared: Pick<SharedLog, 'head'>;
  reached: () => number;
  follow: (isExpected: boolean) => Promise<number>;
  fail: (error: unknown) => void;
};

export type Follower = ReturnType<typeof openFollower>;

/**
 * The pauses between two looks, in milliseconds: the shortest until there was nothing for a second, then longer and
 * longer ones.
 */
const pauses = { shortest: 20, longest: 250, afterQuiet: 1000 };

/** A read waits so many milliseconds for what it has to see. */
const patience = 2000;

/** A question that is asked anew for each that comes: those that come while it is under way share the next one. */
export function shareNext<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | null = null;
  let next: Promise<T> | null = null;

  return function askNow(): Promise<T> {
    if (asked === null) {
      asked = ask().finally(() => {
        asked = null;
      });
      return asked;
    }
    next ??= asked
      .catch(() => {})
      .then(() => {
        next = null;
        return askNow();
      });
    return next;
  };
}

/** Keeps a replica close behind the log that several nodes append to, and lets reads wait until it is there. */
export function openFollower({ shared, reached, follow, fail }: FollowerOptions) {
  let isClosed = false;
  /** Whether a read has come since the last look began. */
  let isAsked = false;
  let wake = () => {};
  let waiting: { size: number; resolve: () => void }[] = [];
  const headNow = shareNext(async () => (await shared.head()).size);
  const running = run();

  async function run(): Promise<void> {
    let pause = pauses.shortest;
    let last = performance.now();
    const isQuiet = () => performance.now() - last > pauses.afterQuiet;
    while (!isClosed) {
      isAsked = false;
      const count = await look(!isQuiet());
      tell();
      if (count > 0) last = performance.now();
      pause = isQuiet() ? Math.min(pause * 1.5, pauses.longest) : pauses.shortest;
      // A read may wait for a position that is not there yet, or never comes.
      if (count === 0 && !isClosed && !isAsked) await sleep(waiting.length > 0 ? pauses.shortest : pause);
    }
  }

  async function look(isExpected: boolean): Promise<number> {
    try {
      return await follow(isExpected || waiting.length > 0);
    } catch (error) {
      if (!(error instanceof SharedLogUnavailableError)) {
        isClosed = true;
        fail(error);
      } else if (!isClosed) await sleep(pauses.longest);
      return 0;
    }
  }

  function sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  function tell(): void {
    const size = reached();
    const served = waiting.filter((one) => one.size <= size);
    waiting = waiting.filter((one) => one.size > size);
    for (const { resolve } of served) resolve();
  }

  /**
   * Waits until this node has so many events. @throws SharedLogUnavailableError when it has them not within 2 seconds.
   */
  async function reach(size: number, within = patience): Promise<void> {
    if (size <= reached()) return;
    await new Promise<void>((resolve, reject) => {
      const waiter = { size, resolve: () => {} };
      const timer = setTimeout(() => {
        waiting = waiting.filter((one) => one !== waiter);
        reject(new SharedLogUnavailableError(`this node is at ${reached()}, and did not come to ${size} in time`));
      }, within);
      waiter.resolve = () => {
        clearTimeout(timer);
        resolve();
      };
      waiting.push(waiter);
      isAsked = true;
      wake();
    });
  }

  return {
    reach: (size: number): Promise<void> => reach(size),
    /**
     * Waits until this node has all that was appended before the call, by any node.
     *
     * @throws SharedLogUnavailableError.
     */
    async current(): Promise<void> {
      const began = performance.now();
      const size = await inTime(headNow());
      await reach(size, patience - (performance.now() - began));
    },
    /** To be called when this node itself has appended. */
    tell,
    async close(): Promise<void> {
      isClosed = true;
      wake();
      await running;
    },
  };
}

/** The question may be answered later, for others. */
async function inTime<T>(asked: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new SharedLogUnavailableError('the shared log did not say in time where it ends')),
      patience,
    );
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
