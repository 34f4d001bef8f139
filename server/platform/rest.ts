import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { giveBackFreed, isFreedNoted } from '../../storage/freed.ts';
import { collectAll } from '../../storage/garbage.ts';
import { giveBackKept } from '../../storage/kept.ts';
import { emptyCaches } from '../../storage/sqlite.ts';
import { every } from './ticks.ts';

const lookMilliseconds = 10_000;
/** The share of the time between two checks below which a thread counts as quiet. */
const quietShare = 0.02;
/**
 * How many quiet checks in a row are a rest: 40 to 50 s. The memory of a load is given back a minute after it, and a
 * pause of 30 s costs nothing.
 */
const restLooks = 4;
/** Until a thread has worked for this time, it has little compiled code to lose, and one quiet check is a rest. */
const coldMilliseconds = 600;
/** Below this work, giving memory back takes more work than it saves. */
const workMilliseconds = 500;

/**
 * A thread at its last check: its work since it last gave memory back, its work in all, and its quiet checks in a row.
 */
type Rest = { worked: number; workedInAll: number; quietLooks: number };

/** A thread that was loaded just now. */
export const loaded: Rest = { worked: workMilliseconds, workedInAll: 0, quietLooks: 0 };

/**
 * Judges a check of a thread, made each 10 s.
 *
 * @param sight how long the thread was busy since the check before, in milliseconds and as a share.
 * @returns whether it is to give memory back now.
 */
export function judgeRest(
  { worked, workedInAll, quietLooks }: Rest,
  { active, utilization }: Pick<EventLoopUtilization, 'active' | 'utilization'>,
): Rest & { isTime: boolean } {
  const now = {
    worked: worked + active,
    workedInAll: workedInAll + active,
    quietLooks: utilization > quietShare ? 0 : quietLooks + 1,
  };
  const enough = now.workedInAll < coldMilliseconds ? 1 : restLooks;
  const isTime = now.quietLooks >= enough && now.worked >= workMilliseconds;
  return { ...now, ...(isTime && { worked: 0 }), isTime };
}

/**
 * From now on this thread gives memory back whenever it rests after work: garbage, caches, and freed memory. That takes
 * some 20 ms, in which a request would wait. V8 also throws compiled code away, which costs a second of CPU in the next
 * 15,000 requests; so the rest must be long, except for the first after a start.
 *
 * @param onRest called after that.
 */
export function giveBackAtRest(onRest = () => {}): void {
  let last = performance.eventLoopUtilization();
  let rest = loaded;
  every(lookMilliseconds, () => {
    const now = performance.eventLoopUtilization();
    const { isTime, ...next } = judgeRest(rest, performance.eventLoopUtilization(now, last));
    rest = next;
    last = now;
    if (isTime) {
      giveBack();
      onRest();
      // That was no work of the thread itself.
      last = performance.eventLoopUtilization();
    } else if (rest.quietLooks > 0 && isFreedNoted()) giveBackFreed();
  });
}

/** Empties all that this thread keeps only to be faster. */
function giveBack(): void {
  emptyCaches();
  giveBackKept();
  collectAll();
  giveBackFreed();
}

/**
 * From now on V8 does not give memory back by itself in this process, some seconds after a load and after each 100 s:
 * {@link giveBackAtRest} does. Not to be called before all threads are loaded, because cached code is of no use under
 * other flags.
 */
export function holdBackV8(): void {
  // The V8 of Node 22 does not know the flag, and complains.
  if (Number.parseInt(process.versions.v8, 10) >= 13) setFlagsFromString('--memory-reducer-gc-count=0');
}
