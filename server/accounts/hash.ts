import type { Worker } from 'node:worker_threads';
import { startThread } from '../platform/threads.ts';
import type { HashAnswer, HashRequest } from './hash-thread.ts';

/** The workers that hash passwords, seen from the main thread. */
export type HashThreads = {
  hash: (password: string, cost: number) => Promise<string>;
  /** Whether the password has this hash. It takes the time of a hash of cost `work`. */
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

type Pool = {
  options: Options;
  idle: Worker[];
  busy: Map<Worker, Job>;
  waiting: Job[];
  /** The timers by which idle workers end. */
  resting: WeakMap<Worker, NodeJS.Timeout>;
  isClosed: boolean;
};

/**
 * Workers for bcrypt, which blocks its thread, while libuv's few threads have files to read. A worker starts when it is
 * first needed. A worker that ends is replaced, and its task is retried once.
 */
export function hashThreads(options: Options): HashThreads {
  const pool: Pool = { options, idle: [], busy: new Map(), waiting: [], resting: new WeakMap(), isClosed: false };
  return {
    hash: (password, cost) => run(pool, { kind: 'hash', password, cost }) as Promise<string>,
    compare: (password, hash, work) => run(pool, { kind: 'compare', password, hash, work }) as Promise<boolean>,
    close: () => close(pool),
  };
}

function run(pool: Pool, request: HashRequest): Promise<string | boolean> {
  if (pool.isClosed) return Promise.reject(closedError());
  return new Promise((resolve, reject) => {
    pool.waiting.push({ request, resolve, reject, triesLeft: 2 });
    assign(pool);
  });
}

function assign(pool: Pool): void {
  const { waiting, busy, options } = pool;
  while (waiting.length > 0) {
    const worker = takeIdle(pool) ?? (busy.size < options.count ? start(pool) : null);
    if (!worker) return;
    const job = waiting.shift() as Job;
    job.triesLeft -= 1;
    busy.set(worker, job);
    // Only a busy worker keeps the process from ending.
    worker.ref();
    worker.postMessage(job.request);
  }
}

function start(pool: Pool): Worker {
  const worker = startThread(pool.options.module ?? 'hash');
  let reason = 'it exited';
  worker.on('message', (answer: HashAnswer) => {
    const job = pool.busy.get(worker);
    pool.busy.delete(worker);
    worker.unref();
    rest(pool, worker);
    if (job) settle(job, answer);
    assign(pool);
  });
  worker.on('error', (error) => {
    reason = error instanceof Error ? error.message : String(error);
  });
  worker.on('exit', () => replace(pool, worker, reason));
  return worker;
}

/** A worker without a task ends after a rest. */
function rest({ idle, resting, options: { restMilliseconds } }: Pool, worker: Worker): void {
  idle.push(worker);
  if (restMilliseconds === undefined) return;
  const end = () => {
    idle.splice(idle.indexOf(worker), 1);
    worker.terminate();
  };
  resting.set(worker, setTimeout(end, restMilliseconds).unref());
}

function takeIdle({ idle, resting }: Pool): Worker | undefined {
  const worker = idle.pop();
  if (worker) clearTimeout(resting.get(worker));
  return worker;
}

function replace(pool: Pool, worker: Worker, reason: string): void {
  const { idle, busy, waiting, resting } = pool;
  const job = busy.get(worker);
  busy.delete(worker);
  const index = idle.indexOf(worker);
  clearTimeout(resting.get(worker));
  if (index >= 0) idle.splice(index, 1);
  if (!job) return;
  if (pool.isClosed) job.reject(closedError());
  else if (job.triesLeft > 0) waiting.unshift(job);
  else job.reject(new Error(`a worker that hashes passwords ended: ${reason}`));
  assign(pool);
}

async function close(pool: Pool): Promise<void> {
  const { idle, busy, waiting, resting } = pool;
  pool.isClosed = true;
  for (const { reject } of waiting.splice(0)) reject(closedError());
  for (const worker of idle) clearTimeout(resting.get(worker));
  await Promise.all([...idle, ...busy.keys()].map((worker) => worker.terminate()));
}

function settle({ resolve, reject }: Job, answer: HashAnswer): void {
  if ('failure' in answer) reject(new Error(answer.failure));
  else resolve(answer.value);
}

function closedError(): Error {
  return new Error('no more passwords are hashed: the service is ending');
}
