import { Worker } from 'node:worker_threads';
import { DomainError } from '../config/errors.ts';
import type { Command, Outcome } from '../events/log.ts';
import type { Progress } from '../projections/rebuild.ts';
import type { WriterAnswer, WriterInput, WriterMessage, WriterRequest } from './writer-thread.ts';

/** Thrown when the data directory cannot be opened for writing: a broken log, or documents against the schema. */
export class StartError extends Error {
  override name = 'StartError';
}

/** The writer thread, seen from a thread that answers requests. */
export type Writer = {
  readFile: string;
  /** Events in the log when the writer had started. */
  size: number;
  append: (command: Command) => Promise<Outcome>;
  /** Records what is queued, then ends the thread. */
  close: () => Promise<void>;
};

type Waiting = { resolve: (outcome: Outcome) => void; reject: (error: Error) => void };

/**
 * Starts the writer thread and resolves when it takes writes.
 *
 * @param onDeath called when the thread ends unasked; the process must end too, for what it holds is in doubt.
 * @throws StartError when the data directory refuses.
 */
export async function startWriter(
  input: WriterInput,
  progress: Progress,
  onDeath: (error: Error) => void,
): Promise<Writer> {
  const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData: input });
  const waiting = new Map<number, Waiting>();
  let queue: { id: number; command: string }[] = [];
  let lastId = 0;
  let isClosing = false;
  const {
    promise: ready,
    resolve: start,
    reject: refuse,
  } = Promise.withResolvers<{
    readFile: string;
    size: number;
  }>();
  const { promise: closed, resolve: end } = Promise.withResolvers<void>();

  worker.on('message', (message: WriterMessage) => {
    if (message.kind === 'answers') for (const { id, answer } of message.answers) settle(id, answer);
    else if (message.kind === 'ready') start(message);
    else if (message.kind === 'progress') progress(message.done, message.total);
    else if (message.kind === 'refused') {
      // The thread ends by itself now, and that is not a death.
      isClosing = true;
      refuse(new StartError(message.message));
    } else end();
  });
  worker.on('error', (error) => die(error as Error));
  worker.on('exit', () => (isClosing ? end() : die(new Error('the writer thread ended'))));

  function die(error: Error): void {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
    refuse(error);
    onDeath(error);
  }

  function settle(id: number, answer: WriterAnswer): void {
    const request = waiting.get(id);
    waiting.delete(id);
    if (!request) return;
    if ('failure' in answer) request.reject(errorOf(answer));
    else request.resolve(answer);
  }

  function flush(): void {
    worker.postMessage(queue satisfies WriterRequest);
    queue = [];
  }

  function append(command: Command): Promise<Outcome> {
    lastId += 1;
    const id = lastId;
    // One message carries all that the requests of one turn of the event loop want to append.
    if (queue.length === 0) setImmediate(flush);
    queue.push({ id, command: JSON.stringify(command) });
    return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  }

  async function close(): Promise<void> {
    isClosing = true;
    worker.postMessage('close' satisfies WriterRequest);
    await closed;
    await worker.terminate();
  }

  return { ...(await ready), append, close };
}

function errorOf(answer: Extract<WriterAnswer, { failure: string }>): Error {
  if (answer.failure === 'full') {
    return new DomainError('unavailable', 'there is no room on the disk: nothing was written, try again later');
  }
  if (answer.failure === 'unread') {
    return new DomainError('unavailable', 'the change was recorded, but there is no room on the disk to show it yet');
  }
  return new Error(answer.message);
}
