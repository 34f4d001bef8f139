import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { apiKey, runModule, startAnnals } from './processes.ts';
import { type Cell, round, table, verdict } from './report.ts';
import { compare, loadColumns, loadRow, type Plan } from './rounds.ts';

const documents = 100_000;
const versions = 10;
const path = '/api/collections/posts';

const lists: Record<string, string> = {
  'list of 10': 'limit=10',
  'list of 100': 'limit=100',
  'status = published and views > 5000, newest first':
    'where[status][equals]=published&where[views][greater_than]=5000&sort=-publishedAt&limit=10',
  'title contains a word': 'where[title][like]=barenb&limit=10',
  'list of 10 with their authors': 'limit=10&depth=1',
  'page 900': 'limit=10&page=900',
};

/** Compares lists as of a position with the same lists of the present, at 100,000 documents with 10 versions each. */
export async function asOf(folder: string, plan: Plan): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const data = join(folder, 'data');
  runModule('./generate.ts', [data, String(documents * versions), '0', '1', String(documents)]);
  const server = await startAnnals(data, join(folder, 'annals'), { logLevel: 'silent', threads: 1 });
  try {
    const ask = async (query: string): Promise<number> => {
      const started = performance.now();
      const response = await fetch(`${server.url}${path}?${query}`, { headers: { 'x-api-key': apiKey } });
      const body = (await response.json()) as { total: number };
      if (response.status !== 200) throw new Error(JSON.stringify(body));
      return performance.now() - started;
    };
    await ask('limit=1');
    const size = documents * versions;
    const rows: Cell[][] = [];
    for (const share of [0.2, 0.5, 0.9, 0.999]) {
      const position = Math.round(size * share);
      const first = await ask(`limit=10&asOf=${position}`);
      rows.push([`after ${share * 100} % of the events`, round(first), round(await ask(`limit=10&asOf=${position}`))]);
    }
    table('The first list at a position, and the second', ['', 'first, ms', 'second, ms'], rows);

    const position = Math.round(size * 0.9);
    const figures: Cell[][] = [];
    for (const [name, query] of Object.entries(lists)) {
      const call = (rest: string) => [{ method: 'GET', path: `${path}?${query}${rest}` }];
      const [live, then] = await compare(
        [
          { name: 'today', server, calls: call(''), key: apiKey },
          { name: 'then', server, calls: call(`&asOf=${position}`), key: apiKey },
        ],
        plan,
      );
      if (!live || !then) continue;
      figures.push(loadRow(`${name}, today`, live), loadRow(`${name}, as of then`, then));
      verdict(`${name}: as of then, requests/s of today`, then.perSecond / live.perSecond, 1 / 3);
    }
    table(`Lists at 32 connections, one thread, ${documents} documents of ${versions} versions`, loadColumns, figures);
  } finally {
    await server.stop();
  }
}
