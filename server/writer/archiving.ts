import type { Logger } from 'pino';
import { hasRemovals, type PendingSegment, type SegmentSizes } from '../../events/segments/segment-writer.ts';
import type { BlobSettings } from '../../storage/blobs.ts';
import { withDatabase } from '../../storage/sqlite.ts';
import type { ArchiverFailure, ArchiverOrder } from './archiver-thread.ts';
import { endLingering, release, takeArchiver } from './lingering-archiver.ts';
import type { SegmentOutcome } from './messages.ts';
import { openSerialQueue, type SerialQueue } from './serial-queue.ts';

/** Has the archiver thread write segments of a log, and the writer keep them; in the main thread. */
type Archiving = {
  /** Writes all segments that are due. */
  archive: () => void;
  /**
   * Rewrites the segments that still have erased payloads, one after the other. A segment that could not be rewritten
   * is logged, and stays as it was.
   *
   * @returns a function that must be called. Until then no segment is written, so none has what is erased meanwhile.
   */
  rewriteSegments: () => Promise<() => void>;
  close: () => Promise<void>;
};

type Options = {
  /** The path of the log. */
  file: string;
  sizes: SegmentSizes;
  /** The store of the segments that are not in the data directory. */
  blobs: BlobSettings;
  keep: (pending: PendingSegment) => Promise<SegmentOutcome>;
  log: Logger;
};

type State = Options & {
  queue: SerialQueue;
  isClosed: boolean;
  /** The failure that was logged last; empty after a success. */
  logged: string;
  timer: NodeJS.Timeout | undefined;
  /** Ends the wait for the archiver thread. */
  stopWaiting: () => void;
};

/** An erasure in the middle of the work makes a segment void; then it is written again, this many times in a row. */
const maxTries = 5;
/** After this many segments other work of the queues runs: a log from before segments has hundreds of them to write. */
const mostAtOnce = 4;
/** After an error of the disk archiving is tried again, even if no event comes. */
const retryMilliseconds = 60_000;
const closeMilliseconds = 5000;

/** The work of all logs of a process: one archiver thread at a time is enough. */
const ofProcess = openSerialQueue();

/** Opens the archiving of a log. Its thread runs while there is work, and lingers. */
export function openArchiving(options: Options): Archiving {
  const { file, log } = options;
  const queue = openSerialQueue();
  const state: State = { ...options, queue, isClosed: false, logged: '', timer: undefined, stopWaiting: () => {} };
  let isArchiving = false;
  let isWanted = false;

  function archive(): void {
    isWanted = true;
    if (state.isClosed || isArchiving) return;
    isArchiving = true;
    archiveAll()
      .catch((err) => log.error({ err }, 'the log could not be archived further'))
      .finally(() => {
        isArchiving = false;
      });
  }

  async function archiveAll(): Promise<void> {
    for (let hasMore = true; hasMore || isWanted; ) {
      isWanted = false;
      hasMore = await queue.run(() => ofProcess.run(() => work('write', mostAtOnce)));
    }
  }

  /** Has at most `most` segments written or rewritten, and reports a failure. @returns whether there may be more. */
  async function work(order: ArchiverOrder, most: number): Promise<boolean> {
    const { hasMore, failure } = await writeSegments(state, order, most);
    if (failure) report(state, order, failure);
    if (failure && !failure.isLogs && order === 'write') {
      clearTimeout(state.timer);
      state.timer = setTimeout(archive, retryMilliseconds).unref();
    }
    return hasMore;
  }

  async function rewrite(): Promise<void> {
    if (state.isClosed || !withDatabase(file, { readonly: true, cacheMiB: 1 }, hasRemovals)) return;
    await ofProcess.run(() => work('rewrite', Number.POSITIVE_INFINITY));
  }

  return {
    archive,
    rewriteSegments() {
      const rewritten = Promise.withResolvers<() => void>();
      const released = Promise.withResolvers<void>();
      queue
        .run(async () => {
          await rewrite().finally(() => rewritten.resolve(released.resolve));
          await released.promise;
        })
        .catch((err) => log.error({ err }, 'segments could not be rewritten'));
      return rewritten.promise;
    },
    async close() {
      state.isClosed = true;
      clearTimeout(state.timer);
      state.stopWaiting();
      await queue.ended(closeMilliseconds);
      await endLingering(file);
    },
  };
}

type Work = { hasMore: boolean; failure: ArchiverFailure | null };

const done: Work = { hasMore: false, failure: null };

/** Has at most `most` segments written and kept. */
async function writeSegments(state: State, order: ArchiverOrder, most: number): Promise<Work> {
  if (state.isClosed) return done;
  const { file, sizes, blobs, log, keep } = state;
  const archiver = takeArchiver({ file, sizes, blobs }, (err) => {
    log.error({ err }, 'the archiver thread has failed; it is tried again with further events');
  });
  const stopped = new Promise<null>((resolve) => {
    state.stopWaiting = () => resolve(null);
  });
  try {
    let kept = 0;
    for (let tries = 0; tries < maxTries && kept < most && !state.isClosed; ) {
      const message = await Promise.race([archiver.ask(order), stopped]);
      if (message && 'failure' in message) return { hasMore: false, failure: message };
      if (!message?.pending || state.isClosed) return done;
      const { isKept, failure } = await keep(message.pending);
      if (failure !== null) return { hasMore: false, failure: { failure, isLogs: false, isFull: false } };
      tries = isKept ? 0 : tries + 1;
      if (!isKept) continue;
      kept += 1;
      state.logged = '';
    }
    return { hasMore: kept === most, failure: null };
  } finally {
    if (state.isClosed) await archiver.worker.terminate();
    else await release(archiver);
  }
}

/** Logs a failure, once. */
function report(state: State, order: ArchiverOrder, { failure, isLogs, isFull }: ArchiverFailure): void {
  if (state.logged === failure) return;
  state.logged = failure;
  const what = order === 'write' ? 'the log could not be archived further' : 'a segment could not be rewritten';
  if (isLogs) state.log.error(`${what}: ${failure}; run "annals verify"`);
  else state.log.warn(`${what}: ${isFull ? 'there is no room on the disk' : failure}`);
}
