import { setImmediate } from 'node:timers/promises';

/**
 * Runs work that holds up its thread one by one, each in a turn of the event loop of its own, so that others have
 * theirs in between.
 *
 * @param most how many may wait.
 * @param refusal what is thrown to those that would be more.
 */
export function oneByOne(most: number, refusal: () => Error) {
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  async function run<T>(work: () => T | Promise<T>): Promise<T> {
    if (waiting >= most) throw refusal();
    waiting += 1;
    const done = last.then(() => setImmediate()).then(work);
    last = done.catch(() => {});
    try {
      return await done;
    } finally {
      waiting -= 1;
    }
  }

  return {
    run,
    /** Resolves when all have run that wait now. */
    ended: async (): Promise<void> => void (await last),
  };
}
