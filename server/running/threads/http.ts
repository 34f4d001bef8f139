import { once } from 'node:events';
import { createServer } from 'node:net';
import type { MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { newSeats, type Seat } from '../../../projections/past/snapshot-budget.ts';
import type { Address } from '../../http/listener.ts';
import { createPulse, notedIn, type Pulse } from '../../http/pulse.ts';
import type { LogSink } from '../../platform/logging.ts';
import { startThread } from '../../platform/threads.ts';
import { StartError } from '../../writer/writer.ts';
import type { MetricsPort } from '../metrics/counting.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { HttpMessage } from './http-app.ts';
import { portTo } from './message-ports.ts';
import { watch } from './watch.ts';

const usualPatience = 10_000;
/** Longer than a thread gives the requests that it has in flight. */
const stopMilliseconds = 14_000;

/** The threads that answer requests, seen from the main thread. */
export type HttpThreads = {
  /**
   * Makes all of them answer; resolves with the port, one for all.
   *
   * @param brief what each is told so that it listens, also one that takes the place of another.
   */
  listen: (address: ThreadsAddress, brief: (address: Address) => Order[]) => Promise<number>;
  /** Tells each of those that were briefed something more. */
  tell: (order: () => Order) => void;
  /**
   * Has each of those that were briefed carry out an order, one after the other.
   *
   * @throws StartError when one cannot, or has ended.
   */
  inTurn: (order: () => Asked) => Promise<void>;
  /**
   * The same at once, for those that carried out the last orders in turn; from now on others are started with these
   * data.
   *
   * @throws StartError at once when one is not among them, which has taken the place of another: then none is told.
   */
  atOnce: (order: () => Asked, input: object) => Promise<void>;
  /** Lets them finish the requests in flight and end. */
  stop: () => Promise<void>;
};

/** Where the threads listen together. */
type ThreadsAddress = Omit<Address, 'isShared'>;

/** A message, and the ports that go with it. */
export type Order = { message: object; ports: readonly MessagePort[] };

/** An order that a thread replies to; `done` resolves when it has, or has ended. */
export type Asked = { order: Order; done: Promise<void> };

/** The parts that threads are started with. */
export type ThreadsOptions = {
  count: number;
  /** The thread of which each is one, and its start data. */
  kind: 'http' | 'sites';
  input: object;
  sink: LogSink;
  log: Logger;
  metrics: Metrics | null;
  /** Called when one that ended cannot be replaced. */
  onFailure: (error: Error) => void;
  /** How long one may not go on, in milliseconds, before it is replaced. */
  patience?: number;
};

/** The start data of each thread, beside that of its module. */
export type ThreadInput = { pulse: Pulse; metrics: MetricsWay | null; seat: Seat };

/** The way of a thread to the metrics, and the hash of the token of their route. */
export type MetricsWay = { port: MessagePort; tokenHash: Uint8Array | null };

/**
 * Starts threads that load what they need and then wait to be told where to listen. One that ends unasked, by an error
 * that nothing caught, is replaced, and so is one that is stuck, in a loop without end for example: the requests it had
 * are lost to their callers, and nothing that was acknowledged is.
 */
export function startHttpThreads(options: ThreadsOptions): HttpThreads {
  const { count, log, metrics, onFailure, patience = usualPatience } = options;
  let { input } = options;
  let asked: Set<Thread> | null = null;
  // One for the lane of each too.
  const seats = newSeats(2 * count);
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
    const thread = openThread({ ...options, input }, { seats, own });
    threads.add(thread);
    thread.ended.then((error) => {
      briefed.delete(thread);
      // One that never listened stays, so that callers who wait for it get its error.
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

  async function listen(address: ThreadsAddress, brief: (address: Address) => Order[]) {
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

  function tell(order: () => Order): void {
    for (const thread of briefed) post(thread, order());
  }

  async function inTurn(order: () => Asked): Promise<void> {
    const told = new Set<Thread>();
    asked = told;
    for (const thread of [...briefed]) {
      const one = order();
      post(thread, one.order);
      await one.done;
      told.add(thread);
    }
    requireAsked();
  }

  function atOnce(order: () => Asked, next: object): Promise<void> {
    requireAsked();
    input = next;
    const all = [...briefed].map((thread) => {
      const one = order();
      post(thread, one.order);
      return one.done;
    });
    return Promise.all(all).then(() => {});
  }

  function requireAsked(): void {
    const isAll = asked?.size === briefed.size && briefed.values().every((thread) => asked?.has(thread));
    if (!isAll) throw new StartError('a thread that answers requests ended meanwhile; try again');
  }

  async function stop(): Promise<void> {
    isStopping = true;
    endWatch();
    await Promise.all([...threads].map(end));
  }

  return { listen, tell, inTurn, atOnce, stop };
}

function post({ worker }: Thread, { message, ports }: Order): void {
  worker.postMessage(message, [...ports]);
}

/** One that is not listening has nothing to finish; one that is stuck never gets to. */
async function end({ worker, isListening, ended }: Thread): Promise<void> {
  if (!isListening()) {
    await worker.terminate();
    return;
  }
  worker.postMessage({ kind: 'stop' });
  const timer = setTimeout(() => worker.terminate(), stopMilliseconds);
  await ended;
  clearTimeout(timer);
}

type Thread = {
  worker: Worker;
  pulse: Pulse;
  idle: () => number;
  ask: () => void;
  seat: Seat;
  listening: Promise<number>;
  isListening: () => boolean;
  /** Resolves when it is gone, with the reason. */
  ended: Promise<Error>;
};

function openThread({ kind, input, sink, metrics }: ThreadsOptions, seat: Seat): Thread {
  const pulse = createPulse();
  const way = metrics && wayTo(metrics);
  const workerData = { ...input, pulse, metrics: way, seat } satisfies ThreadInput;
  const worker = startThread(kind, workerData, way ? [way.port] : []);
  const listening = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<Error>();
  let isListening = false;
  let failure: Error | null = null;
  // Whether it ever listened matters only to callers who wait for it.
  listening.promise.catch(() => {});

  worker.on('message', (message: HttpMessage) => {
    if (message.kind === 'log') sink.write(message.lines);
    else {
      isListening = true;
      listening.resolve(message.port);
    }
  });
  worker.on('error', (error) => {
    // Anything can be thrown.
    failure = error instanceof Error ? error : new Error(String(error));
  });
  worker.on('exit', (code) => {
    const reason = failure ?? new Error(`the thread exited with ${code}`);
    // An error of the system, such as a port in use, has a code that explains it.
    listening.reject('code' in reason ? reason : new StartError(`a thread could not start: ${reason.message}`));
    ended.resolve(reason);
  });
  return {
    worker,
    pulse,
    idle: () => worker.performance.eventLoopUtilization().idle,
    ask: () => worker.postMessage({ kind: 'beat' }),
    seat,
    listening: listening.promise,
    isListening: () => isListening,
    ended: ended.promise,
  };
}

function wayTo({ join, tokenHash }: Metrics): MetricsWay {
  const { release, ...functions } = join();
  return { port: portTo<MetricsPort>(functions, release), tokenHash };
}

async function requireFree(host: string, port: number): Promise<void> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  probe.close();
  await once(probe, 'close');
}
