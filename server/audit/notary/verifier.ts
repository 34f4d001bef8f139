import type { Worker } from 'node:worker_threads';
import { errorOf } from '../../../storage/errors.ts';
import { startThread } from '../../platform/threads.ts';
import type { Job, Looked, VerifierMessage, VerifierOrder } from './verifier-thread.ts';

/** The thread that goes through logs, seen from the main thread. One for all logs of a process. */
export type Verifier = {
  /** Goes through a log; null when it was stopped before its end. Rejects when that could not be done. */
  look: (job: Job) => Promise<Looked | null>;
  /** Stops what this one has asked for; resolves when no file of it is open any more. */
  leave: () => Promise<void>;
};

type Waiting = PromiseWithResolvers<Looked | null>;

let thread: { worker: Worker; waiting: Map<number, Waiting> } | null = null;
let users = 0;
let newest = 0;

/** Joins the verifier thread, which starts with the first log to be checked and ends when the last member leaves. */
export function joinVerifier(): Verifier {
  const own = new Map<number, Promise<unknown>>();
  let hasLeft = false;
  users += 1;

  function look(job: Job): Promise<Looked | null> {
    if (hasLeft) return Promise.resolve(null);
    newest += 1;
    const id = newest;
    const { worker, waiting } = start();
    const answer = Promise.withResolvers<Looked | null>();
    waiting.set(id, answer);
    own.set(id, answer.promise);
    worker.postMessage({ kind: 'look', id, job } satisfies VerifierOrder);
    return answer.promise.finally(() => own.delete(id));
  }

  async function leave(): Promise<void> {
    if (hasLeft) return;
    hasLeft = true;
    for (const id of own.keys()) thread?.worker.postMessage({ kind: 'stop', id } satisfies VerifierOrder);
    await Promise.allSettled(own.values());
    users -= 1;
    if (users > 0 || !thread) return;
    const { worker } = thread;
    thread = null;
    await worker.terminate();
  }

  return { look, leave };
}

function start() {
  if (thread) return thread;
  const worker = startThread('verifier');
  const started = { worker, waiting: new Map<number, Waiting>() };
  thread = started;
  // It keeps no process from ending.
  worker.unref();
  worker.on('message', (message: VerifierMessage) => {
    const waiting = started.waiting.get(message.id);
    started.waiting.delete(message.id);
    if ('failure' in message) waiting?.reject(new Error(message.failure));
    else waiting?.resolve('looked' in message ? message.looked : null);
  });
  worker.on('error', (error) => end(errorOf(error)));
  worker.on('exit', () => end(new Error('the thread that goes through the log ended')));

  function end(error: Error): void {
    if (thread === started) thread = null;
    for (const { reject } of started.waiting.values()) reject(error);
    started.waiting.clear();
  }

  return started;
}
