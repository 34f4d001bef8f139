/** A queue of asynchronous functions: each runs when those before it have ended. */
export type Queue = ReturnType<typeof openQueue>;

export function openQueue() {
  let last: Promise<unknown> = Promise.resolve();
  return {
    run<T>(run: () => Promise<T>): Promise<T> {
      const result = last.then(run);
      // The caller of `run` gets the error.
      last = result.catch(() => {});
      return result;
    },
    /** Resolves when all that has come by now has ended. */
    ended: async (): Promise<void> => {
      await last;
    },
  };
}
