import { once } from 'node:events';
import { createServer } from 'node:net';
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Shared } from '../app.ts';
import type { LogSink } from '../logging.ts';
import type { HttpInput, HttpMessage, HttpOrder } from './http-thread.ts';
import { StartError } from './writer.ts';

/** Longer than a thread gives the requests that it has in flight. */
const stopMilliseconds = 12_000;

/** The threads that answer requests, seen from the main thread. */
export type HttpThreads = {
  /** Makes all of them answer; resolves with the port, one for all. */
  listen: (shared: Shared, connect: Connect, address: { host: string; port: number }) => Promise<number>;
  /** Lets them finish what is in flight and end. */
  stop: () => Promise<void>;
};

/** Makes the ways of one thread to the others. */
export type Connect = Record<'writer' | 'keeper' | 'notary' | 'pins' | 'eraser', () => MessagePort>;

type Options = {
  count: number;
  input: HttpInput;
  sink: LogSink;
  log: Logger;
  /** Called when one that ended cannot be replaced. */
  onFailure: (error: Error) => void;
};

/**
 * Starts threads that load what they need and then wait to be told where to listen. One that ends unasked, by an error
 * that nothing caught, is replaced: the requests it had are lost to their callers, and nothing that was acknowledged is.
 */
export function startHttpThreads({ count, input, sink, log, onFailure }: Options): HttpThreads {
  const threads = new Set<Thread>();
  let isStopping = false;
  let listenWith: (thread: Thread) => Promise<number> = ({ listening }) => listening;
  for (let index = 0; index < count; index += 1) start();

  function start(): Thread {
    const thread = startThread(input, sink);
    threads.add(thread);
    thread.ended.then((error) => {
      // One that never listened stays, to tell those who wait for it.
      if (isStopping || !thread.isListening()) return;
      threads.delete(thread);
      replace(error);
    });
    return thread;
  }

  function replace(error: Error): void {
    log.error({ err: error }, 'a thread that answers requests ended; another one takes its place');
    listenWith(start()).catch((failure) => {
      if (!isStopping) onFailure(failure);
    });
  }

  async function listen(shared: Shared, connect: Connect, address: { host: string; port: number }) {
    const { host } = address;
    const isShared = count > 1;
    let { port } = address;
    // Two services that both share would share one port, and each would get half of the other's requests.
    if (isShared && port !== 0) await requireFree(host, port);
    listenWith = ({ worker, listening }) => {
      const { writer, keeper, notary, pins, eraser } = connect;
      const ports = { writer: writer(), keeper: keeper(), notary: notary(), pins: pins(), eraser: eraser() };
      const order: HttpOrder = { kind: 'listen', shared, ...ports, address: { host, port, isShared } };
      worker.postMessage(order, Object.values(ports));
      return listening;
    };
    const [first, ...others] = [...threads] as [Thread, ...Thread[]];
    port = await listenWith(first);
    await Promise.all(others.map(listenWith));
    return port;
  }

  async function stop(): Promise<void> {
    isStopping = true;
    await Promise.all([...threads].map(end));
  }

  return { listen, stop };
}

/** One that is not listening has nothing to finish; one that is stuck in what it runs never gets to. */
async function end({ worker, isListening, ended }: Thread): Promise<void> {
  if (!isListening()) {
    await worker.terminate();
    return;
  }
  worker.postMessage({ kind: 'stop' } satisfies HttpOrder);
  const timer = setTimeout(() => worker.terminate(), stopMilliseconds);
  await ended;
  clearTimeout(timer);
}

type Thread = {
  worker: Worker;
  listening: Promise<number>;
  isListening: () => boolean;
  /** Resolves when it is gone, with the reason. */
  ended: Promise<Error>;
};

function startThread(input: HttpInput, sink: LogSink): Thread {
  const worker = new Worker(new URL('./http-thread.ts', import.meta.url), { workerData: input });
  const listening = Promise.withResolvers<number>();
  const ended = Promise.withResolvers<Error>();
  let isListening = false;
  let failure: Error | null = null;
  // Whether it ever listened matters only to those who wait for it.
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
    // What the system refuses, such as a port that is taken, has a code and is explained by it.
    listening.reject('code' in reason ? reason : new StartError(`a thread could not start: ${reason.message}`));
    ended.resolve(reason);
  });
  return { worker, listening: listening.promise, isListening: () => isListening, ended: ended.promise };
}

async function requireFree(host: string, port: number): Promise<void> {
  const probe = createServer().listen({ host, port });
  await once(probe, 'listening');
  probe.close();
  await once(probe, 'close');
}
