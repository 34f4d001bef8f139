import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Logger } from 'pino';
import { newCopyMemory } from '../../../projections/past/snapshot-budget.ts';
import type { Address } from '../../http/listener.ts';
import { notedIn } from '../../http/pulse.ts';
import { StartError } from '../../writer/writer.ts';
import { end, openThread, post, type Thread, type ThreadOptions, type ThreadOrder } from './thread.ts';
import { watch } from './watch.ts';

const stuckMilliseconds = 10_000;

/** The threads that answer requests, seen from the main thread. */
export type HttpThreads = {
  /**
   * Makes all threads answer; resolves with the port, which they share.
   *
   * @param brief gives the orders by which a thread listens, also a thread that replaces another one.
   */
  listen: (address: ThreadsAddress, brief: (address: Address) => ThreadOrder[]) => Promise<number>;
  /** Sends an order to each thread that was briefed. */
  tell: (order: () => ThreadOrder) => void;
  /**
   * Has each thread that was briefed carry out an order, one after the other.
   *
   * @throws StartError if one cannot, or has ended.
   */
  inTurn: (order: () => RepliedOrder) => Promise<void>;
  /**
   * Has the threads carry out an order at the same time, after `inTurn`. From now on threads are started with `input`.
   *
   * @throws StartError at once if a thread has not carried out the order before, because it replaced another one: then
   * no thread is told.
   */
  atOnce: (order: () => RepliedOrder, input: object) => Promise<void>;
  /** Lets the threads finish the requests in flight and end. */
  stop: () => Promise<void>;
};

/** The address that the threads share. */
type ThreadsAddress = Omit<Address, 'isShared'>;

/** An order that a thread replies to; `done` resolves when it has, or has ended. */
export type RepliedOrder = { order: ThreadOrder; done: Promise<void> };

/** The number of threads, their start data, and the callbacks of their watch. */
export type ThreadsOptions = Omit<ThreadOptions, 'seat'> & {
  count: number;
  log: Logger;
  /** Called if a thread that has ended cannot be replaced. */
  onFailure: (error: Error) => void;
  /** How long a thread may be stuck before it is replaced, in milliseconds. */
  patience?: number;
};

/**
 * Starts threads that load their modules and then wait for orders. A thread that ends by an uncaught error is replaced,
 * and so is a thread that is stuck, for example in an endless loop. The callers of the requests it had get no answer;
 * nothing that was acknowledged is lost.
 */
export function startHttpThreads(options: ThreadsOptions): HttpThreads {
  const { count, log, metrics, onFailure, patience = stuckMilliseconds } = options;
  let { input } = options;
  // The long-read thread of each has one as well.
  const seats = newCopyMemory(2 * count);
  const threads = new Set<Thread>();
  const briefed = new Set<Thread>();
  const stuck = new WeakSet<Thread>();
  let isStopping = false;
  let listenWith: (thread: Thread) => Promise<number> = ({ listening }) => listening;
  for (let index = 0; index < count; index += 1) start();
  const endWatch = watch(() => briefed.values().filter(({ isListening }) => isListening()), patience, endStuck);

  function start(): Thread {
    const taken = new Set([...threads].map(({ seat }) => seat.own));
    const own = Array.from({ length: count }, (_, index) => index).find((index) => !taken.has(index)) ?? 0;
    const thread = openThread({ ...options, input, seat: { memory: seats, own } });
    threads.add(thread);
    thread.ended.then((error) => {
      briefed.delete(thread);
      // A thread that never listened stays, so that callers who wait for it get its error.
      if (isStopping || !thread.isListening()) return;
      threads.delete(thread);
      replace(thread, error);
    });
    return thread;
  }

  /** Terminates the thread at once. */
  function endStuck(thread: Thread): void {
    stuck.add(thread);
    const at = notedIn(thread.pulse);
    log.error(
      { ...at },
      `a thread that answers requests was held up by ${at ? 'one of them' : 'something'} for ${patience / 1000} s; another one takes its place`,
    );
    thread.worker.terminate();
  }

  function replace(thread: Thread, error: Error): void {
    metrics?.threadReplaced();
    if (!stuck.has(thread))
      log.error({ err: error }, 'a thread that answers requests ended; another one takes its place');
    listenWith(start()).catch((failure) => {
      if (!isStopping) onFailure(failure);
    });
  }

  async function listen(address: ThreadsAddress, brief: (address: Address) => ThreadOrder[]) {
    const { host, keepAliveSeconds } = address;
    const isShared = count > 1;
    let { port } = address;
    // Two services that both share would share one port, and each would get half of the other's requests.
    if (isShared && port !== 0) await requireFree(host, port);
    listenWith = (thread) => {
      for (const order of brief({ host, port, isShared, keepAliveSeconds })) post(thread, order);
      briefed.add(thread);
      return thread.listening;
    };
    const [first, ...others] = [...threads] as [Thread, ...Thread[]];
    port = await listenWith(first);
    await Promise.all(others.map(listenWith));
    return port;
  }

  async function stop(): Promise<void> {
    isStopping = true;
    endWatch();
    await Promise.all([...threads].map(end));
  }

  const useInput = (next: object) => {
    input = next;
  };
  return { listen, ...createOrders(briefed, useInput), stop };
}

/** The orders to the threads that were briefed; `useInput` gets the start data of threads that start later. */
function createOrders(
  briefed: ReadonlySet<Thread>,
  useInput: (input: object) => void,
): Pick<HttpThreads, 'tell' | 'inTurn' | 'atOnce'> {
  let asked: Set<Thread> | null = null;

  function requireAsked(): void {
    const isAll = asked?.size === briefed.size && briefed.values().every((thread) => asked?.has(thread));
    if (!isAll) throw new StartError('a thread that answers requests ended meanwhile; try again');
  }

  function ask(thread: Thread, { order, done }: RepliedOrder): Promise<void> {
    post(thread, order);
    return done;
  }

  return {
    tell(order) {
      for (const thread of briefed) post(thread, order());
    },
    async inTurn(order) {
      const told = new Set<Thread>();
      asked = told;
      for (const thread of [...briefed]) {
        await ask(thread, order());
        told.add(thread);
      }
      requireAsked();
    },
    atOnce(order, next) {
      requireAsked();
      useInput(next);
      return Promise.all([...briefed].map((thread) => ask(thread, order()))).then(() => {});
    },
  };
}

async function requireFree(host: string, port: number): Promise<void> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  probe.close();
  await once(probe, 'close');
}
