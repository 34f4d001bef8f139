import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { apiKey, runModule, type Server, startAnnals } from './processes.ts';
import { type Cell, round, table } from './report.ts';
import type { Plan } from './rounds.ts';

const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
const connections = 4;

type Writes = { longest: number; p99: number; perSecond: number };

/** Compares writes during an erasure with writes before: the longest write, and the duration of the erasure. */
export async function erasure(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  const rows: Cell[][] = [];
  for (const size of isLarge ? [20_000, 450_000] : [20_000]) {
    const data = join(folder, String(size));
    mkdirSync(data, { recursive: true });
    runModule('./generate.ts', [data, String(size)]);
    rows.push(...(await measureErasure(data, folder, plan)));
    rmSync(data, { recursive: true });
  }
  const columns = [
    'data files, MB',
    'longest write, ms',
    'p99, ms',
    'writes/s',
    'until finished, s',
    'more room meanwhile, MB',
  ];
  table(`Erasures while ${connections} connections write`, ['', ...columns], rows);
}

/**
 * A row for writes alone, and a row for the writes during each of some erasures. The service runs on an existing data
 * directory.
 */
export async function measureErasure(data: string, folder: string, { rounds, seconds }: Plan): Promise<Cell[][]> {
  const server = await startAnnals(data, join(folder, 'service'), { threads: 1, logLevel: 'warn' });
  try {
    const megabytes = round(bytesIn(data) / 1e6);
    // By now code is compiled, and the write-ahead logs have their usual length.
    await writeUntil(server, wait(seconds * 1000));
    const alone = await writeUntil(server, wait(seconds * 1000));
    const rows: Cell[][] = [['writes alone', megabytes, ...figures(alone), '', '']];
    for (let count = 0; count < Math.min(rounds, 3); count += 1) {
      const before = bytesIn(data);
      const room = watchRoom(data);
      const started = performance.now();
      const erased = eraseOne(server);
      const writes = await writeUntil(server, erased);
      await erased;
      const taken = (performance.now() - started) / 1000;
      rows.push(['during an erasure', megabytes, ...figures(writes), round(taken), round((room() - before) / 1e6)]);
      await wait(1000);
    }
    return rows;
  } finally {
    await server.stop();
  }
}

function figures({ longest, p99, perSecond }: Writes): Cell[] {
  return [round(longest), round(p99), round(perSecond)];
}

/** Erases an old document. */
async function eraseOne({ url }: Server): Promise<void> {
  const list = await fetch(`${url}/api/collections/posts?limit=1&sort=createdAt`, { headers });
  const { docs } = (await list.json()) as { docs: { id: string }[] };
  const body = JSON.stringify({ collection: 'posts', id: docs[0]?.id, reason: 'a benchmark' });
  const answer = await fetch(`${url}/api/audit/erasures`, { method: 'POST', headers, body });
  if (answer.status !== 201 && answer.status !== 202) throw new Error(`erasing was answered with ${answer.status}`);
  for (;;) {
    const erasures = await fetch(`${url}/api/audit/erasures?limit=1`, { headers });
    const { docs: found } = (await erasures.json()) as { docs: { finished: boolean }[] };
    if (found[0]?.finished) return;
    await wait(100);
  }
}

async function writeUntil({ url }: Server, end: Promise<unknown>): Promise<Writes> {
  let isOver = false;
  const over = end.finally(() => {
    isOver = true;
  });
  const times: number[] = [];
  const started = performance.now();
  const loops = Array.from({ length: connections }, async (_, connection) => {
    for (let count = 0; !isOver; count += 1) {
      const begun = performance.now();
      const body = JSON.stringify({ name: `Writer ${connection}-${count}` });
      const { status } = await fetch(`${url}/api/collections/authors`, { method: 'POST', headers, body });
      if (status !== 201) throw new Error(`a write was answered with ${status}`);
      times.push(performance.now() - begun);
    }
  });
  await Promise.all([over, ...loops]);
  times.sort((a, b) => a - b);
  const perSecond = times.length / ((performance.now() - started) / 1000);
  return { longest: times.at(-1) ?? 0, p99: times[Math.floor(times.length * 0.99)] ?? 0, perSecond };
}

/** Measures the size of a folder ten times a second. The returned function ends this, and returns the largest size. */
function watchRoom(folder: string): () => number {
  let largest = 0;
  const timer = setInterval(() => {
    largest = Math.max(largest, bytesIn(folder));
  }, 100);
  return () => {
    clearInterval(timer);
    return largest;
  };
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce(
    (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
