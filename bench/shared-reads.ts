import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { post } from './content.ts';
import { type Call, type Load, type LoadOptions, load } from './load.ts';
import { type Database, type Postgres, tripTo } from './postgres.ts';
import { apiKey, cpuSeconds, type Server, startAnnals } from './processes.ts';
import { reads } from './read.ts';
import { median, quantile, round, table, verdict, verdictAtMost } from './report.ts';
import { compare, loadColumns, loadRow, mediansOf, type Plan } from './rounds.ts';

const path = '/api/collections/posts';
const documents = 2000;
const inOneCall = 200;
const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
/**
 * The targets in milliseconds: of a linearizable read, without the round trip; from a commit on one node until it is
 * readable on another.
 */
const most = { linear: 1, readable: 25 };

/** Two nodes of each kind, which share one log. */
type Nodes = { eventual: [Server, Server]; linear: [Server, Server] };

type Side = { server: Server; calls: Call[] };

/**
 * Measures reads of nodes with one thread each: linearizable reads, reads of the writes of another node, and reads of
 * two nodes compared with one.
 */
export async function sharedReads(folder: string, plan: Plan, postgres: Postgres): Promise<void> {
  const database = await postgres.makeDatabase();
  const started: Server[] = [];
  const start = async (name: string, kind: string) => {
    const server = await startAnnals(join(folder, name), join(folder, `${name}-server`), {
      threads: 1,
      environment: { ANNALS_POSTGRES_URL: database.address, ANNALS_READS: kind },
    });
    started.push(server);
    return server;
  };
  const startAlone = async (name: string): Promise<Side> => {
    const server = await startAnnals(join(folder, name), join(folder, `${name}-server`), { threads: 1 });
    started.push(server);
    return { server, calls: reads(`${path}/`, await fill(server)) };
  };
  try {
    const first = await start('a', 'eventual');
    const ids = await fill(first);
    const nodes: Nodes = {
      eventual: [first, await start('b', 'eventual')],
      linear: [await start('c', 'linear'), await start('d', 'linear')],
    };
    await atRest(database, started);
    await linear(nodes, ids, plan, database);
    await readable(nodes, plan);
    const apart = [await startAlone('e'), await startAlone('f')];
    for (const kind of ['eventual', 'linear'] as const)
      await together(
        kind,
        nodes[kind].map((server) => ({ server, calls: reads(`${path}/`, ids) })),
        apart,
        plan,
      );
  } finally {
    for (const server of started) await server.stop();
    await database.drop();
  }
}

async function fill(server: Server): Promise<string[]> {
  const author = await create(server, '/api/collections/authors', { name: 'Author' });
  const ids: string[] = [];
  for (let at = 0; at < documents; at += inOneCall) {
    const docs = Array.from({ length: inOneCall }, (_, index) => ({ ...post(at + index), author }));
    const { results } = await send<{ results: { id: string }[] }>(server, `${path}/bulk`, { docs });
    ids.push(...results.map(({ id }) => id));
  }
  return ids;
}

async function create(server: Server, to: string, values: object): Promise<string> {
  return (await send<{ id: string }>(server, to, values)).id;
}

/** Repeats a write until it is decided, because on a busy machine the first try may be refused with 503. */
async function send<T>({ url }: Server, to: string, body: object): Promise<T> {
  const attempt = { ...headers, 'idempotency-key': randomUUID() };
  for (;;) {
    const answer = await fetch(url + to, { method: 'POST', headers: attempt, body: JSON.stringify(body) });
    if (answer.status === 201) return (await answer.json()) as T;
    const said = await answer.text();
    if (answer.status !== 503) throw new Error(`${to} was answered with ${answer.status}: ${said}`);
    await wait(1000);
  }
}

/** Measures the connections, transactions and CPU of idle nodes. */
async function atRest({ sql }: Database, nodes: readonly Server[]): Promise<void> {
  // By then the nodes query at their longest interval, and have checked the log for the first time.
  await wait(10_000);
  const cpu = () => nodes.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
  const count = async () => {
    const [row] = await sql<{ transactions: string }>(
      'SELECT xact_commit + xact_rollback AS transactions FROM pg_stat_database WHERE datname = current_database()',
    );
    return Number(row?.transactions);
  };
  const before = { count: await count(), cpu: cpu() };
  await wait(10_000);
  const perSecond = ((await count()) - before.count) / 10;
  const milliseconds = ((cpu() - before.cpu) / 10) * 1000;
  const [row] = await sql<{ connections: number }>(
    `SELECT count(*)::int AS connections FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'annals'`,
  );
  const columns = ['nodes', 'connections of each', 'transactions/s of each', 'ms of CPU/s of each'];
  const each = (all: number) => round(all / nodes.length);
  table('Nodes at rest', columns, [
    [nodes.length, ...[row?.connections ?? Number.NaN, perSecond, milliseconds].map(each)],
  ]);
}

