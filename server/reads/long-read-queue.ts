import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { DomainError } from '../../config/errors.ts';
import type { CopyMemorySlot } from '../../projections/past/snapshot-budget.ts';
import { TooManyCombinationsError } from '../../projections/query/groups.ts';
import type { Tables } from '../../projections/tables/tables.ts';
import { errorOf } from '../../storage/errors.ts';
import { callsThrough } from '../platform/calls.ts';
import { createFairQueue } from '../platform/fair-queue.ts';
import { startThread } from '../platform/threads.ts';
import { openKept, type TableState } from './kept.ts';
import type { Kind, ReadAnswer, SomeRead } from './reads.ts';

/** A read of a collection in a read file; `search`: the search file, if the read needs it. */
export type LongRead<K extends Kind = Kind> = {
  file: string;
  tables: Tables;
  search: { file: string; number: number } | null;
  /** The position of the log as of which is read; null: today. */
  position: number | null;
  read: SomeRead<K>;
};

/**
 * An answer. `state`: the state of the read tables before it, null if something was erased meanwhile; `worked`:
 * milliseconds, 0 for a kept answer.
 */
type LongReadAnswer<K extends Kind = Kind> = { answer: ReadAnswer<K>; state: TableState | null; worked: number };

/** How a read of the thread ended. */
export type LongReadEnd<K extends Kind = Kind> =
  | ({ kind: 'answered' } & LongReadAnswer<K>)
  | { kind: 'late' | 'gone' | 'combined' };

/** The functions of the thread that reads. */
export type LongReadThread = {
  read: (asked: { id: number; long: LongRead; milliseconds: number }) => Promise<LongReadEnd>;
  /** Resolves when the thread has started. */
  ready: () => Promise<void>;
  /** Closes the files that belong to a read file. */
  forget: (file: string) => Promise<void>;
};

/** The start data of the thread: the port for its calls; `cell` holds the highest number of a read that must end. */
export type LongReadInput = {
  port: MessagePort;
  cell: Int32Array<SharedArrayBuffer>;
  seat: CopyMemorySlot | undefined;
};

/** The caller of a read: `signal` is aborted when the client has gone. */
type Asker<K extends Kind> = {
  /** The name of the caller, for a fair queue. */
  caller: string;
  signal: AbortSignal;
  /** How long the read may work, and how long it may wait for its turn. */
  milliseconds: number;
  /** Looks again for a kept answer. */
  known: () => ReadAnswer<K> | undefined;
};

/** Thrown for a read that works for too long, or waits for too long. */
export class LateError extends Error {
  override name = 'LateError';
  readonly hasBegun: boolean;

  constructor(hasBegun: boolean) {
    super('the read took too long');
    this.hasBegun = hasBegun;
  }
}

/** Thrown for a read whose client has gone. */
export class GoneError extends Error {
  override name = 'GoneError';
}

/** Thrown if too many reads wait. */
export class CrowdedError extends Error {
  override name = 'CrowdedError';
}

/** The thread that does long reads for the thread that this runs in, with its queue. */
export type LongReadQueue = ReturnType<typeof openLongReadQueue>;

/** How many reads may wait, of one caller and in all. */
const mostWaiting = { key: 64, all: 256 };
/** After this time without a read the thread ends. */
const idleMilliseconds = 30_000;
/**
 * On a busy machine a read may take a multiple of the time that it may work. If it does not ask whether it may go on,
 * its caller is answered `graceMilliseconds` later.
 */
export const mostTimes = 4;
const graceMilliseconds = 250;

let shared: LongReadQueue | null = null;
let users = 0;

/**
 * Joins the queue of this thread, which all services share that answer requests in it. `leave` gives it back, and
 * closes the read file.
 *
 * @param seat the seat of this thread for copies of tables, in the first half of the seats: the long-read thread gets
 * one in the other half.
 */
export function joinLongReads(seat?: CopyMemorySlot): { queue: LongReadQueue; leave: (file: string) => Promise<void> } {
  shared ??= openLongReadQueue({
    ...(seat && { seat: { memory: seat.memory, own: seat.own + seat.memory.length / 2 } }),
  });
  const queue = shared;
  users += 1;
  return {
    queue,
    async leave(file) {
      users -= 1;
      if (users > 0) return queue.forget(file);
      shared = null;
      await queue.close();
    },
  };
}

/** How many long reads wait for their turn in this thread. */
export function readsWaiting(): number {
  return shared?.waiting() ?? 0;
}

type RunningThread = {
  thread: LongReadThread;
  cell: LongReadInput['cell'];
  /** The error by which the thread ended. */
  fault: Error | null;
  end: () => Promise<void>;
};

