import type { Worker } from 'node:worker_threads';
import { startThread } from '../platform/threads.ts';
import type { ArchiverInput, ArchiverMessage, ArchiverOrder } from './archiver-thread.ts';

/** An archiver thread. */
type Archiver = {
  /** The path of its log. */
  file: string;
  /** Gives null if the thread ends before it answers. */
  ask: (order: ArchiverOrder) => Promise<ArchiverMessage | null>;
  /** Called with the error if the thread fails. */
  onFailure: (err: unknown) => void;
  isOver: () => boolean;
  worker: Worker;
};

/**
 * How long an idle thread stays. A start costs as much CPU as archiving two to three thousand events, and in a busy log
 * the next segment is due within this time.
 */
const lingerMilliseconds = 30_000;

/** The idle thread: at most one in a process. */
let idle: { archiver: Archiver; timer: NodeJS.Timeout } | null = null;

/** Gives the idle thread of a log, or a new one. The caller gives it back with {@link release}, or ends it. */
export function takeArchiver(input: ArchiverInput, onFailure: (err: unknown) => void): Archiver {
  const lingering = idle?.archiver;
  if (lingering?.file !== input.file || lingering.isOver()) return startArchiver(input, onFailure);
  clearTimeout(idle?.timer);
  idle = null;
  lingering.onFailure = onFailure;
  lingering.worker.ref();
  return lingering;
}

/** Keeps a thread for a while, and ends the idle thread that was kept before. */
export async function release(archiver: Archiver): Promise<void> {
  const former = idle?.archiver;
  clearTimeout(idle?.timer);
  archiver.worker.unref();
  const timer = setTimeout(() => endLingering(archiver.file), lingerMilliseconds).unref();
  idle = { archiver, timer };
  await former?.worker.terminate();
}

/** Ends the idle thread of a log, if there is one. */
export async function endLingering(file: string): Promise<void> {
  if (idle?.archiver.file !== file) return;
  const { archiver, timer } = idle;
  clearTimeout(timer);
  idle = null;
  await archiver.worker.terminate();
}

function startArchiver(input: ArchiverInput, onFailure: (err: unknown) => void): Archiver {
  const worker = startThread('archiver', input);
  let isOver = false;
  const ended = new Promise<null>((resolve) => {
    worker.on('error', (err) => {
      archiver.onFailure(err);
      isOver = true;
      resolve(null);
    });
    worker.on('exit', () => {
      isOver = true;
      resolve(null);
    });
  });
  const archiver: Archiver = {
    file: input.file,
    onFailure,
    worker,
    isOver: () => isOver,
    ask(order) {
      const answer = new Promise<ArchiverMessage>((resolve) => worker.once('message', resolve));
      worker.postMessage(order);
      return Promise.race([answer, ended]);
    },
  };
  return archiver;
}
