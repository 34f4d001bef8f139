import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { usualSizes } from '../events/segments/segment-writer.ts';
import { archivedUpTo } from '../events/segments/segments.ts';
import { type Sqlite, withDatabase } from '../storage/sqlite.ts';
import { creates } from './create.ts';
import { type Load, load } from './load.ts';
import { apiKey, cpuSeconds, pathOf, runModule, type Server, startAnnals } from './processes.ts';
import { median, round, table, verdict } from './report.ts';
import { mediansOf, type Plan } from './rounds.ts';

/** The events to archive at the beginning: enough for all rounds. */
const events = 200_000;

type Side = { name: string; server: Server; loads: Load[] };

/** Creates in a log that archives without a pause, in turn with creates in a log that archives nothing. */
export async function archiving(folder: string, plan: Plan): Promise<void> {
  const [data, copy] = [join(folder, 'archived'), join(folder, 'unarchived')];
  const NODE_OPTIONS = `--import=${pathOf('./unarchived.ts')}`;
  runModule('./generate.ts', [data, String(events), '1', '0'], { wrapper: ['env', `NODE_OPTIONS=${NODE_OPTIONS}`] });
  cpSync(data, copy, { recursive: true });
  const ours = { name: 'is being archived', server: await startAnnals(data, join(folder, 'one')), loads: [] };
  stop(ours);
  const options = { environment: { NODE_OPTIONS } };
  const bare = { name: 'is not', server: await startAnnals(copy, join(folder, 'other'), options), loads: [] };
  const sides: Side[] = [ours, bare];
  try {
    const calls = creates('/api/collections/posts', await authorsOf(bare.server));
    const write = ({ server }: Side, seconds: number) => load(server, calls, { connections: 32, seconds, key: apiKey });
    stop(bare);
    // A stopped process takes no CPU from the other one.
    for (let count = -1; count < plan.rounds; count += 1) {
      for (const side of sides) {
        goOn(side);
        const taken = await write(side, plan.seconds);
        if (count >= 0) side.loads.push(taken);
        stop(side);
      }
    }
    const columns = ['the log', 'creates/s', 'p50 ms', 'p99 ms', 'server CPU µs/create'];
    const rows = sides.map(({ name, loads }) => {
      const { perSecond, p50, p99, cpu } = mediansOf(loads);
      return [name, round(perSecond), round(p50 / 1000), round(p99 / 1000), round(cpu)];
    });
    const archived = inLog(data, archivedUpTo);
    table(`Durable creates of ~1 KB, 32 connections; ${archived} events archived meanwhile`, columns, rows);
    const ratioOf = (name: 'perSecond' | 'cpu') =>
      median(ours.loads.map((one: Load, at) => one[name] / (bare.loads[at]?.[name] ?? 1)));
    verdict('creates/s while the log is being archived, of those while it is not', ratioOf('perSecond'), 0.8);
    verdict('the same by CPU per create', 1 / ratioOf('cpu'), 0.8);
    goOn(ours);
    const alone = await archiveRest(ours.server, data);
    const perCreate = median(bare.loads.map(({ cpu }: Load) => cpu));
    table('An event is archived once', ['CPU µs/event', 'of a create'], [[round(alone), round(alone / perCreate)]]);
  } finally {
    for (const side of sides) {
      goOn(side);
      await side.server.stop();
    }
  }
}

/** Waits until the rest is archived, and gone from the table. @returns microseconds of CPU for an event. */
async function archiveRest({ pid }: Server, data: string): Promise<number> {
  const [begun, from] = [cpuSeconds(pid), inLog(data, archivedUpTo)];
  const isDone = (log: Sqlite) => {
    const size = log.prepare<[], number>('SELECT size FROM head').pluck().get() ?? 0;
    const first = log.prepare<[], number | null>('SELECT min(position) FROM payloads').pluck().get() ?? 0;
    return size - archivedUpTo(log) < usualSizes.events + usualSizes.hot && first > archivedUpTo(log);
  };
  while (!inLog(data, isDone)) await setTimeout(200);
  return ((cpuSeconds(pid) - begun) * 1e6) / (inLog(data, archivedUpTo) - from);
}

function inLog<T>(data: string, read: (log: Sqlite) => T): T {
  return withDatabase(join(data, 'log.db'), { readonly: true }, read);
}

function stop({ server }: Side): void {
  process.kill(server.pid, 'SIGSTOP');
}

function goOn({ server }: Side): void {
  process.kill(server.pid, 'SIGCONT');
}

async function authorsOf({ url }: Server): Promise<string[]> {
  const answer = await fetch(`${url}/api/collections/authors?limit=100`, { headers: { 'x-api-key': apiKey } });
  const { docs } = (await answer.json()) as { docs: { id: string }[] };
  return docs.map(({ id }) => id);
}
