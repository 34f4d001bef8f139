import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { megabytes, resetPeak } from './memory.ts';
import { apiKey, runModule, type Server, startAnnals } from './processes.ts';
import type { Replay } from './replay.ts';
import { type Cell, median, round, table } from './report.ts';
import type { Plan } from './rounds.ts';

const verifier = fileURLToPath(new URL('../verify/annals-verify.mjs', import.meta.url));
const manyVersions = 10_000;
const headers = { 'x-api-key': apiKey };

/** Measures exports and evidence packs of logs of growing size, on one thread, and their verification. */
export async function exporting(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  const rows: Cell[][] = [];
  const verified: Cell[][] = [];
  const sizes: Cell[][] = [];
  for (const size of isLarge ? [100_000, 1_000_000] : [100_000]) {
    const data = join(folder, String(size));
    mkdirSync(data, { recursive: true });
    runModule('./generate.ts', [data, String(size)]);
    const server = await startAnnals(data, join(folder, 'service'), { threads: 1, logLevel: 'silent' });
    const rounds = size > 100_000 ? 1 : Math.min(plan.rounds, 3);
    try {
      // Code that is loaded and compiled at first use counts as idle memory.
      await save(server, '/api/audit/export?to=1000', join(folder, 'first.zip'));
      const idle = megabytes(server, 'VmRSS');
      for (const query of ['format=ndjson', 'format=csv', 'format=cloudevents', 'collection=authors']) {
        const file = join(folder, 'export.zip');
        const runs: Saved[] = [];
        for (let count = 0; count < rounds; count += 1) {
          runs.push(await save(server, `/api/audit/export?${query}`, file));
        }
        const of = (name: keyof Saved) => median(runs.map((one) => one[name]));
        rows.push([query, size, round(of('events') / of('seconds')), ...figures(of, idle)]);
        if (query !== 'collection=authors')
          verified.push([`annals-verify, ${query}`, size, round(await verify(file, size))]);
      }
      sizes.push(...(await packs(server, folder, size)));
    } finally {
      await server.stop();
    }
    const { events, seconds } = JSON.parse(runModule('./replay.ts', ['verify', data])) as Replay;
    verified.push(['annals verify', size, round(events / seconds)]);
    rmSync(data, { recursive: true });
  }
  const columns = ['MB', 's', 'MB above idle, at most', 'slowest read meanwhile, ms'];
  table('Exports over HTTP, one thread', ['', 'events in the log', 'events/s', ...columns], rows);
  table('Verifying', ['', 'events in the log', 'events/s'], verified);
  table('Evidence packs and proofs', ['', 'events in the log', ...columns], sizes);
}

type Saved = { events: number; bytes: number; seconds: number; peak: number; slowest: number };

function figures(of: (name: keyof Saved) => number, idle: number): Cell[] {
  return [of('bytes') / 1e6, of('seconds'), of('peak') - idle, of('slowest')].map(round);
}

/** Saves an archive while another client reads all the time. */
async function save(server: Server, path: string, file: string): Promise<Saved> {
  resetPeak(server);
  const from = performance.now();
  let isOver = false;
  const reading = slowestRead(server, () => isOver);
  const response = await fetch(server.url + path, { headers });
  if (response.status !== 200 || !response.body) throw new Error(`${path} was answered ${response.status}`);
  const target = await open(file, 'w');
  for await (const chunk of response.body) await target.write(chunk);
  await target.close();
  const seconds = (performance.now() - from) / 1000;
  isOver = true;
  const events = Number(response.headers.get('annals-events'));
  const { size: bytes } = statSync(file);
  return { events, bytes, seconds, peak: megabytes(server, 'VmHWM'), slowest: await reading };
}

async function slowestRead({ url }: Server, isOver: () => boolean): Promise<number> {
  let slowest = 0;
  while (!isOver()) {
    const from = performance.now();
    await (await fetch(`${url}/api/collections/posts?limit=1`, { headers })).text();
    slowest = Math.max(slowest, performance.now() - from);
  }
  return slowest;
}

/** The speed in events per second. During the verification the service closes idle connections. */
async function verify(file: string, events: number): Promise<number> {
  const from = performance.now();
  const child = spawn(process.execPath, [verifier, '--trust-inside', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`annals-verify ended with ${status}`);
  return events / ((performance.now() - from) / 1000);
}

async function packs(server: Server, folder: string, size: number): Promise<Cell[][]> {
  const call = async (method: string, path: string, body?: object) => {
    const response = await fetch(server.url + path, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}`);
    return response;
  };
  const proof = (await (await call('GET', `/api/audit/proofs/${size / 2}`)).text()).length;
  const rows: Cell[][] = [['a proof of inclusion', size, round(proof / 1e6), '', '', '']];
  const { docs } = (await (await call('GET', '/api/collections/posts?limit=1')).json()) as { docs: { id: string }[] };
  const id = docs[0]?.id ?? '';
  const file = join(folder, 'bundle.zip');
  const row = async (name: string) => {
    // The memory of earlier writes does not count.
    const before = megabytes(server, 'VmRSS');
    const saved = await save(server, `/api/audit/bundles/posts/${id}`, file);
    rows.push([name, size, ...figures((figure) => saved[figure], before)]);
    await verify(file, 1);
  };
  await row('the pack of a document with few versions');
  const path = `/api/collections/posts/${id}`;
  for (let views = 0; views < manyVersions; views += 100) {
    const patches = Array.from({ length: 100 }, (_, index) => call('PATCH', path, { views: 1e6 + views + index }));
    await Promise.all(patches.map(async (patch) => (await patch).text()));
  }
  await row(`the pack of one with ${manyVersions} versions`);
  return rows;
}
