import { availableParallelism } from 'node:os';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import type { Helpers, Piece, PieceResult, Work } from '../../projections/start/helpers.ts';
import { startThread } from '../platform/threads.ts';
import type { HelperInput, HelperMessage } from './helper-thread.ts';

/**
 * The cells that helping threads share: whether all are to end, how many have; then one for each, of the events that it
 * has gone through.
 */
export const helperCells = { isOver: 0, ended: 1, first: 2 } as const;

/** A thread takes a fifth of a second to begin, in which one goes through some thousand events. */
const usualFewest = 50_000;

/** With more, the files of their shares would be more than SQLite attaches to one. */
const mostThreads = 8;

const tickMilliseconds = 500;
/** A thread that has gone through nothing for so long, in ticks, has died without a word, as for want of memory. */
const mostTicks = 240;

/**
 * Threads that help one that does not return meanwhile: it waits for them in memory that they share, so no event of
 * theirs reaches it.
 *
 * @returns null on a machine with one core, where they would only take turns.
 */
export function openHelpers(cores: number = availableParallelism(), fewest: number = usualFewest): Helpers | null {
  const threads = Math.min(cores, mostThreads);
  return threads < 2 ? null : { threads, fewest, begin };
}

function begin(pieces: readonly Piece[][], told: (events: number) => void): Work {
  const cells = new Int32Array(new SharedArrayBuffer(4 * (helperCells.first + pieces.length)));
  const helpers = pieces.map((own, at) => {
    const { port1, port2 } = new MessageChannel();
    const input: HelperInput = { pieces: own, port: port2, cells, own: helperCells.first + at };
    const worker = startThread('helper', input, [port2]);
    // A failure is told through the port; without a listener, one of the thread itself would be thrown here.
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
