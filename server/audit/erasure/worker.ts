import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { readLog } from '../../../events/log/log-reader.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import { every } from '../../platform/ticks.ts';
import type { ErasurePort } from '../../ports.ts';
import { createObstacles } from './obstacles.ts';
import { type RemovalParts, removeErased } from './removal.ts';

/** Finishes erasures that are recorded: removes bytes from the data files and the store. */
export type ErasureWorker = {
  /** Looks for erasures that are not finished. */
  wake: () => void;
  settle: ErasurePort['settle'];
  obstacle: (position: number) => string | null;
  close: () => Promise<void>;
};

type Options = RemovalParts & {
  /** The path of the log. */
  logFile: string;
  logger: Logger;
  milliseconds?: { patience: number; shortest: number; longest: number };
};

const usual = { patience: 10_000, shortest: 200, longest: 60_000 };
const closeMilliseconds = 5000;

/**
 * Opens the one erasure worker of the service. After a restart it goes on with unfinished erasures, which it finds in
 * the log.
 */
export function openErasureWorker({ logFile, logger, milliseconds = usual, ...removal }: Options): ErasureWorker {
  const db = openDatabase(logFile, { readonly: true, cacheMiB: 1 });
  const log = readLog(db);
  const obstacles = createObstacles(logger);
  const closing = new AbortController();
  const { signal } = closing;
  const closed = once(signal, 'abort').then(() => null);
  let waiting: { position: number; resolve: () => void }[] = [];
  let running: Promise<void> | null = null;
  let isWoken = false;
  let endPause = () => {};
  // The thread that recorded an erasure may have ended before it called `settle`.
  const endLooking = every(milliseconds.longest, () => {
    if (!running && log.erasures.unfinished().length > 0) wake();
  });

  function wake(): void {
    isWoken = true;
    endPause();
    if (signal.aborted) return;
    running ??= run().finally(() => {
      running = null;
    });
  }

  async function run(): Promise<void> {
    let pause = milliseconds.shortest;
    while (!signal.aborted) {
      isWoken = false;
      const isDone = await finish().catch((err) => {
        if (signal.aborted) return false;
        logger.error({ err }, 'an erasure could not be finished; it is tried again');
        return false;
      });
      if (isDone && !isWoken) return;
      pause = isWoken ? milliseconds.shortest : Math.min(2 * pause, milliseconds.longest);
      if (!isWoken) await sleep(pause);
    }
  }

  /** Resolves after a time, or when `wake` is called. */
  async function sleep(duration: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      endPause = resolve;
    });
    const late = wait(duration, undefined, { ref: false, signal }).catch(() => {});
    await Promise.race([late, woken]);
  }

  /** True if no erasure is left unfinished. */
  async function finish(): Promise<boolean> {
    if (!(await removeErased({ ...removal, log, obstacles, closed }, signal))) return false;
    const left = new Set(log.erasures.unfinished().map(({ position }) => position));
    obstacles.retain(left);
    for (const { position, resolve } of waiting) if (!left.has(position)) resolve();
    waiting = waiting.filter(({ position }) => left.has(position));
    return left.size === 0;
  }

  async function settle(position: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ position, resolve });
    wake();
    return isWithin(milliseconds.patience, promise, { ref: false });
  }

  async function close(): Promise<void> {
    closing.abort();
    endLooking();
    // A store that does not answer is not waited for.
    await isWithin(closeMilliseconds, running);
    db.close();
  }

  return { wake, settle, obstacle: obstacles.of, close };
}

/** Whether something ends within a time. @param ref whether the wait keeps the process from ending. */
async function isWithin(milliseconds: number, work: Promise<void> | null, { ref = true } = {}): Promise<boolean> {
  const isOver = new AbortController();
  const late = wait(milliseconds, false, { ref, signal: isOver.signal }).catch(() => false);
  const isDone = await Promise.race([Promise.resolve(work).then(() => true), late]);
  isOver.abort();
  return isDone;
}
