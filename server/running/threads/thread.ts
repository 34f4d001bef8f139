import type { MessagePort, Worker } from 'node:worker_threads';
import type { CopyMemorySlot } from '../../../projections/past/snapshot-budget.ts';
import { createPulse, type Pulse } from '../../http/pulse.ts';
import type { LogSink } from '../../platform/logging.ts';
import { startThread } from '../../platform/threads.ts';
import { StartError } from '../../writer/writer.ts';
import type { MetricsPort } from '../metrics/counting.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { HttpMessage } from './http-app.ts';
import { portTo } from './message-ports.ts';

/** A thread gives the requests that it has in flight less time. */
const stopMilliseconds = 14_000;

/** A message, and the ports that go with it. */
export type ThreadOrder = { message: object; ports: readonly MessagePort[] };

/** The start data of each thread, beside the data of its module. */
export type ThreadInput = { pulse: Pulse; metrics: MetricsConnection | null; seat: CopyMemorySlot };

/** The port to the metrics, and the hash of the token of their route. */
export type MetricsConnection = { port: MessagePort; tokenHash: Uint8Array | null };

/** The kind of a thread, its start data, and the parts it is connected to. */
export type ThreadOptions = {
  kind: 'http' | 'sites';
  /** The start data of the kind. */
  input: object;
  sink: LogSink;
  metrics: Metrics | null;
  seat: CopyMemorySlot;
};

/** Sends an order to a thread. */
export function post({ worker }: Thread, { message, ports }: ThreadOrder): void {
  worker.postMessage(message, [...ports]);
}

/** Has a thread finish its requests and end. A thread that does not listen has none; a stuck one is terminated. */
export async function end({ worker, isListening, ended }: Thread): Promise<void> {
  if (!isListening()) {
    await worker.terminate();
    return;
  }
  worker.postMessage({ kind: 'stop' });
  const timer = setTimeout(() => worker.terminate(), stopMilliseconds);
  await ended;
  clearTimeout(timer);
}

/** A thread that answers requests, seen from the main thread. */
export type Thread = {
  worker: Worker;
  pulse: Pulse;
  idle: () => number;
  ask: () => void;
  seat: CopyMemorySlot;
  listening: Promise<number>;
  isListening: () => boolean;
  /** Resolves with the reason when the thread has ended. */
  ended: Promise<Error>;
};

/** Starts a thread. */
export function openThread({ kind, input, sink, metrics, seat }: ThreadOptions): Thread {
  const pulse = createPulse();
  const connection = metrics && connectionTo(metrics);
  const workerData = { ...input, pulse, metrics: connection, seat } satisfies ThreadInput;
  const worker = startThread(kind, workerData, connection ? [connection.port] : []);
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

function connectionTo({ join, tokenHash }: Metrics): MetricsConnection {
  const { release, ...functions } = join();
  return { port: portTo<MetricsPort>(functions, release), tokenHash };
}
