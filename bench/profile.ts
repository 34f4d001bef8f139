import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Measured, measured, startAnnalsFor } from './cost.ts';

/**
 * The CPU time in each function for one request, without callees, in microseconds, by name and file; only the most
 * expensive functions.
 */
export type Profile = Record<string, number>;

const most = 40;

/** The functions in which a request of each kind spends its time, in a service that does everything in one thread. */
export async function profiles(folder: string, requests: number): Promise<Record<Measured, Profile>> {
  const found = {} as Record<Measured, Profile>;
  const target = join(folder, 'profiles');
  mkdirSync(target, { recursive: true });
  const { send, stop } = await startAnnalsFor(folder, ['--cpu-prof', '--cpu-prof-dir', target]);
  const windows = new Map<Measured, { from: number; to: number }>();
  for (const name of measured) {
    await send(name, requests);
    const from = now();
    await send(name, requests);
    windows.set(name, { from, to: now() });
  }
  await stop();
  const samples = readSamples(target);
  for (const [name, { from, to }] of windows) {
    const taken = new Map<string, number>();
    for (const { at, place, microseconds } of samples)
      if (at >= from && at <= to) taken.set(place, (taken.get(place) ?? 0) + microseconds / requests);
    const largest = [...taken].sort(([, one], [, other]) => other - one).slice(0, most);
    found[name] = Object.fromEntries(largest.map(([place, value]) => [place, Number(value.toFixed(2))]));
  }
  return found;
}

/**
 * The functions that take more than before, as lines, largest increase first. @param scale how much slower this machine
 * is than the earlier one.
 */
export function differences(before: Profile, after: Profile, scale: number): string[] {
  const places = new Set([...Object.keys(before), ...Object.keys(after)]);
  const grown = [...places].map((place) => ({ place, more: (after[place] ?? 0) - (before[place] ?? 0) * scale }));
  return grown
    .sort((one, other) => other.more - one.more)
    .slice(0, 10)
    .map(({ place, more }) => `  ${more.toFixed(1).padStart(7)} µs  ${place}`);
}

/** The clock of profiles: monotonic, in microseconds. */
function now(): number {
  return Number(process.hrtime.bigint() / 1000n);
}

type Node = { id: number; callFrame: { functionName: string; url: string } };
type Recorded = { nodes: Node[]; startTime: number; samples: number[]; timeDeltas: number[] };
type Sample = { at: number; place: string; microseconds: number };

/** The samples of the thread that answered, whose profile is the longest. */
function readSamples(folder: string): Sample[] {
  const all = readdirSync(folder).map((file): Recorded => JSON.parse(readFileSync(join(folder, file), 'utf8')));
  const places = (nodes: Node[]) => new Map(nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
  return all.flatMap(({ nodes, startTime, samples, timeDeltas }) => {
    const known = places(nodes);
    let at = startTime;
    return samples.flatMap((id, index) => {
      const microseconds = timeDeltas[index] ?? 0;
      at += microseconds;
      const place = known.get(id) ?? '';
      return place === '' ? [] : [{ at, place, microseconds }];
    });
  });
}

function placeOf({ functionName, url }: Node['callFrame']): string {
  if (['(idle)', '(root)', '(program)'].includes(functionName)) return '';
  const file = basename(url);
  // The files of a bundle get new names after each change.
  return `${functionName || '(anonymous)'} ${file.startsWith('chunk-') ? 'bundle' : file}`.trim();
}
