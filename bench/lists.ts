import { join } from 'node:path';
import type { AfterWrite } from './after-write.ts';
import { post } from './content.ts';
import type { Call } from './load.ts';
import { runModule, type Server, startAnnals, startFloor } from './processes.ts';
import { prepare, reads } from './read.ts';
import { type Cell, round, table, verdict } from './report.ts';
import { compare, type Plan } from './rounds.ts';

const path = '/api/collections/posts';

/** The reads by which content services are compared. Every list includes the total. */
export const operations: Record<string, (ids: readonly string[]) => Call[]> = {
  'R1 one by id': (ids) => reads(`${path}/`, ids),
  'R2 list of 10': () => list('limit=10'),
  'R3 status = published and views > 5000, newest first': () =>
    list('where[status][equals]=published&where[views][greater_than]=5000&sort=-publishedAt&limit=10'),
  'R4 title contains a word, 50 words in turn': () =>
    Array.from({ length: 50 }, (_, n) =>
      list(`where[title][like]=${post(n).title.slice(0, 5).trim()}&limit=10`),
    ).flat(),
  'R5 status = draft or views > 9000': () =>
    list('where[or][0][status][equals]=draft&where[or][1][views][greater_than]=9000&limit=10'),
  'R6 list of 10 with their authors': () => list('limit=10&depth=1'),
  'R7 page 900': () => list('limit=10&page=900'),
  'R8 list of 100': () => list('limit=100'),
};

function list(query: string): Call[] {
  return [{ method: 'GET', path: `${path}?${query}` }];
}

/**
 * Compares lists with the floor, then measures how each read grows with the number of documents, with declared indexes
 * and without.
 */
export async function lists(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  await againstFloor(join(folder, 'floor'), plan);
  const columns: string[] = [];
  const written: Cell[][] = [];
  const figures: Record<string, Cell[]> = Object.fromEntries(Object.keys(operations).map((name) => [name, []]));
  for (const size of isLarge ? [10_000, 100_000, 1_000_000] : [10_000, 100_000]) {
    for (const config of ['plain', 'annals'] as const) {
      columns.push(`${size}${config === 'plain' ? '' : ', indexed'}`);
      await grown(join(folder, `${size}-${config}`), size, config, plan, figures);
      const data = join(folder, `${size}-${config}`, 'data');
      const times: Record<string, AfterWrite> = JSON.parse(runModule('./after-write.ts', [data, config]));
      for (const [name, { first, known, written: after }] of Object.entries(times)) {
        written.push([`${columns.at(-1)}: ${name}`, ...[first, known, after].map((time) => time.toFixed(2))]);
      }
    }
  }
  const rows = Object.entries(figures).map(([name, cells]) => [name, ...cells]);
  table('Requests/s at 32 connections: the total counted once, kept while nothing is written', ['', ...columns], rows);
  table('In process, ms', ['', 'first', 'total known', 'after each write'], written);
}

async function againstFloor(folder: string, plan: Plan): Promise<void> {
  const { data, floor } = prepare(folder);
  const servers = [
    await startFloor(floor),
    await startAnnals(data, join(folder, 'annals'), { threads: 1, logLevel: 'silent' }),
  ] as const;
  try {
    for (const query of ['limit=10', 'limit=10&page=900', 'limit=100']) {
      const sides = [
        { name: 'floor', server: servers[0], calls: [{ method: 'GET', path: `/docs?${query}` }] },
        { name: 'annals', server: servers[1], calls: list(query) },
      ];
      const [bare, ours] = await compare(sides, plan);
      if (!bare || !ours) continue;
      verdict(`${query}: ${round(ours.perSecond)} requests/s, of the floor`, ours.perSecond / bare.perSecond, 0.7);
      verdict('the same by CPU per request', bare.cpu / ours.cpu, 0.7);
    }
  } finally {
    for (const server of servers) await server.stop();
  }
}

async function grown(
  folder: string,
  size: number,
  config: 'plain' | 'annals',
  plan: Plan,
  figures: Record<string, Cell[]>,
): Promise<void> {
  const data = join(folder, 'data');
  runModule('./generate.ts', [data, String(size), '1', '0']);
  const server = await startAnnals(data, join(folder, 'annals'), { logLevel: 'silent', config });
  try {
    const ids = await firstIds(server);
    for (const [name, calls] of Object.entries(operations)) {
      const side = { name, server, calls: calls(ids) };
      const [result] = await compare([side], { rounds: Math.min(plan.rounds, 3), seconds: plan.seconds });
      figures[name]?.push(round(result?.perSecond ?? Number.NaN));
    }
  } finally {
    await server.stop();
  }
}

async function firstIds({ url }: Server): Promise<string[]> {
  const pages = Array.from({ length: 20 }, async (_, n) => {
    const response = await fetch(`${url}${path}?limit=100&page=${n + 1}&sort=slug`);
    return ((await response.json()) as { docs: { id: string }[] }).docs.map(({ id }) => id);
  });
  return (await Promise.all(pages)).flat();
}
