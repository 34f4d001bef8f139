import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Category } from '../../../config/schema.ts';
import { splitStream } from '../../../events/facts/catalogue.ts';
import { readLog } from '../../../events/log/log-reader.ts';
import type { Obstacle, Remaining, Scrubbed } from '../../../projections/tables/scrub.ts';
import { openDatabase } from '../../../storage/sqlite.ts';
import type { BlobGuard } from '../../files/blobs/guard.ts';
import { isStoreFailure } from '../../http/store-refusals.ts';
import { every } from '../../platform/ticks.ts';
import type { ErasurePort } from '../../ports.ts';
import type { Offloading } from '../../writer/offloading.ts';
import type { Writer } from '../../writer/writer.ts';

/** Finishes erasures that are recorded: removes bytes from the data files and the store. */
export type ErasureWorker = {
  /** Looks for erasures that are not finished. */
  wake: () => void;
  settle: ErasurePort['settle'];
  obstacle: (position: number) => string | null;
  close: () => Promise<void>;
};

type Options = {
  /** The path of the log. */
  logFile: string;
  guard: Pick<BlobGuard, 'erase'>;
  scrub: Writer['scrub'];
  /** Writes the segments anew that have erased payloads; nothing is sealed until what this gives is called. */
  rewriteSegments: () => Promise<() => void>;
  /** The objects of segments in the bucket. */
  objects: Pick<Offloading, 'findObjects' | 'removeObjects'>;
  /** Forgets the drafts about a document, and all that it keeps itself, where it is a user. */
  forgetKept: (category: Category, id: string) => Promise<void>;
  logger: Logger;
  milliseconds?: { patience: number; shortest: number; longest: number };
};

const usual = { patience: 10_000, shortest: 200, longest: 60_000 };
const closeMilliseconds = 5000;

/**
 * Opens the one erasure worker of the service. The next start goes on with unfinished erasures: the log tells which.
 */
export function openErasureWorker(options: Options): ErasureWorker {
  const { logFile, guard, scrub, rewriteSegments, objects, forgetKept, logger, milliseconds = usual } = options;
  const db = openDatabase(logFile, { readonly: true, cacheMiB: 1 });
  const log = readLog(db);
  const closing = new AbortController();
  const { signal } = closing;
  const closed = once(signal, 'abort').then(() => null);
  let waiting: { position: number; resolve: () => void }[] = [];
  let running: Promise<void> | null = null;
  /** The obstacle of each unfinished erasure, by its position. */
  const obstacles = new Map<number, string>();
  let isWoken = false;
  let toldOfObjects = '';
  let endPause = () => {};
  // The thread that recorded one may have ended before it called `settle`.
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
      const isDone = await pass().catch((err) => {
        if (signal.aborted) return false;
        logger.error({ err }, 'an erasure could not be finished; it is tried again');
        return false;
      });
      if (isDone && !isWoken) return;
      pause = isWoken ? milliseconds.shortest : Math.min(2 * pause, milliseconds.longest);
      if (!isWoken) await sleep(pause);
    }
  }

  /** Until a time has passed, or something is to be done. */
  async function sleep(duration: number): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      endPause = resolve;
    });
    const late = wait(duration, undefined, { ref: false, signal }).catch(() => {});
    await Promise.race([late, woken]);
  }

  /** True when nothing is left to be done. */
  async function pass(): Promise<boolean> {
    const open = log.erasures.unfinished();
    const remaining: Remaining[] = [];
    for (const { position } of open) {
      for (const { header } of log.range(position - 1, position)) await forgetKept(...splitStream(header.stream));
    }
    for (const { position, files } of open) remaining.push({ position, files: await removed(position, files) });
    if (signal.aborted) return false;
    if (open.length > 0) {
      const hinderAll = (because: Obstacle, said?: string) => {
        const reason = reasons[because];
        const why = said === undefined ? reason : `${reason}: ${said}`;
        for (const { position, files } of remaining) if (files.length === 0) hinder(position, reason, why);
      };
      // Nothing is sealed in between: what is erased would be in the file that is being written.
      const release = await Promise.race([rewriteSegments(), closed]);
      if (release === null) return false;
      const scrubbing = scrubAll(remaining, () => hinderAll('reader')).finally(release);
      const scrubbed = await Promise.race([scrubbing, closed]);
      // The next start goes on with it.
      if (scrubbed === null) return false;
      if (!scrubbed.isClean) hinderAll(scrubbed.because, scrubbed.said);
    }
    const left = new Set(log.erasures.unfinished().map(({ position }) => position));
    for (const position of obstacles.keys()) if (!left.has(position)) obstacles.delete(position);
    for (const { position, resolve } of waiting) if (!left.has(position)) resolve();
    waiting = waiting.filter(({ position }) => left.has(position));
    return left.size === 0;
  }

  async function scrubAll(remaining: Remaining[], onHindered: () => void): Promise<Scrubbed> {
    try {
      await objects.findObjects();
      const scrubbed = await scrub(remaining, onHindered);
      if (scrubbed.isClean || scrubbed.because !== 'objects') return scrubbed;
      // No reader is left that needs them.
      await objects.removeObjects();
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      if (toldOfObjects !== error.message)
        logger.warn(`former segments of the log stay in the bucket: ${error.message}`);
      toldOfObjects = error.message;
      return { isClean: false, because: 'objects' };
    }
    return scrub(remaining, onHindered);
  }

  async function removed(position: number, files: string[]): Promise<string[]> {
    if (files.length === 0) return files;
    try {
      const { left, held } = await guard.erase(files);
      if (held) {
        const until = held.until === null ? '' : ` until ${held.until}`;
        hinder(position, `the store does not let go of a file${until}`, held.message);
      } else if (left.length > 0) hinder(position, 'another upload of the same file is under way');
      return left;
    } catch (error) {
      if (!isStoreFailure(error)) throw error;
      hinder(position, 'the store of files cannot be used', error.message);
      return files;
    }
  }

  /** Logs an obstacle once, since retries may go on for years. @param why for the operator. */
  function hinder(position: number, obstacle: string, why = obstacle): void {
    if (obstacles.get(position) === obstacle) return;
    obstacles.set(position, obstacle);
    logger.warn(`the erasure at position ${position} is not finished: ${why}; it is tried again`);
  }

  async function settle(position: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push({ position, resolve });
    wake();
    const late = new AbortController();
    const isDone = await Promise.race([
      promise.then(() => true),
      wait(milliseconds.patience, false, { ref: false, signal: late.signal }).catch(() => false),
    ]);
    late.abort();
    return isDone;
  }

  return {
    wake,
    settle,
    obstacle: (position) => obstacles.get(position) ?? null,
    async close() {
      closing.abort();
      endLooking();
      // A store that does not answer is not waited for.
      const isOver = new AbortController();
      const late = wait(closeMilliseconds, undefined, { signal: isOver.signal }).catch(() => {});
      await Promise.race([running, late]);
      isOver.abort();
      db.close();
    },
  };
}

const reasons: Record<Obstacle, string> = {
  reader: 'a reader still uses an older snapshot',
  search: 'the search index is still being cleaned',
  room: 'there is no room to clean the data files',
  files: 'too many files are open to clean the data files (ulimit -n)',
  segments: 'segments of the log are still being written anew',
  objects: 'former segments of the log are still in the bucket',
  disk: 'the disk does not let files go that are not used any more',
  damage:
    'a data file or a segment of the log is missing or damaged (annals verify tells which), or has 128 GiB or more',
};
