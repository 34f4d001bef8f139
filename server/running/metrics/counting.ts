import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Request, RequestRoute, Server } from '@hapi/hapi';
import { statusSent } from '../../http/errors.ts';
import { queuedMilliseconds } from '../../http/write-admission.ts';
import { createTally, type Tally, tallyUp } from '../../platform/tally.ts';
import { readsWaiting } from '../../reads/long-read-queue.ts';
import type { ReadEnd } from '../../reads/reads.ts';
import { requestBounds } from './definitions.ts';

/** The counts of a thread since it sent its last ones. `site` is empty for requests that belong to no site. */
export type ThreadCounts = {
  requests: {
    site: string;
    method: string;
    route: string;
    statuses: [status: number, count: number][];
    tally: Tally;
  }[];
  /** The number of commands that wait for the writer of each site, now. */
  waiting: [site: string, commands: number][];
  /** The number of long reads, by how they ended. */
  reads: [site: string, end: ReadEnd, count: number][];
  /** The number of long reads that wait in the queue, now. */
  readsWaiting: number;
  /** The longest delay of the event loop, in seconds; null if the main thread counts it. */
  delay: number | null;
};

/** The collector of the process, as threads call it. */
export type MetricsPort = {
  /** Resolves when the counts are added. */
  add: (counted: ThreadCounts) => Promise<void>;
  /** All metrics as Prometheus reads them. */
  text: () => Promise<string>;
};

/** The metrics of a thread that answers requests. */
export type ThreadMetrics = {
  /** Counts the requests of a server. @param site empty for requests that belong to no site. */
  count: (server: Server, site: string) => void;
  /** From now on counts the waiting commands of a site. @returns ends that. */
  watch: (site: string, waiting: () => number) => () => void;
  /** Counts a long read. */
  noteRead: (site: string, end: ReadEnd) => void;
  text: MetricsPort['text'];
  /** The hash of the token that `/metrics` requires; null if the service has no such route. */
  tokenHash: Uint8Array | null;
  close: () => void;
};

type Route = {
  site: string;
  method: string;
  route: string;
  statuses: Map<number, number>;
  tally: Tally;
  isSent: boolean;
};

const sendMilliseconds = 1000;
const resolutionMilliseconds = 10;
const nanoseconds = 1e9;

type Options = { port: MetricsPort; tokenHash: Uint8Array | null; isMain: boolean };

/** Begins to count in a thread that answers requests. The counts are sent to the collector each second. */
export function startCounting({ port, tokenHash, isMain }: Options): ThreadMetrics {
  const routes = new Map<RequestRoute, Route>();
  const waiting = new Map<() => number, string>();
  const reads = new Map<string, Map<ReadEnd, number>>();
  const delays = isMain ? null : monitorEventLoopDelay({ resolution: resolutionMilliseconds });
  delays?.enable();
  const timer = setInterval(() => send().catch(() => {}), sendMilliseconds).unref();

  function count(server: Server, site: string): void {
    server.events.on('response', (request) => note(request, site));
  }

  function note(request: Request, site: string): void {
    const { route, info, raw } = request;
    let counts = routes.get(route);
    if (!counts) {
      counts = { site, ...namesOf(route), statuses: new Map(), tally: createTally(requestBounds), isSent: true };
      routes.set(route, counts);
    }
    counts.isSent = false;
    const status = statusSent(request);
    counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + 1);
    const took = info.completed || info.responded;
    // If the client did not wait, there is no such time.
    if (took > 0) tallyUp(counts.tally, requestBounds, (took - info.received + queuedMilliseconds(raw.req)) / 1000);
  }

  function taken(): ThreadCounts {
    const requests = [...routes.values()].filter(({ isSent }) => !isSent);
    const sent = requests.map(({ site, method, route, statuses, tally }) => {
      return { site, method, route, statuses: [...statuses], tally: Float64Array.from(tally) };
    });
    for (const counts of requests) {
      counts.isSent = true;
      counts.statuses.clear();
      counts.tally.fill(0);
    }
    const delay = delays ? Math.max(delays.max / nanoseconds - resolutionMilliseconds / 1000, 0) : null;
    delays?.reset();
    const ended = [...reads].flatMap(([site, ends]) =>
      [...ends].map(([end, count]) => [site, end, count] as ThreadCounts['reads'][number]),
    );
    reads.clear();
    return {
      requests: sent,
      waiting: [...waiting].map(([read, site]) => [site, read()]),
      reads: ended,
      readsWaiting: readsWaiting(),
      delay,
    };
  }

  function send(): Promise<void> {
    return port.add(taken());
  }

  return {
    count,
    watch(site, read) {
      waiting.set(read, site);
      return () => void waiting.delete(read);
    },
    noteRead(site, end) {
      const ends = reads.get(site) ?? new Map<ReadEnd, number>();
      ends.set(end, (ends.get(end) ?? 0) + 1);
      reads.set(site, ends);
    },
    async text() {
      // The text then includes all that this thread has answered before.
      await send();
      return port.text();
    },
    tokenHash,
    close() {
      clearInterval(timer);
      delays?.disable();
    },
  };
}

/** The labels of a route. Its path is a pattern: there is no id in it. */
function namesOf({ method, path }: RequestRoute): { method: string; route: string } {
  return { method: /^[a-z]+$/.test(method) ? method.toUpperCase() : '*', route: path };
}
