import { join } from 'node:path';
import type { Appending } from './appending.ts';
import { creates } from './create.ts';
import type { Load } from './load.ts';
import { type Database, type Postgres, tripTo } from './postgres.ts';
import { apiKey, runModule, type Server, startAnnals } from './processes.ts';
import { round, table, verdict, verdictAtMost } from './report.ts';
import { compare, loadColumns, loadRow, type Plan } from './rounds.ts';

const target = 0.25;
/** The target in milliseconds, without two round trips. */
const mostAlone = 15;

/**
 * Measures creates of a service with its log in a file, and of a node with the log in PostgreSQL; then only the
 * appends, without HTTP.
 */
export async function sharedWrites(folder: string, plan: Plan, postgres: Postgres): Promise<void> {
  const database = await postgres.makeDatabase();
  try {
    await byHttp(folder, plan, database);
  } finally {
    await database.drop();
  }
  const another = await postgres.makeDatabase();
  try {
    appends(join(folder, 'appends'), plan, another);
  } finally {
    await another.drop();
  }
}

async function byHttp(folder: string, plan: Plan, database: Database): Promise<void> {
  const alone = await startAnnals(join(folder, 'alone'), join(folder, 'alone-server'));
  const node = await startAnnals(join(folder, 'node'), join(folder, 'node-server'), {
    environment: { ANNALS_POSTGRES_URL: database.address },
  });
  try {
    const sides = [
      { name: 'log in a file', server: alone, calls: await createsOn(alone), key: apiKey },
      { name: 'log in PostgreSQL', server: node, calls: await createsOn(node), key: apiKey },
    ];
    for (const connections of [64, 1]) {
      const trip = await tripTo(database);
      const [file, shared] = (await compare(sides, plan, connections)) as [Load, Load];
      const rows = [file, shared].map((figures, index) => loadRow(sides[index]?.name ?? '', figures));
      table(`Durable creates of ~1 KB over HTTP, ${connections} at a time`, loadColumns, rows);
      const ratio = shared.perSecond / file.perSecond;
      if (connections === 64)
        verdict('creates over HTTP, of those with the log in a file, 64 at a time', ratio, target);
      else {
        process.stdout.write(
          `\none at a time: ${round(ratio)} of those with the log in a file; a trip: ${round(trip)} ms\n`,
        );
        verdictAtMost('p99 of a lone create, ms', shared.p99 / 1000, mostAlone + 2 * trip);
      }
    }
  } finally {
    await node.stop();
    await alone.stop();
  }
}

async function createsOn({ url }: Server) {
  const answer = await fetch(`${url}/api/collections/authors`, {
    method: 'POST',
    headers: { 'x-api-key': apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Author' }),
  });
  if (answer.status !== 201) throw new Error(`the author was answered with ${answer.status}`);
  const { id } = (await answer.json()) as { id: string };
  return creates(
    '/api/collections/posts',
    Array.from({ length: 100 }, () => id),
  );
}

function appends(folder: string, { rounds, seconds }: Plan, { address }: Database): void {
  const printed = runModule('./appending.ts', [folder, address, String(rounds), String(seconds)]);
  const found = JSON.parse(printed) as Appending[];
  const rows = found.map(({ batch, side, perSecond, p50, p99 }) => {
    return [batch, side === 'sqlite' ? 'file' : 'PostgreSQL', ...[perSecond, p50, p99].map(round)];
  });
  table(
    'Appends of one writer, without HTTP and read tables',
    ['batch', 'log in', 'events/s', 'p50 ms', 'p99 ms'],
    rows,
  );
  const of = (batch: number, side: string) =>
    found.find((one) => one.batch === batch && one.side === side)?.perSecond ?? Number.NaN;
  verdict('appends of 64, of those to a file', of(64, 'postgres') / of(64, 'sqlite'), target);
  process.stdout.write(`\nappends of 1, of those to a file: ${round(of(1, 'postgres') / of(1, 'sqlite'))}\n`);
}
