import { addTally, createTally, type Tally, tallyUp } from '../../platform/tally.ts';
import type { ReloadResult } from '../../ports.ts';
import { type ReadEnd, readEnds } from '../../reads/reads.ts';
import type { ThreadCounts } from './counting.ts';
import { delayBounds, requestBounds } from './definitions.ts';

type RouteCounts = {
  site: string;
  method: string;
  route: string;
  statuses: Map<number, number>;
  tally: Tally;
};

/** The counts of all threads of a process since its start; what a thread has counted outlives the thread. */
export type MetricCounts = {
  routes: Map<string, RouteCounts>;
  /** Long reads that have ended, by site. */
  reads: Map<string, Map<ReadEnd, number>>;
  /** Commands that wait now, by thread. */
  waiting: Map<object, ThreadCounts['waiting']>;
  /** Long reads that wait now, by thread. */
  readsWaiting: Map<object, number>;
  /** Delays of the event loop. */
  delays: { main: Tally; http: Tally };
  restarts: number;
  reloads: Record<ReloadResult['outcome'], number>;
};

/** Creates the counts of a process that starts. */
export function createCounts(): MetricCounts {
  return {
    routes: new Map(),
    reads: new Map(),
    waiting: new Map(),
    readsWaiting: new Map(),
    delays: { main: createTally(delayBounds), http: createTally(delayBounds) },
    restarts: 0,
    reloads: { changed: 0, unchanged: 0, restart: 0, wrong: 0 },
  };
}

/** Adds the counts of a thread since it sent the last ones. */
export function addCounted(counts: MetricCounts, thread: object, counted: ThreadCounts): void {
  for (const { site, method, route, statuses, tally } of counted.requests) {
    const key = JSON.stringify([site, method, route]);
    let known = counts.routes.get(key);
    if (!known) {
      known = { site, method, route, statuses: new Map(), tally: createTally(requestBounds) };
      counts.routes.set(key, known);
    }
    for (const [status, count] of statuses) known.statuses.set(status, (known.statuses.get(status) ?? 0) + count);
    addTally(known.tally, tally);
  }
  for (const [site, end, count] of counted.reads) {
    const ends = counts.reads.get(site) ?? newEnds();
    ends.set(end, (ends.get(end) ?? 0) + count);
    counts.reads.set(site, ends);
  }
  if (counted.delay !== null) tallyUp(counts.delays.http, delayBounds, counted.delay);
  counts.waiting.set(thread, counted.waiting);
  counts.readsWaiting.set(thread, counted.readsWaiting);
}

/** Forgets what waits in a thread that has ended. */
export function forgetThread({ waiting, readsWaiting }: MetricCounts, thread: object): void {
  waiting.delete(thread);
  readsWaiting.delete(thread);
}

/** The long reads of a site by each end, also with zeros: a series that begins with 1 is not seen to grow. */
export function readsOf({ reads }: MetricCounts, site: string): Map<ReadEnd, number> {
  return reads.get(site) ?? newEnds();
}

function newEnds(): Map<ReadEnd, number> {
  return new Map(readEnds.map((end) => [end, 0]));
}
