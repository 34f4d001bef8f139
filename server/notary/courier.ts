import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KeptCheckpoint } from '../../events/checkpoints.ts';

/** Brings checkpoints somewhere else. */
export type Courier = {
  /** There may be something to bring. */
  poke: () => void;
  /** Brings what is left, if that takes no longer than a few seconds; the rest waits for the next start. */
  close: () => Promise<void>;
};

type Options<T> = {
  /** Where to, in what is logged: `checkpoints cannot be …`. */
  what: string;
  /** The newest checkpoint, if it has not been brought. */
  newest: () => KeptCheckpoint | null;
  /** Rejects with an error whose message can be logged. */
  send: (checkpoint: KeptCheckpoint, signal: AbortSignal) => Promise<T>;
  /** Remembers that one has been brought, and what came of it. */
  mark: (checkpoint: KeptCheckpoint, came: T) => Promise<void>;
  log: Logger;
  /** How long it rests after one, and after failures, which grows from the shortest to the longest; how long the end may take. */
  milliseconds?: { rest: number; shortest: number; longest: number; patience: number };
};

/** {@link Options} of who may be asked as often as there is something new. */
export const usual = { rest: 10_000, shortest: 2000, longest: 300_000, patience: 3000 };

/**
 * Brings the newest checkpoint, again and again until that has worked. One that is older need not be brought any more: the newest
 * vouches for all that was before it. Nobody waits for it.
 */
export function createCourier<T>({ what, newest, send, mark, log, milliseconds = usual }: Options<T>): Courier {
  const { rest, shortest, longest, patience } = milliseconds;
  const closing = new AbortController();
  const { signal } = closing;
  const pause = (time: number) => wait(time, undefined, { ref: false, signal }).catch(() => {});
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;

  async function run(): Promise<void> {
    let delay = shortest;
    for (let due = newest(); due && !signal.aborted; due = newest()) {
      try {
        await bring(due);
        if (delay > shortest) log.info(`checkpoints are ${what} again`);
        delay = shortest;
        await pause(rest);
      } catch (error) {
        if (!signal.aborted && delay === shortest) {
          log.warn(`checkpoints cannot be ${what}: ${(error as Error).message}; it is tried again and again`);
        }
        await pause(delay);
        delay = Math.min(2 * delay, longest);
      }
    }
    isRunning = false;
  }

  async function bring(checkpoint: KeptCheckpoint): Promise<void> {
    await mark(checkpoint, await send(checkpoint, signal));
  }

  async function last(): Promise<void> {
    await running;
    const due = newest();
    if (!due) return;
    await mark(due, await send(due, AbortSignal.timeout(patience)));
  }

  return {
    poke() {
      if (isRunning || signal.aborted) return;
      isRunning = true;
      running = run().catch((err) => {
        isRunning = false;
        log.error({ err }, `checkpoints cannot be ${what}`);
      });
    },
    async close() {
      closing.abort();
      const ended = last().catch((error) =>
        log.warn(`the last checkpoint could not be ${what}: ${(error as Error).message}`),
      );
      await Promise.race([ended, wait(patience, undefined, { ref: false })]);
    },
  };
}
