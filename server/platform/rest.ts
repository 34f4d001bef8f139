import { performance } from 'node:perf_hooks';
import { giveBackFreed, isFreedNoted } from '../../storage/freed.ts';
import { collectAll } from '../../storage/garbage.ts';
import { giveBackKept } from '../../storage/kept.ts';
import { emptyCaches } from '../../storage/sqlite.ts';

const lookMilliseconds = 5000;
/** A thread that was busy for less than this share of the time between two looks is at rest. */
const restingShare = 0.02;
/** To give back what less work than this has taken would take more work than it saves. */
const workMilliseconds = 250;

/**
 * From now on this thread gives memory back whenever it comes to rest after work: what nothing uses, the page caches of its SQLite
 * files, and what was freed. It takes some 20 ms then, in which a request would wait; and again when much was freed at rest.
 */
export function giveBackAtRest(): void {
  let last = performance.eventLoopUtilization();
  // It was loaded.
  let worked = workMilliseconds;
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { active, utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    worked += active;
    if (utilization > restingShare || (worked < workMilliseconds && !isFreedNoted())) return;
    worked = 0;
    emptyCaches();
    giveBackKept();
    collectAll();
    giveBackFreed();
    // That was no work of its own.
    last = performance.eventLoopUtilization();
  }, lookMilliseconds).unref();
}
