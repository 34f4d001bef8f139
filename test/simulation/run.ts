import { createRandom } from '../../bench/content.ts';
import { seals } from '../events/logs.ts';
import { openDisk } from './disk.ts';
import { type Call, type Faults, type Kind, noFaults } from './disk-state.ts';
import {
  check,
  cutPower,
  Ended,
  isOfDisk,
  kill,
  type Life,
  scrub,
  start,
  step,
  unforeseen,
  type World,
} from './life.ts';
import { below, oneOf } from './power-cut.ts';
import { createIds } from './product.ts';
import { BrokenPromise, beginStory } from './story.ts';
import { seedRandomness } from './vfs.ts';

/** The figures of a run. `trace`: of all its calls, in their order. */
export type Ran = {
  calls: number;
  errors: number;
  cuts: number;
  trace: number;
  starts: number;
  events: number;
  erased: number;
};

/**
 * `ignoresSync`: the control, on which acknowledged events have to get lost. `isBrief`: one process that writes, and
 * few steps.
 */
export type RunOptions = { seed: number; ignoresSync?: boolean; isBrief?: boolean };

let isWarm = false;

/**
 * One run: some processes, one after the other, that write, archive and erase on one disk until their power is cut or
 * they end otherwise. Each finds everything that was acknowledged before. All of it follows from the seed.
 *
 * @throws BrokenPromise if a process misses something.
 */
export function simulate(options: RunOptions): Ran {
  // A thread looks at some settings of SQLite once: each run is to make the same calls, whether it is the first or not.
  if (!isWarm) {
    isWarm = true;
    warmUp();
  }
  const { seed, ignoresSync = false, isBrief = false } = options;
  const random = createRandom(Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995);
  const world = openWorld(random, { isJournal: random() < 0.7, ignoresSync });
  const lives = isBrief ? 1 : 2 + below(random, 4);
  let starts = 1;
  try {
    for (let life = 0; life < lives; life += 1) starts += live(world, isBrief ? [4, 12] : [5, 20, 60]);
    // The last one looks, and does no more.
    check(world, quietStart(world));
    const { story, disk } = world;
    const erased = story.erased.filter(({ isDone }) => isDone).length;
    return { ...disk.made, starts, events: story.size(), erased };
  } finally {
    kill(world);
  }
}

/** A disk with nothing on it, and a story that has not begun. */
export function openWorld(random: () => number, kind: Kind): World {
  seedRandomness(random);
  let time = Date.parse('2026-11-20T12:00:00.000Z');
  const now = () => {
    time += 1;
    return time;
  };
  const ids = createIds(new BigInt64Array(new SharedArrayBuffer(8)), now);
  return { disk: openDisk(random, kind), random, now, story: beginStory(random, now), ids, seals };
}

function warmUp(): void {
  const world = openWorld(createRandom(0), { isJournal: true, ignoresSync: false });
  scrub(world, quietStart(world));
  kill(world);
}

/** One process that works, at times after one that fails at its start. @returns the number of processes. */
function live(world: World, steps: readonly number[]): number {
  const { disk, random } = world;
  let starts = 1;
  // Some processes have trouble from the beginning: they may not start.
  if (random() < 0.35) {
    disk.setFaults(faultsOf(random));
    const { errors } = disk.made;
    try {
      const life = start(world);
      if (random() < 0.5) scrub(world, life);
    } catch (error) {
      const isMade = disk.isOff() || disk.made.errors > errors;
      if (error instanceof BrokenPromise || !(error instanceof Ended || (isMade && isOfDisk(error))))
        throw unforeseen(error);
    }
    end(world, null);
    starts += 1;
  }
  const life = quietStart(world);
  check(world, life);
  // Finishes the erasures of a killed process.
  if (random() < 0.5) scrub(world, life);
  disk.setFaults(faultsOf(random));
  let isEnded = false;
  try {
    for (let left = below(random, oneOf(random, steps)); left > 0; left -= 1) step(world, life);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    isEnded = true;
  }
  end(world, isEnded ? null : life);
  return starts;
}

function quietStart(world: World): Life {
  world.disk.setFaults(noFaults);
  try {
    return start(world);
  } catch (error) {
    throw unforeseen(error);
  }
}

/** Ends a process: as it should, by a kill, or with the power. */
function end(world: World, life: Life | null): void {
  const { disk, random } = world;
  const dice = random();
  if (life && !disk.isOff() && dice < 0.25) {
    try {
      life.close();
    } catch (error) {
      if (!isOfDisk(error)) throw unforeseen(error);
    }
  }
  if (disk.isOff() || random() < 0.6) cutPower(world);
  else kill(world);
}

/** Calls by how often they are made, with the chances of an error that let most of the work go on. */
const rare: readonly Call[] = ['open', 'truncate', 'sync', 'make', 'rename', 'remove', 'list', 'syncFolder'];
const frequent: readonly Call[] = ['read', 'write'];

function faultsOf(random: () => number): Faults {
  const chance: Faults['chance'] = {};
  const few = random() < 0.5 ? 1 + below(random, 3) : 0;
  for (let left = few; left > 0; left -= 1) chance[oneOf(random, rare)] = oneOf(random, [0.02, 0.1, 0.4]);
  if (random() < 0.3) chance[oneOf(random, frequent)] = oneOf(random, [0.001, 0.005, 0.02]);
  return { cutAt: random() < 0.6 ? 1 + below(random, oneOf(random, [20, 100, 500])) : null, chance };
}
