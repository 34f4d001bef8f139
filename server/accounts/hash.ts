import type { Worker } from 'node:worker_threads';
import { startThread } from '../platform/threads.ts';
import type { HashAnswer, HashRequest } from './hash-thread.ts';

/** The workers that hash passwords, seen from the main thread. */
export type HashThreads = {
  hash: (password: string, cost: number) => Promise<string>;
  /** Whether the password is that of the hash, after the work of a hash of cost `work`. */
  compare: (password: string, hash: string, work: number) => Promise<boolean>;
  /** Ends them; tasks that wait or run are rejected. */
  close: () => Promise<void>;
};

type Options = {
  count: number;
  /** Idle workers end after this time; by default they stay, because a start takes longer than most hashes. */
  restMilliseconds?: number;
  /** The module that a thread runs, in place of its own. */
  module?: 'hash' | URL;
};

type Job = {
  request: HashRequest;
  resolve: (value: string | boolean) => void;
  reject: (error: Error) => void;
  triesLeft: number;
};

/**
 * Workers for bcrypt, which blocks its thread, while libuv's few threads have files to read. They start when first
 * needed. One that ends is replaced, and its task is retried once.
 */
export function hashThreads(options: Options): HashThreads {
  const { count, restMilliseconds, module = 'hash' } = options;
  const idle: Worker[] = [];
  const busy = new Map<Worker, Job>();
  const waiting: Job[] = [];
  const resting = new WeakMap<Worker, NodeJS.Timeout>();
  let isClosed = false;

  function run(request: HashRequest): Promise<string | boolean> {
    if (isClosed) return Promise.reject(closedError());
    return new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject, triesLeft: 2 });
      assign();
    });
  }

  function assign(): void {
    while (waiting.length > 0) {
      const worker = takeIdle() ?? (busy.size < count ? start() : null);
      if (!worker) return;
      const job = waiting.shift() as Job;
      job.triesLeft -= 1;
      busy.set(worker, job);
      // Only a busy worker keeps the process from ending.
      worker.ref();
      worker.postMessage(job.request);
    }
  }

  function start(): Worker {
    const worker = startThread(module);
    let reason = 'it exited';
    worker.on('message', (answer: HashAnswer) => {
      const job = busy.get(worker);
      busy.delete(worker);
      worker.unref();
      rest(worker);
      if (job) settle(job, answer);
      assign();
    });
    worker.on('error', (error) => {
      reason = error instanceof Error ? error.message : String(error);
    });
    worker.on('exit', () => replace(worker, reason));
    return worker;
  }

  /** A worker without a task ends after a rest. */
  function rest(worker: Worker): void {
    idle.push(worker);
    if (restMilliseconds !== undefined) resting.set(worker, setTimeout(end, restMilliseconds, worker).unref());
  }

  function end(worker: Worker): void {
    idle.splice(idle.indexOf(worker), 1);
    worker.terminate();
  }

  function takeIdle(): Worker | undefined {
    const worker = idle.pop();
    if (worker) clearTimeout(resting.get(worker));
    return worker;
  }

  function replace(worker: Worker, reason: string): void {
    const job = busy.get(worker);
    busy.delete(worker);
    const place = idle.indexOf(worker);
    clearTimeout(resting.get(worker));
    if (place >= 0) idle.splice(place, 1);
    if (!job) return;
    if (isClosed) job.reject(closedError());
    else if (job.triesLeft > 0) waiting.unshift(job);
    else job.reject(new Error(`a worker that hashes passwords ended: ${reason}`));
    assign();
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const { reject } of waiting.splice(0)) reject(closedError());
    for (const worker of idle) clearTimeout(resting.get(worker));
    await Promise.all([...idle, ...busy.keys()].map((worker) => worker.terminate()));
  }

  return {
    hash: (password, cost) => run({ kind: 'hash', password, cost }) as Promise<string>,
    compare: (password, hash, work) => run({ kind: 'compare', password, hash, work }) as Promise<boolean>,
    close,
  };
}

function settle({ resolve, reject }: Job, answer: HashAnswer): void {
  if ('failure' in answer) reject(new Error(answer.failure));
  else resolve(answer.value);
}

function closedError(): Error {
  return new Error('no more passwords are hashed: the service is ending');
}
