import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { post } from './content.ts';
import { type Call, type Load, load } from './load.ts';
import { apiKey, isInstalled, type Server, startAnnals, startFloor } from './processes.ts';
import { prepare, reads } from './read.ts';
import { median, round, table, verdict } from './report.ts';
import { compare, loadColumns, loadRow, type Plan } from './rounds.ts';

const postsPath = '/api/collections/posts';

/**
 * Compares durable creates with the floor, at 32 connections and at one; counts the syncs of the disk; measures the
 * effect on reads.
 */
export async function create(folder: string, plan: Plan): Promise<void> {
  const { data, floor, ids, authors } = prepare(folder);
  const bare = await startFloor(floor);
  const ours = await startAnnals(data, join(folder, 'annals'));
  try {
    for (const connections of [32, 1]) await throughput(bare, ours, { authors, connections }, plan);
    await beside('floor', bare, '/docs', { ids, authors }, plan);
    const kept = await beside('annals', ours, postsPath, { ids, authors }, plan);
    verdict('reads by id while 32 connections create, of their speed alone', kept, 0.6);
  } finally {
    await bare.stop();
    await ours.stop();
  }
  await syncs(folder, data, authors, plan);
}

/** The load whose throughput is measured. */
type Writers = { authors: readonly string[]; connections: number };

async function throughput(bare: Server, ours: Server, { authors, connections }: Writers, plan: Plan): Promise<void> {
  const sides = [
    { name: 'floor: group commit into one table', server: bare, calls: creates('/docs', authors) },
    { name: 'annals, log level info', server: ours, calls: creates(postsPath, authors), key: apiKey },
  ];
  const [floor, annals] = (await compare(sides, plan, connections)) as [Load, Load];
  const rows = [loadRow(sides[0]?.name ?? '', floor), loadRow(sides[1]?.name ?? '', annals)];
  const at = connections === 1 ? 'one connection' : `${connections} connections`;
  table(`Durable creates (synchronous=FULL) of ~1 KB, ${at}`, loadColumns, rows);
  verdict(`creates, requests/s of the floor, ${at}`, annals.perSecond / floor.perSecond, connections === 1 ? 0.6 : 0.7);
  verdict('the same by CPU per request', floor.cpu / annals.cpu, 0.5);
}

/**
 * Reads alone, then with creates at the same time, round by round. Returns the share of their speed that reads keep.
 */
async function beside(name: string, server: Server, path: string, { ids, authors }: Known, plan: Plan) {
  const calls = reads(`${path}/`, ids);
  const alone: number[] = [];
  const together: number[] = [];
  const writes: number[] = [];
  for (let count = 0; count < plan.rounds; count += 1) {
    const options = { connections: 32, seconds: plan.seconds };
    alone.push((await load(server, calls, options)).perSecond);
    const both = [load(server, calls, options), load(server, creates(path, authors), { ...options, key: apiKey })];
    const [reading, writing] = (await Promise.all(both)) as [Load, Load];
    together.push(reading.perSecond);
    writes.push(writing.perSecond);
  }
  const kept = median(together) / median(alone);
  const row = [median(alone), median(together), median(writes), kept].map(round);
  table(`${name}: reads by id, 32 connections, while 32 others create`, besideColumns, [row]);
  return kept;
}

/** The ids of existing documents. */
type Known = { ids: readonly string[]; authors: readonly string[] };

const besideColumns = ['reads/s alone', 'reads/s beside', 'creates/s meanwhile', 'kept'];

/** Counts the calls of fsync and fdatasync of the whole process, including its start, while it creates. */
async function syncs(folder: string, data: string, authors: readonly string[], { seconds }: Plan): Promise<void> {
  if (!isInstalled('strace')) {
    process.stdout.write('\nfsyncs are not counted: strace is not installed (apt-get install strace)\n');
    return;
  }
  const file = join(folder, 'strace.txt');
  const trace = ['strace', '-f', '--seccomp-bpf', '-c', '-o', file, '-e', 'trace=fsync,fdatasync'];
  const rows = [];
  let grouped = 0;
  for (const connections of [1, 32]) {
    const server = await startAnnals(data, join(folder, 'traced'), { wrapper: trace });
    const { requests, perSecond } = await load(server, creates(postsPath, authors), {
      connections,
      seconds,
      key: apiKey,
    });
    await server.stop();
    const calls = countCalls(readFileSync(file, 'utf8'));
    rows.push([connections, requests, round(perSecond), calls, round(calls / requests)]);
    grouped = requests / calls;
  }
  table(
    'fsync and fdatasync, counted by strace',
    ['connections', 'creates', 'per second', 'syncs', 'per create'],
    rows,
  );
  verdict('creates per fsync at 32 connections', grouped, 2);
}

/** The fourth column of strace's summary. */
function countCalls(summary: string): number {
  const calls = [...summary.matchAll(/^\s*\S+\s+\S+\s+\S+\s+(\d+)\s.*\b(?:fsync|fdatasync)$/gm)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Creates of posts, each with a slug of its own. */
export function creates(path: string, authors: readonly string[]): Call[] {
  return Array.from({ length: 200 }, (_, index) => {
    const values = post(index);
    return { method: 'POST', path, body: { ...values, slug: 'new-@@N@@', author: authors[values.author] } };
  });
}
