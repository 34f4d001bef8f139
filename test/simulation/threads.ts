import { Worker } from 'node:worker_threads';
import type { Ran } from './run.ts';
import type { WorkerInput, WorkerMessage } from './worker.ts';

/** `runs` runs, of the seeds from `seed` on, in `threads` threads. */
export type Asked = { seed: number; runs: number; threads: number; ignoresSync: boolean };

/** The figures of all runs that found nothing, and the others, by their seeds. */
export type Found = { sums: Ran; failures: { seed: number; failure: string }[] };

const none: Ran = { calls: 0, errors: 0, cuts: 0, trace: 0, starts: 0, events: 0, erased: 0 };

/** Told of each run that fails, as soon as it has, and of how many are done. */
export type Reporter = { failed: (seed: number, failure: string) => void; done: (runs: number) => void };

/** Makes runs, in threads. */
export async function runAll({ seed, runs, threads, ignoresSync }: Asked, reporter?: Reporter): Promise<Found> {
  const found: Found = { sums: { ...none }, failures: [] };
  let done = 0;

  function take(message: WorkerMessage): void {
    if ('failure' in message) {
      found.failures.push(message);
      reporter?.failed(message.seed, message.failure);
    } else for (const name of Object.keys(none) as (keyof Ran)[]) found.sums[name] += message.ran[name];
    done += 1;
    reporter?.done(done);
  }

  const working = Array.from({ length: Math.min(threads, runs) }, (_, index) => {
    const its = Math.ceil((runs - index) / threads);
    return runThread({ seed: seed + index, runs: its, every: threads, ignoresSync }, take);
  });
  await Promise.all(working);
  return found;
}

function runThread(workerData: WorkerInput, take: (message: WorkerMessage) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), { workerData });
    worker.on('message', take);
    worker.once('error', reject);
    worker.once('exit', () => resolve());
  });
}
