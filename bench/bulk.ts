import { join } from 'node:path';
import { post } from './content.ts';
import { apiKey, cpuSeconds, type Server, startAnnals } from './processes.ts';
import { prepare } from './read.ts';
import { median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

const path = '/api/collections/posts';
const documents = 1000;
const connections = 32;

/** The cost of a thousand documents: wall time and CPU of the server, in milliseconds. */
type Cost = { wall: number; cpu: number };

/** Compares a thousand creates of ~1 KB in one call with a call for each: in sequence, and over 32 connections. */
export async function bulk(folder: string, plan: Plan): Promise<void> {
  const { data, authors } = prepare(folder);
  const server = await startAnnals(data, join(folder, 'annals'));
  let next = 0;
  const docs = () =>
    Array.from({ length: documents }, () => {
      next += 1;
      return { ...post(next), slug: `bulk-${next}`, author: authors[next % authors.length] };
    });
  const ways: Record<string, () => Promise<void>> = {
    'one call': () => send(server, `${path}/bulk`, { docs: docs() }),
    'a call for each, one after the other': async () => {
      for (const body of docs()) await send(server, path, body);
    },
    [`a call for each, ${connections} at a time`]: async () => {
      const bodies = docs().values();
      await Promise.all(
        Array.from({ length: connections }, async () => {
          for (const body of bodies) await send(server, path, body);
        }),
      );
    },
  };
  try {
    const costs = new Map<string, Cost[]>(Object.keys(ways).map((name) => [name, []]));
    for (let count = 0; count < plan.rounds; count += 1) {
      for (const [name, run] of Object.entries(ways)) costs.get(name)?.push(await costOf(server, run));
    }
    const found = [...costs.values()].map((all): Cost => {
      return { wall: median(all.map(({ wall }) => wall)), cpu: median(all.map(({ cpu }) => cpu)) };
    });
    const rows = found.map(({ wall, cpu }, index) => [Object.keys(ways)[index] ?? '', round(wall), round(cpu)]);
    table('1,000 durable creates of ~1 KB', ['', 'ms', 'ms of CPU of the server'], rows);
    const [together, each, parallel] = found as [Cost, Cost, Cost];
    verdict('time of a call for each, of that of one call', each.wall / together.wall, 5);
    verdict('the same over 32 connections', parallel.wall / together.wall, 1);
    verdict('CPU of a call for each, of that of one call', each.cpu / together.cpu, 1);
  } finally {
    await server.stop();
  }
}

async function costOf({ pid }: Server, run: () => Promise<void>): Promise<Cost> {
  const [start, cpu] = [performance.now(), cpuSeconds(pid)];
  await run();
  return { wall: performance.now() - start, cpu: (cpuSeconds(pid) - cpu) * 1000 };
}

async function send({ url }: Server, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-api-key': apiKey };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (response.status !== 201) throw new Error(`${path} answered ${response.status}: ${text}`);
}
