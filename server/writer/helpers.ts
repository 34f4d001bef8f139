import { availableParallelism } from 'node:os';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import type { Helpers, HelperWork, Piece, PieceResult } from '../../projections/start/helpers.ts';
import { startThread } from '../platform/threads.ts';
import type { HelperInput, HelperMessage } from './helper-thread.ts';

/** The indexes of the cells that helper threads share. */
export const helperCells = {
  /** 1 if all threads are to end. */
  isOver: 0,
  /** The number of threads that have ended. */
  ended: 1,
  /** The first of one cell for each thread: the number of events that the thread has gone through. */
  first: 2,
} as const;

/** The fewest events for which threads are started: a start takes a fifth of a second, or some thousand events. */
const usualFewest = 50_000;

/** The shares of more threads would have more files than SQLite attaches to one connection. */
const mostThreads = 8;

const tickMilliseconds = 500;
/** The ticks without progress after which the threads count as dead: one may have died without a message. */
const mostTicks = 240;

/**
 * Threads that help the calling thread. The caller blocks while it waits for them, so it reads their progress from
 * shared memory: messages and events would not reach it.
 *
 * @returns null on a machine with one core.
 */
export function openHelpers(cores: number = availableParallelism(), fewest: number = usualFewest): Helpers | null {
  const threads = Math.min(cores, mostThreads);
  return threads < 2 ? null : { threads, fewest, begin };
}

function begin(pieces: readonly Piece[][], told: (events: number) => void): HelperWork {
  const cells = new Int32Array(new SharedArrayBuffer(4 * (helperCells.first + pieces.length)));
  const helpers = pieces.map((own, at) => {
    const { port1, port2 } = new MessageChannel();
    const input: HelperInput = { pieces: own, port: port2, cells, own: helperCells.first + at };
    const worker = startThread('helper', input, [port2]);
    // The port reports failures of the work; without a listener, an error of the thread itself would be thrown here.
    worker.on('error', () => {});
    worker.unref();
    return { worker, port: port1, answer: null as HelperMessage | null };
  });
  let seen = 0;

  function tell(): void {
    const sum = cells.subarray(helperCells.first).reduce((all, one) => all + one, 0);
    if (sum > seen) told(sum - seen);
    seen = sum;
  }

  function wait(isEnough: () => boolean): void {
    let idle = 0;
    while (idle < mostTicks) {
      const ended = Atomics.load(cells, helperCells.ended);
      for (const helper of helpers) helper.answer ??= receiveMessageOnPort(helper.port)?.message ?? null;
      const before = seen;
      tell();
      if (isEnough()) return;
      idle = seen > before ? 0 : idle + 1;
      Atomics.wait(cells, helperCells.ended, ended, tickMilliseconds);
    }
  }

  return {
    finish() {
      const hasFailed = () => helpers.some(({ answer }) => answer !== null && 'failure' in answer);
      wait(() => hasFailed() || helpers.every(({ answer }) => answer !== null));
      const results: PieceResult[][] = [];
      for (const { answer } of helpers) {
        if (!answer || 'failure' in answer) return null;
        results.push(answer.results);
      }
      return results;
    },
    end() {
      Atomics.store(cells, helperCells.isOver, 1);
      wait(() => helpers.every(({ answer }) => answer !== null));
      for (const { worker, port } of helpers) {
        port.close();
        worker.terminate().catch(() => {});
      }
    },
  };
}
