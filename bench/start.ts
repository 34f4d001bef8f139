import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { megabytes } from './memory.ts';
import { apiKey, cpuSeconds, runModule, startAnnals } from './processes.ts';
import { type Cell, median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

/** Milliseconds. */
const target = 600;

/**
 * Measures the time from the start of the process to the first answer, a list of one document, with data of growing
 * size, in turn.
 */
export async function start(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  const sizes = isLarge ? [0, 100_000, 1_000_000] : [0, 10_000, 100_000];
  const taken = new Map(sizes.map((size) => [size, [] as Started[]]));
  for (const size of sizes) {
    // There are five events for each document.
    runModule('./generate.ts', [directoryOf(folder, size), String(size * 5), '0', '1', String(size)]);
    await startOnce(folder, size);
  }
  for (let count = 0; count < plan.rounds; count += 1) {
    for (const [size, starts] of taken) starts.push(await startOnce(folder, size));
  }
  const rows = [...taken].map(([size, starts]): Cell[] => {
    const middle = (name: keyof Started) => round(median(starts.map((one) => one[name])));
    return [size, size * 5, middle('milliseconds'), middle('cpu'), middle('megabytes')];
  });
  const columns = ['documents', 'events', 'first answer, ms', 'CPU until then, ms', 'resident then, MB'];
  table('From the start of the process to the first answer, one thread', columns, rows);
  const slowest = Math.max(
    ...[...taken.values()].map((starts) => median(starts.map(({ milliseconds }) => milliseconds))),
  );
  verdict('first answers in 0.6 s, at the slowest size', target / slowest, 1);
  for (const size of sizes) rmSync(directoryOf(folder, size), { recursive: true });
}

type Started = { milliseconds: number; cpu: number; megabytes: number };

async function startOnce(folder: string, size: number): Promise<Started> {
  const begun = performance.now();
  const server = await startAnnals(directoryOf(folder, size), join(folder, `server-${size}`), { threads: 1 });
  try {
    const answer = await fetch(`${server.url}/api/collections/posts?limit=1`, { headers: { 'x-api-key': apiKey } });
    if (answer.status !== 200) throw new Error(`the first answer was a ${answer.status}`);
    await answer.text();
    const milliseconds = performance.now() - begun;
    return { milliseconds, cpu: cpuSeconds(server.pid) * 1000, megabytes: megabytes(server, 'VmRSS') };
  } finally {
    await server.stop();
  }
}

function directoryOf(folder: string, size: number): string {
  return join(folder, String(size));
}
