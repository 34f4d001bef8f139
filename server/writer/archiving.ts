import type { Logger } from 'pino';
import { hasRemovals, type PendingSegment, type SegmentSizes } from '../../events/segments/segment-writer.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import type { ArchiverMessage, ArchiverOrder } from './archiver-thread.ts';
import { endLingering, release, takeArchiver } from './lingering-archiver.ts';
import type { SegmentOutcome } from './messages.ts';

/** Makes segments of a log, and writes them anew, beside the writer. */
export type Sealing = {
  /** Seals all that is due. */
  seal: () => void;
  /**
   * Writes the segments anew that still have erased payloads, one after the other. Nothing is sealed until the function
   * is called that this gives: then no pending has what was erased meanwhile. A segment that could not be written is
   * logged, and left as it was.
   */
  rewriteSegments: () => Promise<() => void>;
  close: () => Promise<void>;
};

type Options = {
  /** The path of the log. */
  file: string;
  sizes: SegmentSizes;
  /** Where segments are that are not here. */
  blobs: BlobSettings;
  keep: (pending: PendingSegment) => Promise<SegmentOutcome>;
  log: Logger;
};

/** An erasure in the middle of the work makes it void: so often it is tried again. */
const maxTries = 5;
/** After so many segments an erasure, or another log, has its turn: a log from before segments has hundreds of them. */
const mostInTurn = 4;
/** Where the disk did not let it be it is tried again after so long, also if no event comes. */
const retryMilliseconds = 60_000;

/** One thread at a time seals, of all the logs of a process. */
let line: Promise<unknown> = Promise.resolve();

function inLine<T>(run: () => Promise<T>): Promise<T> {
  const next = line.then(run);
  line = next.catch(() => {});
  return next;
}

/** Opens the sealing of a log. Its thread runs while there is something to do, and lingers. */
export function openArchiving({ file, sizes, blobs, keep, log }: Options): Sealing {
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;
  let isSealing = false;
  let isWanted = false;
  let told = '';
  let timer: NodeJS.Timeout | undefined;
  let ending = () => {};

  /** One after the other. */
  function queue<T>(run: () => Promise<T>): Promise<T> {
    const next = last.then(run);
    last = next.catch(() => {});
    return next;
  }

  /** Does what there is to do of a kind. @returns whether there may be more. */
  async function work(order: ArchiverOrder, most: number): Promise<boolean> {
    if (isClosed) return false;
    const archiver = takeArchiver({ file, sizes, blobs }, (err) => {
      log.error({ err }, 'the thread that seals the log has failed; it is tried again with further events');
    });
    const ended = new Promise<null>((resolve) => {
      ending = () => resolve(null);
    });
    const ask = async (): Promise<PendingSegment | null> => {
      const message = await Promise.race([archiver.ask(order), ended]);
      if (message && 'failure' in message) fail(order, message);
      return message && 'pending' in message ? message.pending : null;
    };
    try {
      let made = 0;
      for (let tries = 0; tries < maxTries && made < most && !isClosed; ) {
        const pending = await ask();
        if (!pending || isClosed) return false;
        const { isKept, failure } = await keep(pending);
        if (failure !== null) {
          fail(order, { failure, isLogs: false, isFull: false });
          return false;
        }
        tries = isKept ? 0 : tries + 1;
        if (!isKept) continue;
        made += 1;
        told = '';
      }
      return made === most;
    } finally {
      if (isClosed) await archiver.worker.terminate();
      else await release(archiver);
    }
  }

  async function sealInTurns(): Promise<void> {
    for (let hasMore = true; hasMore || isWanted; ) {
      isWanted = false;
      hasMore = await queue(() => inLine(() => work('seal', mostInTurn)));
    }
  }

  function seal(): void {
    isWanted = true;
    if (isClosed || isSealing) return;
    isSealing = true;
    sealInTurns()
      .catch((err) => log.error({ err }, 'the log could not be sealed further'))
      .finally(() => {
        isSealing = false;
      });
  }

  function fail(
    order: ArchiverOrder,
    { failure, isLogs, isFull }: Extract<ArchiverMessage, { failure: string }>,
  ): void {
    clearTimeout(timer);
    if (!isLogs && order === 'seal') timer = setTimeout(seal, retryMilliseconds).unref();
    if (told === failure) return;
    told = failure;
    const what = order === 'seal' ? 'the log could not be sealed further' : 'a segment could not be written anew';
    if (isLogs) log.error(`${what}: ${failure}; run "annals verify"`);
    else log.warn(`${what}: ${isFull ? 'there is no room on the disk' : failure}`);
  }

  return {
    seal,
    rewriteSegments() {
      const held = Promise.withResolvers<void>();
      const isWritten = Promise.withResolvers<() => void>();
      queue(async () => {
        try {
          if (!isClosed && withDatabase(file, { readonly: true, cacheMiB: 1 }, hasRemovals))
            await inLine(() => work('rewrite', Number.POSITIVE_INFINITY));
        } finally {
          isWritten.resolve(held.resolve);
        }
        await held.promise;
      }).catch((err) => log.error({ err }, 'segments could not be written anew'));
      return isWritten.promise;
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      ending();
      await Promise.race([last, new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
      await endLingering(file);
    },
  };
}
