import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { KeptCheckpoint } from '../../../events/proof/checkpoints.ts';
import { messageOf } from '../../../storage/errors.ts';

/** Delivers checkpoints to one destination. */
export type Courier = {
  /** Says that there may be a new checkpoint. */
  wake: () => void;
  /** Delivers the last checkpoint, if that takes at most a few seconds and may be; else it waits for the next start. */
  close: () => Promise<void>;
};

type Options<T> = {
  /** The past participle for log lines: `checkpoints cannot be …`. */
  what: string;
  /** The newest checkpoint, if it has not been delivered. */
  newest: () => KeptCheckpoint | null;
  /** Rejects with an error whose message can be logged. */
  send: (checkpoint: KeptCheckpoint, signal: AbortSignal) => Promise<T>;
  /** Records a delivery, and its result. */
  mark: (checkpoint: KeptCheckpoint, came: T) => Promise<void>;
  log: Logger;
  /**
   * Set for a destination that is rate-limited across restarts: the milliseconds left of the rest after the last
   * delivery before the start.
   */
  left?: number;
  /**
   * The rest after a delivery; the shortest and longest delay between retries, which doubles; the time that `close` may
   * take.
   */
  milliseconds?: { rest: number; shortest: number; longest: number; patience: number };
};

/** The defaults, for a destination without a rate limit. */
export const usual = { rest: 10_000, shortest: 2000, longest: 300_000, patience: 3000 };

/**
 * Delivers the newest checkpoint, and retries until that has worked. Older ones are skipped: the newest covers them.
 * Deliveries run in the background.
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
        await bring(due, signal);
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

  async function bring(checkpoint: KeptCheckpoint, aborted: AbortSignal): Promise<void> {
    await mark(checkpoint, await send(checkpoint, aborted));
  }

  async function last(): Promise<void> {
    await running;
    const due = newest();
    if (!due || (left !== undefined && rests() > 0)) return;
    await bring(due, AbortSignal.timeout(patience));
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