/** Opens the long-read thread: the first read starts it, and it ends when no read comes for a while. */
function openLongReadThread(seat: CopyMemorySlot | undefined) {
  let started: RunningThread | null = null;
  let last = 0;
  let timer: NodeJS.Timeout | undefined;

  function start(): RunningThread {
    const { port1, port2 } = new MessageChannel();
    const cell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = startThread('reads', { cell, port: port2, seat } satisfies LongReadInput, [port2]);
    const own: RunningThread = {
      thread: callsThrough<LongReadThread>(port1),
      cell,
      fault: null,
      async end() {
        port1.close();
        await worker.terminate();
      },
    };
    worker.unref();
    worker.on('error', (error) => {
      own.fault = errorOf(error);
    });
    worker.on('exit', () => {
      if (started === own) started = null;
    });
    return own;
  }

  function rest(): void {
    started?.end();
    started = null;
  }

  return {
    isStarted: () => started !== null,
    async ready(): Promise<void> {
      clearTimeout(timer);
      started ??= start();
      const asked = started;
      await asked.thread.ready().catch((error) => {
        throw asked.fault ?? error;
      });
    },
    /** Reads; `begun` gets the function that stops the read when its client has gone. */
    async read<K extends Kind>(
      long: LongRead<K>,
      milliseconds: number,
      begun: (drop: () => void) => void,
    ): Promise<LongReadEnd<K>> {
      started ??= start();
      const asked = started;
      last += 1;
      const id = last;
      begun(() => Atomics.store(asked.cell, 0, id));
      try {
        // The kind of the answer is that of the read.
        return (await asked.thread.read({ id, long, milliseconds })) as LongReadEnd<K>;
      } catch (error) {
        throw asked.fault ?? error;
      } finally {
        timer = setTimeout(rest, idleMilliseconds).unref();
      }
    },
    forget: async (file: string) => started?.thread.forget(file),
    async close() {
      clearTimeout(timer);
      await started?.end();
      started = null;
    },
  };
}

/** Opens a queue; its thread starts with the first read. */
function openLongReadQueue({ seat }: { seat?: CopyMemorySlot } = {}) {
  const tasks = createFairQueue({ width: 1, maxWaiting: mostWaiting });
  const kept = openKept();
  const thread = openLongReadThread(seat);
  let waiting = 0;

  /**
   * Reads at the caller's turn. @throws LateError, GoneError, CrowdedError, TooManyCombinationsError; the errors of the
   * read.
   */
  function read<K extends Kind>(long: LongRead<K>, asker: Asker<K>): Promise<LongReadAnswer<K>> {
    const { caller, signal, milliseconds, known } = asker;
    return new Promise((resolve, reject) => {
      let isOver = false;
      let drop = () => {};
      const settle = (tell: () => void) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(patience);
        signal.removeEventListener('abort', leave);
        tell();
      };
      const leave = () => {
        drop();
        settle(() => reject(new GoneError()));
      };
      let patience = setTimeout(() => settle(() => reject(new LateError(false))), milliseconds);
      signal.addEventListener('abort', leave);
      if (signal.aborted) leave();
      waiting += 1;

      async function begin(): Promise<true> {
        waiting -= 1;
        if (isOver) return true;
        const answer = known();
        if (answer !== undefined) {
          settle(() => resolve({ answer, state: null, worked: 0 }));
          return true;
        }
        clearTimeout(patience);
        try {
          // The start of the thread does not count as the caller's time.
          await thread.ready();
          if (isOver) return true;
          const most = mostTimes * milliseconds + graceMilliseconds;
          patience = setTimeout(() => settle(() => reject(new LateError(true))), most);
          const ended = await thread.read(long, milliseconds, (dropping) => {
            drop = dropping;
          });
          settle(() => (ended.kind === 'answered' ? resolve(ended) : reject(endOf(ended.kind))));
        } catch (error) {
          settle(() => reject(error));
        }
        return true;
      }

      tasks.take({ caller, key: caller }, begin).then(
        (done) => {
          if (done !== null) return;
          waiting -= 1;
          settle(() => reject(new CrowdedError()));
        },
        () => settle(() => reject(new DomainError('unavailable', 'the service is ending'))),
      );
    });
  }

  return {
    read,
    kept,
    waiting: () => waiting,
    isStarted: thread.isStarted,
    forget: thread.forget,
    async close() {
      tasks.close();
      kept.close();
      await thread.close();
    },
  };
}

function endOf(kind: 'late' | 'gone' | 'combined'): Error {
  if (kind === 'late') return new LateError(true);
  return kind === 'gone' ? new GoneError() : new TooManyCombinationsError();
}
