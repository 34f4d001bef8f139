import { createTurns } from '../platform/fair-queue.ts';
import type { BulkTurns } from '../ports.ts';

/** So many calls are worked on at once: each has all of its documents in memory, and one writer records them all. */
const atOnce = 2;
/** So many more may wait, of one caller and in all; a call that waits for its caller has not read its body yet. */
const waiting = { caller: 16, all: 256 };
const waitingToBegin = 32;
/**
 * A body that has not come by then no longer holds up the next call of its caller, who may be many clients with one
 * key.
 */
const bodyMilliseconds = 2000;
/** But so many such bodies at most, of one caller and in all: what has come of them is in memory. */
const mostLate = { caller: 3, all: 16 };

/** The turns of a process, of which each thread has its own view. */
type SharedBulkTurns = {
  /** The view of one thread; `release` ends its turns, with the thread. */
  join: () => BulkTurns & { release: () => void };
};

type Turn = { caller: string; over: Promise<void>; end: () => void; timer: NodeJS.Timeout };

/** Makes the turns of a process. */
export function createBulkTurns(): SharedBulkTurns {
  const ofCallers = createTurns({
    width: Number.POSITIVE_INFINITY,
    maxWaiting: { key: waiting.caller, all: waiting.all },
  });
  const toBegin = createTurns({ width: atOnce, maxWaiting: { key: waitingToBegin, all: waitingToBegin } });
  const late = new Map<string, number>();
  let allLate = 0;
  let last = 0;

  /** Whether the next call of a caller may pass one whose body is late; that one counts until it is over. */
  function passes(caller: string, over: Promise<void>): boolean {
    const count = late.get(caller) ?? 0;
    if (count >= mostLate.caller || allLate >= mostLate.all) return false;
    const add = (by: 1 | -1) => {
      const sum = (late.get(caller) ?? 0) + by;
      if (sum > 0) late.set(caller, sum);
      else late.delete(caller);
      allLate += by;
    };
    add(1);
    over.then(() => add(-1));
    return true;
  }

  function join(): ReturnType<SharedBulkTurns['join']> {
    const turns = new Map<number, Turn>();
    let isReleased = false;

    /** `isLate` tells whether the body has not come in time, or that the turn is over. */
    function open(caller: string): { turn: number; over: Promise<void>; isLate: Promise<boolean> } {
      const { promise: over, resolve: end } = Promise.withResolvers<void>();
      const { promise: isLate, resolve: decide } = Promise.withResolvers<boolean>();
      over.then(() => decide(false));
      last += 1;
      turns.set(last, { caller, over, end, timer: setTimeout(decide, bodyMilliseconds, true).unref() });
      return { turn: last, over, isLate };
    }

    function close({ end, timer }: Turn): void {
      clearTimeout(timer);
      end();
    }

    return {
      take(caller) {
        const { promise, resolve, reject } = Promise.withResolvers<number | null>();
        const task = async () => {
          if (isReleased) return;
          const { turn, over, isLate } = open(caller);
          resolve(turn);
          if ((await isLate) && !passes(caller, over)) await over;
        };
        ofCallers.take({ line: caller, key: caller }, task).then((done) => done === null && resolve(null), reject);
        return promise;
      },
      begin(turn) {
        const { promise, resolve, reject } = Promise.withResolvers<boolean>();
        const { caller = '', over = Promise.resolve(), timer } = turns.get(turn) ?? {};
        clearTimeout(timer);
        const task = async () => {
          resolve(true);
          await over;
        };
        toBegin.take({ line: caller, key: caller }, task).then((done) => done === null && resolve(false), reject);
        return promise;
      },
      async end(turn) {
        const ended = turns.get(turn);
        turns.delete(turn);
        if (ended) close(ended);
      },
      release() {
        isReleased = true;
        for (const turn of turns.values()) close(turn);
        turns.clear();
      },
    };
  }

  return { join };
}
