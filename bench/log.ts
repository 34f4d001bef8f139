import { rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { isInstalled, runModule } from './processes.ts';
import type { Replay } from './replay.ts';
import { type Cell, median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

const target = 20_000;

/** Measures rebuild and verify, in events per second, on one core and on all in turn, over logs of growing size. */
export async function log(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  const one = isInstalled('taskset') ? ['taskset', '-c', '0'] : [];
  const rows: Cell[][] = [];
  const slowest: Record<string, number> = {};
  const ratios: Record<string, number> = {};
  for (const size of isLarge ? [10_000, 100_000, 1_000_000] : [10_000, 100_000]) {
    const directory = join(folder, String(size));
    runModule('./generate.ts', [directory, String(size)]);
    const rounds = size > 100_000 ? 1 : Math.min(plan.rounds, 3);
    for (const name of ['rebuild', 'verify']) {
      const runs: Record<'one' | 'all', Replay[]> = { one: [], all: [] };
      for (let count = 0; count < rounds; count += 1) {
        runs.one.push(replay(name, directory, one));
        runs.all.push(replay(name, directory, []));
      }
      const speedOf = (some: Replay[]) => median(some.map(({ events, seconds }) => events / seconds));
      const [speed, together] = [speedOf(runs.one), speedOf(runs.all)];
      const byCpu = median(runs.one.map(({ events, cpu }) => events / cpu));
      const peaks = [runs.one, runs.all].map((some) => round(median(some.map(({ peakMiB }) => peakMiB))));
      rows.push([name, size, round(speed), round(byCpu), round(together), round(together / speed), ...peaks]);
      slowest[name] = Math.min(slowest[name] ?? Number.POSITIVE_INFINITY, speed);
      ratios[name] = together / speed;
    }
    rmSync(directory, { recursive: true });
  }
  const where = one.length > 0 ? 'one core (taskset -c 0)' : 'taskset is missing: not held to one core';
  const mix = '70 % creates, 25 % updates, 5 % deletes, 7 fields, 4 indexes';
  const columns = [
    '',
    'events',
    'events/s',
    'per CPU second',
    `on ${availableParallelism()} cores`,
    'ratio',
    'peak MiB',
    'on all',
  ];
  table(`Replaying the log, ${where}; ${mix}`, columns, rows);
  for (const [name, speed] of Object.entries(slowest)) verdict(`${name}, events/s, the slowest size`, speed, target);
  for (const [name, ratio] of Object.entries(ratios))
    verdict(`${name}, all cores against one, the largest size`, ratio, 1.6);
}

function replay(name: string, directory: string, wrapper: readonly string[]): Replay {
  return JSON.parse(runModule('./replay.ts', [name, directory], { wrapper })) as Replay;
}
