import { SharedLogUnavailableError } from './shared-log.ts';

type WaitingRead = { size: number; resolve: () => void };

/**
 * The reads that wait until a node has as many events as they have to see.
 *
 * @param reached gives the number of events that this node can be read up to.
 * @param onWait is called when a read begins to wait.
 */
export function openWaitingReads(reached: () => number, onWait: () => void) {
  let waiting: WaitingRead[] = [];
  return {
    isEmpty: (): boolean => waiting.length === 0,
    /** Lets the reads go on that have waited for no more than this node has. */
    tell(): void {
      const size = reached();
      const served = waiting.filter((one) => one.size <= size);
      waiting = waiting.filter((one) => one.size > size);
      for (const { resolve } of served) resolve();
    },
    /** Waits until this node has `size` events. @throws SharedLogUnavailableError when it has fewer in time. */
    async reach(size: number, within: number): Promise<void> {
      if (size <= reached()) return;
      await new Promise<void>((resolve, reject) => {
        const read: WaitingRead = { size, resolve: () => {} };
        const timer = setTimeout(() => {
          waiting = waiting.filter((one) => one !== read);
          reject(new SharedLogUnavailableError(`this node is at ${reached()}, and did not come to ${size} in time`));
        }, within);
        read.resolve = () => {
          clearTimeout(timer);
          resolve();
        };
        waiting.push(read);
        onWait();
      });
    },
  };
}
