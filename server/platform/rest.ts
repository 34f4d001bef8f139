import { type EventLoopUtilization, performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { giveBackFreed, isFreedNoted } from '../../storage/freed.ts';
import { collectAll } from '../../storage/garbage.ts';
import { giveBackKept } from '../../storage/kept.ts';
import { emptyCaches } from '../../storage/sqlite.ts';
import { every } from './ticks.ts';

const lookMilliseconds = 10_000;
/** A thread that was busy for less than this share of the time between two looks had a quiet one. */
const quietShare = 0.02;
/**
 * So many in a row are a rest, 40 to 50 s: what a load took has come back a minute after it, and a pause of 30 s costs
 * nothing.
 */
const restLooks = 4;
/** Until a thread has worked for so long, there is little compiled code to be lost, and one quiet look is a rest. */
const coldMilliseconds = 600;
/** To give back what less work than this has taken would take more work than it saves. */
const workMilliseconds = 500;

/**
 * A thread as it was at its last look: its work since memory was given back last, and in all, and the quiet looks in a
 * row.
 */
export type Rest = { worked: number; workedInAll: number; quietLooks: number };

/** That of a thread that was loaded just now. */
export const loaded: Rest = { worked: workMilliseconds, workedInAll: 0, quietLooks: 0 };

/**
 * Judges a look at a thread that looks each 10 s.
 *
 * @param sight how long it was busy since the look before, in milliseconds and as a share.
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
 * From now on this thread gives memory back whenever it has come to rest after work: what nothing uses, what it keeps
 * to be faster, and what was freed. It takes some 20 ms then, in which a request would wait. V8 throws compiled code
 * away with it, which costs a second of CPU in the next 15,000 requests: so the rest is a long one, but for the first
 * after a start.
 *
 * @param onRest called when it has.
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
      // That was no work of its own.
      last = performance.eventLoopUtilization();
    } else if (rest.quietLooks > 0 && isFreedNoted()) giveBackFreed();
  });
}

/** All that this thread keeps only to be faster is emptied here. */
function giveBack(): void {
  emptyCaches();
  giveBackKept();
  collectAll();
  giveBackFreed();
}

/**
 * From now on V8 does not do the same by itself in this process, some seconds after a load and after each 100 s,
 * whatever comes: {@link giveBackAtRest} does so. Not to be called before all threads are loaded, for kept code is of
 * no use under other flags.
 */
export function holdBackV8(): void {
  // Older ones, of Node 22, do not know the flag, and complain.
  if (Number.parseInt(process.versions.v8, 10) >= 13) setFlagsFromString('--memory-reducer-gc-count=0');
}
