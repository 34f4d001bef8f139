import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createRandom } from './content.ts';
import type { Call } from './load.ts';
import { apiKey, runModule, type Server, startAnnals } from './processes.ts';
import { round, table, verdict } from './report.ts';
import { compare, type Plan } from './rounds.ts';

/** Measures the cost of search fields for creates, and searches with another word in each request, at several sizes. */
export async function search(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  await creates(folder, plan);
  const rows = [];
  for (const size of isLarge ? [10_000, 100_000, 1_000_000] : [10_000, 100_000]) {
    const times = JSON.parse(runModule('./searches.ts', [join(folder, `searches-${size}`), String(size)]));
    rows.push([String(size), ...Object.values<number>(times).map(round)]);
  }
  table(
    'Searches in process, in ms: another word in each, 20 documents hold it; and one that all hold',
    searchColumns,
    rows,
  );
}

const searchColumns = [
  'documents',
  'like, by trigrams',
  'like, every text',
  'q, by words',
  'q, best of all',
  'index built in s',
  'MB',
];

const bodies = {
  'two fields of 200 characters': { path: 'notes', body: () => ({ title: words(190), summary: words(190) }) },
  'a field of 1 KB': { path: 'pages', body: () => ({ body: words(1000) }) },
};

const random = createRandom(5);

/** Random words of a given length in characters. */
function words(length: number): string {
  let text = '@@N@@';
  while (text.length < length) text += ` ${Math.floor(random() * 2e9).toString(36)}`;
  return text.slice(0, length);
}

async function creates(folder: string, plan: Plan): Promise<void> {
  const servers: Server[] = [];
  try {
    for (const name of ['plain', 'searched']) {
      mkdirSync(join(folder, name), { recursive: true });
      const environment = { BENCH_SEARCHED: String(name === 'searched') };
      servers.push(
        await startAnnals(join(folder, name, 'data'), join(folder, name), { config: 'search', environment }),
      );
    }
    const [plain, searched] = servers as [Server, Server];
    const rows = [];
    for (const [name, { path, body }] of Object.entries(bodies)) {
      const calls = Array.from({ length: 500 }, (): Call => {
        return { method: 'POST', path: `/api/collections/${path}`, body: body() };
      });
      const sides = [
        { name: 'plain', server: plain, calls, key: apiKey },
        { name: 'searched', server: searched, calls, key: apiKey },
      ];
      const [without, withFields] = await compare(sides, plan);
      if (!without || !withFields) continue;
      const ratio = withFields.perSecond / without.perSecond;
      rows.push([
        name,
        round(without.perSecond),
        round(withFields.perSecond),
        round(ratio),
        round(withFields.cpu / without.cpu),
      ]);
      if (path === 'notes') verdict('creates with two search fields, requests/s of those without', ratio, 0.926);
    }
    table('Durable creates, 32 connections', ['', 'without/s', 'with search fields/s', 'ratio', 'CPU ratio'], rows);
  } finally {
    for (const server of servers) await server.stop();
  }
}
