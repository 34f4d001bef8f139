import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isInstalled, runModule } from './processes.ts';
import type { Replay } from './replay.ts';
import { type Cell, median, round, table, verdict } from './report.ts';
import type { Plan } from './rounds.ts';

const target = 20_000;

/** Rebuild and verify, in events per second on one core, over logs of growing size. */
export async function log(folder: string, plan: Plan, isLarge: boolean): Promise<void> {
  const core = isInstalled('taskset') ? ['taskset', '-c', '0'] : [];
  const rows: Cell[][] = [];
  const slowest: Record<string, number> = {};
  for (const size of isLarge ? [10_000, 100_000, 1_000_000] : [10_000, 100_000]) {
    const directory = join(folder, String(size));
    runModule('./generate.ts', [directory, String(size)]);
    const rounds = size > 100_000 ? 1 : Math.min(plan.rounds, 3);
    for (const name of ['rebuild', 'verify']) {
      const runs = Array.from({ length: rounds }, () => {
        return JSON.parse(runModule('./replay.ts', [name, directory], core)) as Replay;
      });
      const speed = median(runs.map(({ events, seconds }) => events / seconds));
      const byCpu = median(runs.map(({ events, cpu }) => events / cpu));
      const peak = median(runs.map(({ peakMiB }) => peakMiB));
      rows.push([name, size, round(speed), round(byCpu), round(peak)]);
      slowest[name] = Math.min(slowest[name] ?? Number.POSITIVE_INFINITY, speed);
    }
    rmSync(directory, { recursive: true });
  }
  const where = core.length > 0 ? 'one core (taskset -c 0)' : 'taskset is missing: not held to one core';
  const mix = '70 % creates, 25 % updates, 5 % deletes, 7 fields, 4 indexes';
  table(`Replaying the log, ${where}; ${mix}`, ['', 'events', 'events/s', 'per CPU second', 'peak MiB'], rows);
  for (const [name, speed] of Object.entries(slowest)) verdict(`${name}, events/s, the slowest size`, speed, target);
}
