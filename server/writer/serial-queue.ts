/** Work that runs one after the other. */
export type SerialQueue = ReturnType<typeof openSerialQueue>;

/** Opens an empty queue. */
export function openSerialQueue() {
  let last: Promise<unknown> = Promise.resolve();

  return {
    /** Runs work after all that was queued before, also if that fails. */
    run<T>(work: () => Promise<T>): Promise<T> {
      const next = last.then(work);
      last = next.catch(() => {});
      return next;
    },
    /** Waits for all that is queued now, but no longer than some milliseconds. */
    async ended(milliseconds: number): Promise<void> {
      await Promise.race([last, new Promise((resolve) => setTimeout(resolve, milliseconds).unref())]);
    },
  };
}
