import { createFairQueue, type FairQueue } from '../platform/fair-queue.ts';
import type { BulkQueue } from '../ports.ts';

/** How many calls are worked on at once: each has all of its documents in memory, and one writer records them all. */
const atOnce = 2;
/** How many more calls may wait, of one caller and in all. A waiting call has not read its body yet. */
const waiting = { caller: 16, all: 256 };
const waitingToBegin = 32;
/**
 * After this time, a body that is still on its way no longer holds up the next call of its caller: the caller may be
 * many clients with one key.
 */
const bodyMilliseconds = 2000;
/** How many such late bodies there may be, of one caller and in all: the part that has come of each is in memory. */
const mostLate = { caller: 3, all: 16 };

/** The queue of a process, of which each thread has its own view. */
type ProcessBulkQueue = {
  /** The view of one thread; `release` ends the thread's calls. */
  join: () => BulkQueue & { release: () => void };
};

/** A call that has begun. `isLate` resolves when the body is late, with false when the call is over before. */
type Call = { caller: string; over: Promise<void>; isLate: Promise<boolean>; end: () => void; timer: NodeJS.Timeout };

type Queues = {
  /** One call at a time for each caller. */
  ofCallers: FairQueue;
  /** Calls that have their body. */
  toBegin: FairQueue;
  late: LateBodies;
  nextNumber: () => number;
};

/** Creates the queue of a process. */
export function createBulkQueue(): ProcessBulkQueue {
  let last = 0;
  const queues: Queues = {
    ofCallers: createFairQueue({
      width: Number.POSITIVE_INFINITY,
      maxWaiting: { key: waiting.caller, all: waiting.all },
    }),
    toBegin: createFairQueue({ width: atOnce, maxWaiting: { key: waitingToBegin, all: waitingToBegin } }),
    late: countLateBodies(),
    nextNumber() {
      last += 1;
      return last;
    },
  };
  return { join: () => openView(queues) };
}

function openView({ ofCallers, toBegin, late, nextNumber }: Queues): ReturnType<ProcessBulkQueue['join']> {
  const calls = new Map<number, Call>();
  let isReleased = false;

  return {
    take(caller) {
      const { promise, resolve, reject } = Promise.withResolvers<number | null>();
      const task = async () => {
        if (isReleased) return;
        const number = nextNumber();
        const call = openCall(caller);
        calls.set(number, call);
        resolve(number);
        if ((await call.isLate) && !late.passes(caller, call.over)) await call.over;
      };
      ofCallers.take({ caller, key: caller }, task).then((done) => done === null && resolve(null), reject);
      return promise;
    },
    begin(number) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>();
      const { caller = '', over = Promise.resolve(), timer } = calls.get(number) ?? {};
      clearTimeout(timer);
      const task = async () => {
        resolve(true);
        await over;
      };
      toBegin.take({ caller, key: caller }, task).then((done) => done === null && resolve(false), reject);
      return promise;
    },
    async end(number) {
      const ended = calls.get(number);
      calls.delete(number);
      if (ended) closeCall(ended);
    },
    release() {
      isReleased = true;
      for (const call of calls.values()) closeCall(call);
      calls.clear();
    },
  };
}

function openCall(caller: string): Call {
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const { promise: isLate, resolve: decide } = Promise.withResolvers<boolean>();
  over.then(() => decide(false));
  return { caller, over, isLate, end, timer: setTimeout(decide, bodyMilliseconds, true).unref() };
}

function closeCall({ end, timer }: Call): void {
  clearTimeout(timer);
  end();
}

type LateBodies = ReturnType<typeof countLateBodies>;

function countLateBodies() {
  const late = new Map<string, number>();
  let all = 0;

  function add(caller: string, by: 1 | -1): void {
    const sum = (late.get(caller) ?? 0) + by;
    if (sum > 0) late.set(caller, sum);
    else late.delete(caller);
    all += by;
  }

  return {
    /** Whether the next call of a caller may pass a call whose body is late. That call counts until it is over. */
    passes(caller: string, over: Promise<void>): boolean {
      if ((late.get(caller) ?? 0) >= mostLate.caller || all >= mostLate.all) return false;
      add(caller, 1);
      over.then(() => add(caller, -1));
      return true;
    },
  };
}
