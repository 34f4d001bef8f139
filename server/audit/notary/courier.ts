import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KeptCheckpoint } from '../../../events/checkpoints.ts';
import { messageOf } from '../../../storage/errors.ts';

/** Brings checkpoints somewhere else. */
export type Courier = {
  /** There may be something to bring. */
  wake: () => void;
  /** Brings what is left, if that takes no longer than a few seconds, and may be; else it waits for the next start. */
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
  /**
   * Given where nobody is asked before the rest has passed, at the start and the end neither: how many milliseconds are left of that
   * after the one before the start.
   */
  left?: number;
  /** How long it rests after one, and after failures, which grows from the shortest to the longest; how long the end may take. */
  milliseconds?: { rest: number; shortest: number; longest: number; patience: number };
};

/** {@link Options} of who may be asked as often as there is something new. */
export const usual = { rest: 10_000, shortest: 2000, longest: 300_000, patience: 3000 };

/**
 * Brings the newest checkpoint, again and again until that has worked. One that is older need not be brought any more: the newest
 * vouches for all that was before it. Nobody waits for it.
 */
export function createCourier<T>(options: Options<T>): Courier {
  const { what, newest, send, mark, log, left, milliseconds = usual } = options;
  const { rest, shortest, longest, patience } = milliseconds;
  const closing = new AbortController();
  const { signal } = closing;
  const pause = (time: number) => wait(time, undefined, { ref: false, signal }).catch(() => {});
  let running: Promise<void> = Promise.resolve();
  let isRunning = false;
  let restsUntil = performance.now() + (left ?? 0);
  const rests = () => Math.max(restsUntil - performance.now(), 0);

  async function run(): Promise<void> {
    let delay = shortest;
    for (;;) {
      if (rests() > 0) await pause(rests());
      const due = newest();
      if (!due || signal.aborted) break;
      try {
        await bring(due);
        if (delay > shortest) log.info(`checkpoints are ${what} again`);
        delay = shortest;
        restsUntil = performance.now() + rest;
      } catch (error) {
        if (!signal.aborted && delay === shortest) {
          log.warn(`checkpoints cannot be ${what}: ${messageOf(error)}; it is tried again and again`);
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
    if (!due || (left !== undefined && rests() > 0)) return;
    await mark(due, await send(due, AbortSignal.timeout(patience)));
  }

  return {
    wake() {
      if (isRunning || signal.aborted) return;
      isRunning = true;
      running = run().catch((err) => {
        isRunning = false;
        log.error({ err }, `checkpoints cannot be ${what}`);
      });
    },
    async close() {
      closing.abort();
      const ended = last().catch((error) => log.warn(`the last checkpoint could not be ${what}: ${messageOf(error)}`));
      await Promise.race([ended, wait(patience, undefined, { ref: false })]);
    },
  };
}