/** Compares reads by id that query PostgreSQL first with reads that do not, on nodes without other requests. */
async function linear(nodes: Nodes, ids: readonly string[], plan: Plan, database: Database): Promise<void> {
  const calls = reads(`${path}/`, ids);
  const sides = [
    { name: 'eventual', server: nodes.eventual[0], calls },
    { name: 'linear', server: nodes.linear[0], calls },
  ];
  for (const connections of [1, 32]) {
    const before = await tripTo(database);
    const [eventual, linear] = (await compare(sides, plan, connections)) as [Load, Load];
    const trip = (before + (await tripTo(database))) / 2;
    table(
      `Reads by id, ${connections} at a time`,
      loadColumns,
      [eventual, linear].map((figures, index) => loadRow(sides[index]?.name ?? '', figures)),
    );
    if (connections > 1) continue;
    process.stdout.write(`\na trip to PostgreSQL (SELECT 1), p50: ${round(trip)} ms\n`);
    verdictAtMost(
      'p50 of a linear read beside an eventual one, ms',
      (linear.p50 - eventual.p50) / 1000,
      trip + most.linear,
    );
  }
}

/** The time from the answer to a create on one node until another one answers with the document. */
async function readable({ eventual: [from, to] }: Nodes, { rounds, seconds }: Plan): Promise<void> {
  const author = await create(from, '/api/collections/authors', { name: 'Author' });
  const kinds = { '20 a second': 50, 'one every 2 seconds': 2000 };
  const rows = [];
  for (const [name, pause] of Object.entries(kinds)) {
    const times: number[] = [];
    const end = performance.now() + Math.max(rounds * seconds, 12) * 1000;
    while (performance.now() < end) {
      const id = await create(from, path, { ...post(0), slug: `seen-${pause}-${times.length}`, author });
      times.push(await seenAfter(to, id));
      await wait(pause * (0.5 + Math.random()));
    }
    rows.push([name, times.length, ...[median(times), quantile(times, 0.99), Math.max(...times)].map(round)]);
    if (pause < 1000)
      verdictAtMost('from a create on one node to a read on another, p50, ms', median(times), most.readable);
  }
  table(
    'From the answer of one node until an eventual read on another shows it',
    ['creates', 'number', 'p50 ms', 'p99 ms', 'longest ms'],
    rows,
  );
}

async function seenAfter({ url }: Server, id: string): Promise<number> {
  const begun = performance.now();
  for (;;) {
    const answer = await fetch(`${url}${path}/${id}`);
    await answer.text();
    if (answer.status === 200) return performance.now() - begun;
    // Without a pause the requests would take the core that the node needs.
    await wait(1);
  }
}

/**
 * Compares the reads of two nodes with those of one, each under the same load, and the CPU of the nodes. Two processes
 * on two cores take more CPU for the same work than one, so the reference is two services that share nothing.
 */
async function together(
  kind: string,
  nodes: readonly Side[],
  apart: readonly Side[],
  { rounds, seconds }: Plan,
): Promise<void> {
  const pairs = { 'nodes with one log': nodes, 'services that share nothing': apart };
  const found = Object.entries(pairs).map(([name, pair]) => ({ name, pair, ones: [] as Load[], twos: [] as Load[] }));
  for (let count = 0; count <= rounds; count += 1) {
    const options: LoadOptions = { connections: 32, seconds: count === 0 ? 2 : seconds };
    for (const { pair, ones, twos } of found) {
      const loaded = (sides: readonly Side[]) =>
        Promise.all(sides.map(({ server, calls }) => load(server, calls, options)));
      const one = await loaded(pair.slice(0, 1));
      const two = await loaded(pair);
      // The first round only compiles.
      if (count === 0) continue;
      ones.push(sumOf(one));
      twos.push(sumOf(two));
    }
  }
  table(
    `Reads by id, ${kind}, 32 at a time at each node`,
    ['', 'one: requests/s', 'reads per CPU second', 'two: requests/s', 'reads per CPU second'],
    found.map(({ name, ones, twos }) => {
      const [one, two] = [mediansOf(ones), mediansOf(twos)];
      return [name, ...[one.perSecond, 1e6 / one.cpu, two.perSecond, 1e6 / two.cpu].map(round)];
    }),
  );
  const [shared, own] = found.map(({ ones, twos }) => median(ones.map(({ cpu }, at) => cpu / (twos[at]?.cpu ?? 0))));
  process.stdout.write(
    `\nreads per CPU second of two, of that of one: nodes ${round(shared ?? 0)}, services ${round(own ?? 0)}\n`,
  );
  verdict('the ratio of nodes, of that of services that share nothing', (shared ?? 0) / (own ?? 0), 0.9);
}

function sumOf(loads: readonly Load[]): Load {
  const sum = (of: (one: Load) => number) => loads.reduce((all, one) => all + of(one), 0);
  const requests = sum((one) => one.requests);
  return {
    perSecond: sum(({ perSecond }) => perSecond),
    p50: median(loads.map(({ p50 }) => p50)),
    p99: Math.max(...loads.map(({ p99 }) => p99)),
    errors: sum(({ errors }) => errors),
    cpu: sum((one) => one.cpu * one.requests) / requests,
    requests,
  };
}
