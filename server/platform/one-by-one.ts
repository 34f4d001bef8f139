import { setImmediate } from 'node:timers/promises';

/**
 * Runs tasks that block their thread one by one, each in its own turn of the event loop, so that other work runs in
 * between.
 *
 * @param most how many tasks may wait.
 * @param refusal the error of tasks beyond that.
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
    /** Resolves when all tasks have run that wait now. */
    ended: async (): Promise<void> => void (await last),
  };
}
