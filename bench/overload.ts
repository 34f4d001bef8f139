import { Agent, get, request } from 'node:http';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { post } from './content.ts';
import { apiKey, type Server, startAnnals } from './processes.ts';
import { prepare } from './read.ts';
import { round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

const writers = 1000;
const path = '/api/collections/posts';

/** An answer: its status, the value of `Retry-After`, and the milliseconds that it took. */
type Answer = { status: number; retryAfter: string | undefined; milliseconds: number };

/**
 * Creates over 1,000 connections at the same time, each as soon as its last answer arrived, or after `Retry-After`.
 * Measures accepted and refused creates, and `/health` in the meantime.
 */
export async function overload(folder: string, plan: Plan): Promise<void> {
  const { data, authors } = prepare(folder);
  const server = await startAnnals(data, folder);
  try {
    const bodies = Array.from({ length: 200 }, (_, index) => {
      const values = post(index);
      return { ...values, author: authors[values.author] };
    });
    await write(server, bodies, { count: 32, seconds: 3 });
    const rows = [];
    for (let number = 0; number < plan.rounds; number += 1) {
      const [answers, health] = await Promise.all([
        write(server, bodies, { count: writers, seconds: plan.seconds }),
        watch(server, plan.seconds),
      ]);
      const taken = answers.filter(({ status }) => status === 201);
      const refused = answers.filter(({ status }) => status === 503);
      const hinted = refused.filter(({ retryAfter }) => retryAfter !== undefined);
      rows.push([
        round(taken.length / plan.seconds),
        round(quantile(taken, 0.5)),
        round(quantile(taken, 0.99)),
        refused.length,
        refused.length - hinted.length,
        answers.length - taken.length - refused.length,
        round(quantile(health, 0.5)),
        round(quantile(health, 1)),
      ]);
    }
    table(`${writers} connections that create at the same time`, columns, rows);
    verdict('500 ms, of the p99 of creates that are taken, in the worst round', 500 / worst(rows, 2), 1);
    verdict('100 ms, of the slowest /health meanwhile', 100 / worst(rows, 7), 1);
  } finally {
    await server.stop();
  }
}

const columns = [
  'taken/s',
  'p50 ms',
  'p99 ms',
  'refused with 503',
  'without Retry-After',
  'other answers',
  '/health p50 ms',
  '/health max ms',
];

function worst(rows: readonly (readonly (string | number)[])[], column: number): number {
  return Math.max(...rows.map((row) => Number(row[column])));
}

/** Creates over a number of connections for a time. The first second, in which they connect, does not count. */
async function write(server: Server, bodies: readonly object[], plan: { count: number; seconds: number }) {
  const agent = new Agent({ keepAlive: true, maxSockets: plan.count });
  const answers: Answer[] = [];
  const counted = performance.now() + 1000;
  const end = counted + plan.seconds * 1000;
  let used = 0;

  async function one(): Promise<void> {
    while (performance.now() < end) {
      used += 1;
      const body = { ...bodies[used % bodies.length], slug: `over-${process.pid}-${Math.random()}-${used}` };
      const began = performance.now();
      const answer = await create(server, agent, JSON.stringify(body)).catch(() => null);
      if (!answer) continue;
      if (began >= counted) answers.push(answer);
      if (answer.retryAfter !== undefined) await sleep(Number(answer.retryAfter) * 1000);
    }
  }

  await Promise.all(Array.from({ length: plan.count }, one));
  agent.destroy();
  return answers;
}

function create({ url }: Server, agent: Agent, text: string): Promise<Answer> {
  const began = performance.now();
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'x-api-key': apiKey,
  };
  return new Promise((resolve, reject) => {
    const asked = request(`${url}${path}`, { method: 'POST', agent, headers }, (response) => {
      response.resume().once('end', () => {
        const { statusCode = 0, headers: its } = response;
        resolve({ status: statusCode, retryAfter: its['retry-after'], milliseconds: performance.now() - began });
      });
      response.once('error', reject);
    });
    asked.once('error', reject);
    asked.end(text);
  });
}

/** Requests `/health` from a separate thread, because the thread that creates is as busy as the service. */
function watch(server: Server, seconds: number): Promise<Answer[]> {
  const thread = new Worker(new URL(import.meta.url), { workerData: { url: server.url, seconds } });
  return new Promise((resolve, reject) => {
    thread.once('message', resolve);
    thread.once('error', reject);
  });
}

/** Requests it ten times a second, each time over a new connection, as a balancer does. */
async function ask({ url, seconds }: { url: string; seconds: number }): Promise<Answer[]> {
  const answers: Answer[] = [];
  await sleep(1000);
  for (let left = seconds * 10; left > 0; left -= 1) {
    const began = performance.now();
    const status = await new Promise<number>((resolve, reject) => {
      get(`${url}/health`, { agent: false }, (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      }).once('error', reject);
    });
    answers.push({ status, retryAfter: undefined, milliseconds: performance.now() - began });
    await sleep(100);
  }
  return answers;
}

function quantile(answers: readonly Answer[], share: number): number {
  const sorted = answers.map(({ milliseconds }) => milliseconds).sort((left, right) => left - right);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;
}

function sleep(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

if (!isMainThread) parentPort?.postMessage(await ask(workerData));
