import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { creates } from './create.ts';
import { operations } from './lists.ts';
import { type Call, load } from './load.ts';
import { apiKey, type Server, startAnnals } from './processes.ts';
import { prepare, reads } from './read.ts';
import { type Cell, median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

const path = '/api/collections/posts';
/** The time until threads are idle and have returned memory, and the log was checked once. */
const restMilliseconds = 60_000;

/** The resident memory of a process in MB, now or at most since the last {@link resetPeak} (proc(5), `status`). */
export function megabytes({ pid }: Server, name: 'VmRSS' | 'VmHWM'): number {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return (Number(found) * 1024) / 1e6;
}

/** Resets the peak of the resident memory. */
export function resetPeak({ pid }: Server): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/**
 * Measures memory at rest by the number of threads, after each load, after a mixed load, and after a rest.
 *
 * @param minutes the duration of the mixed load.
 */
export async function memory(folder: string, { rounds, seconds }: Plan, minutes: number): Promise<void> {
  const { data, ids, authors } = prepare(folder);
  const rested: Cell[][] = [];
  for (const threads of [1, 2, 3]) {
    const taken: Held[] = [];
    for (let count = 0; count < rounds; count += 1) {
      const server = await start(data, join(folder, `${threads}-${count}`), threads);
      try {
        await wait(restMilliseconds);
        taken.push(heldBy(server));
      } finally {
        await server.stop();
      }
    }
    rested.push([threads, ...cellsOf(mediansOf(taken))]);
  }
  table(`At rest, ${ids.length} documents, MB`, ['threads', ...columns], rested);

  const loads = loadsOn(ids, authors);
  const server = await start(data, join(folder, 'loaded'), 2);
  const rows: Cell[][] = [];
  const note = (what: string): Held => {
    const held = heldBy(server);
    rows.push([what, ...cellsOf(held)]);
    return held;
  };
  try {
    await wait(restMilliseconds);
    const before = note('at rest');
    const options = { connections: 32, key: apiKey };
    for (const [name, calls] of Object.entries(loads)) {
      await load(server, calls, { ...options, seconds });
      note(name);
    }
    resetPeak(server);
    const end = performance.now() + minutes * 60_000;
    let [requests, errors] = [0, 0];
    while (performance.now() < end) {
      const one = await load(server, Object.values(loads).flat(), { ...options, seconds: 15 });
      requests += one.requests;
      errors += one.errors;
    }
    note(`${minutes} min of all of them, ${requests} requests, ${errors} errors`);
    const peak = megabytes(server, 'VmHWM');
    await wait(restMilliseconds);
    const after = note('a minute later');
    table('Two threads, after each load, MB', ['', ...columns], rows);
    process.stdout.write(`\nat most ${round(peak)} MB resident\n`);
    verdict('resident before the load, of that a minute after it', before.resident / after.resident, 1 / 1.5);
  } finally {
    await server.stop();
  }
}

function start(data: string, folder: string, threads: number): Promise<Server> {
  mkdirSync(folder, { recursive: true });
  const environment = {
    BENCH_HEAPS: folder,
    NODE_OPTIONS: `--import=${new URL('./heaps.js', import.meta.url).href}`,
    // The service is measured without extra certificates, which take some MB.
    NODE_EXTRA_CA_CERTS: '',
  };
  return startAnnals(data, folder, { threads, environment });
}

/** The loads, each with requests of one kind. */
function loadsOn(ids: readonly string[], authors: readonly string[]): Record<string, Call[]> {
  const { 'R1 one by id': _, ...lists } = operations;
  const inTurn = Object.values(lists).flatMap((calls) => calls(ids));
  const patches = ids.slice(0, 200).map((id, views) => ({ method: 'PATCH', path: `${path}/${id}`, body: { views } }));
  const past = Array.from({ length: 40 }, (_, n) => ({
    method: 'GET',
    path: `${path}?limit=10&sort=-publishedAt&asOf=${Math.round((ids.length * (n + 1)) / 41)}`,
  }));
  return {
    'reads by id': reads(`${path}/`, ids),
    lists: inTurn,
    creates: creates(path, authors),
    patches,
    'lists as of 40 positions': past,
  };
}

type Held = { resident: number; anonymous: number; heaps: number; isolates: number };

const columns = ['resident', 'of files', 'anonymous', 'V8 heaps', 'besides', 'isolates'];

/** The memory of a process in MB (proc(5), `smaps_rollup`), and that of V8 in all of its threads. */
function heldBy({ pid, folder }: Server): Held {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const of = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024) / 1e6;
  const told = readdirSync(folder)
    .filter((name) => /^heap-\d+\.json$/.test(name))
    .map((name): { at: number; heap: number } => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    .filter(({ at }) => Date.now() - at < 5000);
  const heaps = told.reduce((sum, { heap }) => sum + heap, 0) / 1e6;
  return { resident: of('Rss'), anonymous: of('Anonymous'), heaps, isolates: told.length };
}

function mediansOf(taken: readonly Held[]): Held {
  const of = (name: keyof Held) => median(taken.map((one) => one[name]));
  return { resident: of('resident'), anonymous: of('anonymous'), heaps: of('heaps'), isolates: of('isolates') };
}

function cellsOf({ resident, anonymous, heaps, isolates }: Held): Cell[] {
  return [...[resident, resident - anonymous, anonymous, heaps, anonymous - heaps].map(round), isolates];
}
