import { spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Measured, measure, type Sides, startSides } from './cost.ts';
import { differences, type Profile, profiles } from './profile.ts';
import { median, round } from './report.ts';
import { type Ratio, ratioOf } from './slices.ts';

/**
 * The recorded figures: for each request and side the ratio to the floor's CPU, the floor's µs, and the profile of the
 * service.
 */
type Kept = {
  node: string;
  ratios: Record<string, number>;
  floor: Record<string, number>;
  profiles: Record<string, Profile>;
};

const file = fileURLToPath(new URL('./costs.json', import.meta.url));
const guarded: readonly Measured[] = ['R1', 'R2', 'R8', 'W1'];
const cycles = 10;
const profiled = 4000;

/**
 * An increase counts as a step beyond this multiple of the recorded figure. Without a commit to compare with, the
 * multiple is larger, because machines differ.
 */
const step = { compared: 1.1, alone: 1.25 };
/** A ratio whose middle half spreads by more than this share is not conclusive. */
const widest = 0.35;
const measurements = 3;

/**
 * Compares the CPU of reads and creates, as ratios to the floor, with the figures in `bench/costs.json`, and reports
 * steps. For a step three measurements must agree, and a fourth beside the service of an earlier commit, which
 * distinguishes a step of the code from a different machine.
 *
 * @param base the earlier commit; null for none.
 * @returns true if there is no step.
 */
export async function guard(folder: string, base: string | null): Promise<boolean> {
  if (process.platform !== 'linux') {
    say('not measured: the CPU of a thread is read from /proc');
    return true;
  }
  const kept: Kept = JSON.parse(readFileSync(file, 'utf8'));
  const sides = await startSides(folder, null);
  const suspects: Measured[] = [];
  try {
    const most = base === null ? step.alone : step.compared;
    for (const name of guarded) if (await isSuspect(name, { kept, most }, sides)) suspects.push(name);
  } finally {
    await sides.stop();
  }
  if (suspects.length === 0) return true;
  const steps = base === null ? suspects : await comparedWith(base, join(folder, 'compared'), suspects);
  if (steps.length === 0) return true;
  const now = await profiles(join(folder, 'profiling'), profiled);
  for (const name of steps) {
    say(`${name}: the functions that take more than when the figure was kept, a request:`);
    for (const line of differences(kept.profiles[name] ?? {}, now[name], 1)) say(line);
  }
  say(`If that is meant, keep the figures anew with "npm run bench -- keep" and say why in the commit`);
  return false;
}

/** @param most the multiple of the recorded figure up to which an increase is not a step. */
async function isSuspect(name: Measured, { kept, most }: { kept: Kept; most: number }, sides: Sides): Promise<boolean> {
  for (let count = 0; count < measurements; count += 1) {
    const [bare = [], ...taken] = await measure(name, sides, cycles);
    const found = [...sides.services.keys()].map((side, index) => {
      return { key: `${name}, ${side}`, ratio: ratioOf(taken[index] ?? [], bare) };
    });
    for (const { key, ratio } of found) say(`${key}: ${shown(ratio)} of the floor's CPU, kept: ${kept.ratios[key]}`);
    if (found.some(({ ratio }) => isWide(ratio))) {
      say(`${name} is not measured: this machine is too busy to tell`);
      return false;
    }
    const isStep = found.some(({ key, ratio }) => ratio.low > (kept.ratios[key] ?? 0) * most);
    if (!isStep) return false;
  }
  return true;
}

/** The requests that take more than in an earlier commit, whose service runs beside this one. */
async function comparedWith(base: string, folder: string, suspects: readonly Measured[]): Promise<Measured[]> {
  const checkout = join(folder, 'base');
  const git = spawnSync('git', ['worktree', 'add', '--detach', checkout, base], { stdio: 'ignore' });
  try {
    if (git.status !== 0) throw new Error(`git has no commit ${base}`);
    for (const name of ['node_modules', 'admin/dist', 'runtime/node_modules'])
      symlinkSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), join(checkout, name));
    const sides = await startSides(folder, checkout);
    const steps: Measured[] = [];
    for (const name of suspects) {
      const [, ours = [], , theirs = []] = await measure(name, sides, cycles * 2);
      const ratio = ratioOf(ours, theirs);
      say(`${name}: ${shown(ratio)} of the CPU of ${base}`);
      if (isWide(ratio)) say(`${name} is not measured: this machine is too busy to tell`);
      else if (ratio.low > step.compared) steps.push(name);
    }
    await sides.stop();
    return steps;
  } catch (error) {
    say(`not compared with ${base}: ${(error as Error).message}`);
    return [];
  } finally {
    spawnSync('git', ['worktree', 'remove', '--force', checkout], { stdio: 'ignore' });
  }
}

/**
 * Writes the figures of this machine into `bench/costs.json`: medians of several measurements like those of the guard,
 * each on servers that have just started.
 */
export async function keep(folder: string): Promise<void> {
  const found = new Map<string, number[]>();
  const note = (key: string, value: number) => found.set(key, [...(found.get(key) ?? []), value]);
  for (let count = 0; count < measurements; count += 1) await measureOnce(join(folder, `${count}`), note);
  const kept: Kept = { node: process.version, ratios: {}, floor: {}, profiles: {} };
  for (const [key, values] of found) {
    if (key.includes(',')) kept.ratios[key] = Number(median(values).toFixed(3));
    else kept.floor[key] = Number(median(values).toFixed(1));
  }
  kept.profiles = await profiles(join(folder, 'profiling'), profiled);
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);
  say(JSON.stringify(kept.ratios));
}

async function measureOnce(folder: string, note: (key: string, value: number) => void): Promise<void> {
  const sides = await startSides(folder, null);
  try {
    for (const name of guarded) {
      const [bare = [], ...taken] = await measure(name, sides, cycles);
      note(name, median(bare));
      for (const [index, side] of [...sides.services.keys()].entries())
        note(`${name}, ${side}`, ratioOf(taken[index] ?? [], bare).median);
    }
  } finally {
    await sides.stop();
  }
}

function isWide({ median: middle, low, high }: Ratio): boolean {
  return (high - low) / middle > widest;
}

function shown({ median: middle, low, high }: Ratio): string {
  return `${round(middle)} (${round(low)} to ${round(high)})`;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
