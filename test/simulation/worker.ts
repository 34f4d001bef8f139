import { parentPort, workerData } from 'node:worker_threads';
import { type Ran, simulate } from './run.ts';

/** The runs of a thread: the seeds from `seed` on, each `every` after the one before. */
export type WorkerInput = { seed: number; runs: number; every: number; ignoresSync: boolean };

/** How a run went: `failure` is why it failed. */
export type WorkerMessage = { seed: number; ran: Ran } | { seed: number; failure: string };

const { seed: first, runs, every, ignoresSync } = workerData as WorkerInput;

for (let number = 0; number < runs; number += 1) parentPort?.postMessage(resultOf(first + number * every));

function resultOf(seed: number): WorkerMessage {
  try {
    return { seed, ran: simulate({ seed, ignoresSync }) };
  } catch (error) {
    return { seed, failure: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
