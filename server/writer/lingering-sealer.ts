import type { Worker } from 'node:worker_threads';
import { startThread } from '../platform/threads.ts';
import type { SealerInput, SealerMessage, SealerOrder } from './sealer-thread.ts';

/**
 * A thread that seals. `ask` gives null where the thread ended in place of an answer; `onFailure` is told of the error
 * by which it failed.
 */
export type Sealer = {
  file: string;
  ask: (order: SealerOrder) => Promise<SealerMessage | null>;
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
let idle: { sealer: Sealer; timer: NodeJS.Timeout } | null = null;

/**
 * Gives the thread of a log that has nothing to do, or a new one. It is to be given back with {@link release}, or
 * ended.
 */
export function takeSealer(input: SealerInput, onFailure: (err: unknown) => void): Sealer {
  const lingering = idle?.sealer;
  if (lingering?.file !== input.file || lingering.isOver()) return startSealer(input, onFailure);
  clearTimeout(idle?.timer);
  idle = null;
  lingering.onFailure = onFailure;
  lingering.worker.ref();
  return lingering;
}

/** Keeps a thread for a while, in place of the one that was kept before. */
export async function release(sealer: Sealer): Promise<void> {
  const former = idle?.sealer;
  clearTimeout(idle?.timer);
  sealer.worker.unref();
  const timer = setTimeout(() => endLingering(sealer.file), lingerMilliseconds).unref();
  idle = { sealer, timer };
  await former?.worker.terminate();
}

/** Ends the thread of a log that has nothing to do, if there is one. */
export async function endLingering(file: string): Promise<void> {
  if (idle?.sealer.file !== file) return;
  const { sealer, timer } = idle;
  clearTimeout(timer);
  idle = null;
  await sealer.worker.terminate();
}

function startSealer(input: SealerInput, onFailure: (err: unknown) => void): Sealer {
  const worker = startThread('sealer', input);
  let isOver = false;
  const ended = new Promise<null>((resolve) => {
    worker.on('error', (err) => {
      sealer.onFailure(err);
      isOver = true;
      resolve(null);
    });
    worker.on('exit', () => {
      isOver = true;
      resolve(null);
    });
  });
  const sealer: Sealer = {
    file: input.file,
    onFailure,
    worker,
    isOver: () => isOver,
    ask(order) {
      const answer = new Promise<SealerMessage>((resolve) => worker.once('message', resolve));
      worker.postMessage(order);
      return Promise.race([answer, ended]);
    },
  };
  return sealer;
}
