import type { Worker } from 'node:worker_threads';
import { startThread } from '../platform/threads.ts';
import type { ArchiverInput, ArchiverMessage, ArchiverOrder } from './archiver-thread.ts';

/**
 * A thread that seals. `ask` gives null where the thread ended in place of an answer; `onFailure` is told of the error
 * by which it failed.
 */
export type Archiver = {
  file: string;
  ask: (order: ArchiverOrder) => Promise<ArchiverMessage | null>;
  onFailure: (err: unknown) => void;
  isOver: () => boolean;
  worker: Worker;
};

/**
 * To start a thread takes the CPU of two to three thousand events that are sealed; in a busy log the next segment is
 * due before this is over.
 */
const lingerMilliseconds = 30_000;

/** The thread that has nothing to do: one of a process. */
let idle: { archiver: Archiver; timer: NodeJS.Timeout } | null = null;

/**
 * Gives the thread of a log that has nothing to do, or a new one. It is to be given back with {@link release}, or
 * ended.
 */
export function takeArchiver(input: ArchiverInput, onFailure: (err: unknown) => void): Archiver {
  const lingering = idle?.archiver;
  if (lingering?.file !== input.file || lingering.isOver()) return startArchiver(input, onFailure);
  clearTimeout(idle?.timer);
  idle = null;
  lingering.onFailure = onFailure;
  lingering.worker.ref();
  return lingering;
}

/** Keeps a thread for a while, in place of the one that was kept before. */
export async function release(archiver: Archiver): Promise<void> {
  const former = idle?.archiver;
  clearTimeout(idle?.timer);
  archiver.worker.unref();
  const timer = setTimeout(() => endLingering(archiver.file), lingerMilliseconds).unref();
  idle = { archiver, timer };
  await former?.worker.terminate();
}

/** Ends the thread of a log that has nothing to do, if there is one. */
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
