import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { errorOf } from '../../../storage/errors.ts';
import { batchBounds, syncBounds } from '../../platform/meter.ts';
import { once } from '../../platform/once.ts';
import { addTally, type Bounds, createTally, type Tally, tallyUp } from '../../platform/tally.ts';
import { version } from '../../platform/version.ts';
import type { Reloaded } from '../../ports.ts';
import { type ReadEnd, readEnds } from '../../reads/reads.ts';
import type { Counted, MetricsPort } from './counting.ts';
import { type Definition, definitions, delayBounds, type MetricName, requestBounds } from './definitions.ts';
import { type Observed, type Reading, readSite } from './readings.ts';

/** The metrics of a process, in its main thread. */
export type Collector = {
  /** A way in for one thread; `release` when it has ended. */
  join: () => MetricsPort & { release: () => void };
  /** From now on a service is looked at; null while it does not work. @param site null where there is but one. */
  observe: (site: string | null, observed: () => Observed | null) => void;
  threadReplaced: () => void;
  reloaded: (outcome: Outcome) => void;
  text: () => Promise<string>;
  close: () => void;
};

type Outcome = Reloaded['outcome'];

type Labels = Record<string, string | number>;
type Value = { value: number; labels: Labels; metricName?: string };
type Counts = { labels: Labels; statuses: Map<number, number>; tally: Tally };

const resolutionMilliseconds = 10;
const nanoseconds = 1e9;

/**
 * Collects the metrics of a process: what its threads count is added up, so that nothing goes back when a thread is
 * replaced.
 */
export function createCollector(log: Logger, hasSites: boolean): Collector {
  const routes = new Map<string, Counts>();
  const waiting = new Map<object, Counted['waiting']>();
  const readsWaiting = new Map<object, number>();
  const reads = new Map<string, Map<ReadEnd, number>>();
  const services = new Map<string | null, () => Observed | null>();
  const delays = { main: createTally(delayBounds), http: createTally(delayBounds) };
  const ownDelay = monitorEventLoopDelay({ resolution: resolutionMilliseconds });
  ownDelay.enable();
  let restarts = 0;
  const reloads: Record<Outcome, number> = { changed: 0, unchanged: 0, restart: 0, wrong: 0 };
  // Loaded with the first look, not with the start. In a bundle a CommonJS package has a default export alone.
  const client = once(async () => (await import('prom-client')).default);
  const timer = setInterval(() => {
    const late = Math.max(ownDelay.max / nanoseconds - resolutionMilliseconds / 1000, 0);
    tallyUp(delays.main, delayBounds, late);
    ownDelay.reset();
  }, 1000).unref();

  function add(counted: Counted): void {
    for (const { site, method, route, statuses, tally } of counted.requests) {
      const key = JSON.stringify([site, method, route]);
      let counts = routes.get(key);
      if (!counts) {
        counts = {
          labels: { ...siteLabel(site), method, route },
          statuses: new Map(),
          tally: createTally(requestBounds),
        };
        routes.set(key, counts);
      }
      for (const [status, count] of statuses) counts.statuses.set(status, (counts.statuses.get(status) ?? 0) + count);
      addTally(counts.tally, tally);
    }
    for (const [site, end, count] of counted.reads) {
      const ends = reads.get(site) ?? newEnds();
      ends.set(end, (ends.get(end) ?? 0) + count);
      reads.set(site, ends);
    }
    if (counted.delay !== null) tallyUp(delays.http, delayBounds, counted.delay);
  }

  function join() {
    const thread = {};
    return {
      add: async (counted: Counted) => {
        add(counted);
        waiting.set(thread, counted.waiting);
        readsWaiting.set(thread, counted.readsWaiting);
      },
      text,
      release() {
        waiting.delete(thread);
        readsWaiting.delete(thread);
      },
    };
  }

  function siteLabel(site: string | null): Labels {
    return hasSites && site !== null ? { site } : {};
  }

  async function text(): Promise<string> {
    const values = new Map<MetricName, Value[]>();
    const put = (name: MetricName, ...added: Value[]) => {
      const known = values.get(name);
      if (known) known.push(...added);
      else values.set(name, added);
    };
    for (const { labels, statuses, tally } of routes.values()) {
      for (const [status, value] of statuses)
        put('annals_http_requests_total', { value, labels: { ...labels, status } });
      const name = 'annals_http_request_duration_seconds';
      put(name, ...bucketsOf(name, { labels, tally, bounds: requestBounds }));
    }
    for (const [site, observed] of services) {
      for (const [name, value] of valuesOf(site, observed)) put(name, value);
    }
    put('annals_long_reads_waiting', {
      value: readsWaiting.values().reduce((sum, count) => sum + count, 0),
      labels: {},
    });
    for (const [thread, tally] of Object.entries(delays)) {
      const name = 'annals_event_loop_delay_seconds';
      put(name, ...bucketsOf(name, { labels: { thread }, tally, bounds: delayBounds }));
    }
    for (const { name, value, labels = {} } of processReadings(restarts)) put(name, { value, labels });
    for (const [outcome, value] of Object.entries(reloads))
      put('annals_configuration_reloads_total', { value, labels: { outcome } });
    const { AggregatorRegistry } = await client();
    const shown = [...values].map(([name, values]) => {
      const { type, help }: Definition = definitions[name];
      return { name, help, type, values, aggregator: 'first' };
    });
    return AggregatorRegistry.aggregate([shown]).metrics();
  }

  function valuesOf(site: string | null, observed: () => Observed | null): [MetricName, Value][] {
    const labels = siteLabel(site);
    const waits = [...waiting.values()].flat().filter(([of]) => of === (site ?? ''));
    const commands = waits.reduce((sum, [, count]) => sum + count, 0);
    const ends = [...(reads.get(site ?? '') ?? newEnds())].map(([end, value]): [MetricName, Value] => {
      return ['annals_long_reads_total', { value, labels: { ...labels, end } }];
    });
    const place = observed();
    const readings = place ? looked(place, site) : [];
    const up = { name: 'annals_site_up', value: place ? 1 : 0 } as const;
    const queue = { name: 'annals_writer_waiting_commands', value: commands } as const;
    const histograms = place ? meterValues(place, labels) : [];
    const gauges = [...(hasSites ? [up] : []), queue, ...readings].map(({ name, value, labels: own }: Reading) => {
      return [name, { value, labels: { ...labels, ...own } }] satisfies [MetricName, Value];
    });
    return [...gauges, ...ends, ...histograms];
  }

  /** A site whose files cannot be read must not keep the metrics of all others away. */
  function looked(place: Observed, site: string | null): Reading[] {
    try {
      return readSite(place);
    } catch (error) {
      log.warn({ err: errorOf(error), ...(site !== null && { site }) }, 'metrics of the data directory cannot be read');
      return [];
    }
  }

  return {
    join,
    observe: (site, observed) => void services.set(site, observed),
    threadReplaced() {
      restarts += 1;
    },
    reloaded(outcome) {
      reloads[outcome] += 1;
    },
    text,
    close() {
      clearInterval(timer);
      ownDelay.disable();
    },
  };
}

/** All of them: a series that begins with its first event is not seen to grow by it. */
function newEnds(): Map<ReadEnd, number> {
  return new Map(readEnds.map((end) => [end, 0]));
}

function meterValues({ meter, standing }: Observed, labels: Labels): [MetricName, Value][] {
  const shown = [
    ['annals_writer_batch_commands', meter.batch, batchBounds],
    ['annals_writer_sync_seconds', meter.sync, syncBounds],
  ] as const;
  const ofNode = [
    ['annals_log_lock_wait_seconds', meter.lock, syncBounds],
    ['annals_log_ship_seconds', meter.ship, syncBounds],
  ] as const;
  return [...shown, ...(standing ? ofNode : [])].flatMap(([name, tally, bounds]) =>
    bucketsOf(name, { labels, tally, bounds }).map((value): [MetricName, Value] => [name, value]),
  );
}

/** The series of a histogram in the order of the exposition format: cumulative buckets, the sum, the count. */
function bucketsOf(name: MetricName, of: { labels: Labels; tally: Tally; bounds: Bounds }): Value[] {
  const { labels, tally, bounds } = of;
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, at) => {
    count += tally[at] ?? 0;
    return { value: count, labels: { ...labels, le }, metricName: `${name}_bucket` };
  });
  return [
    ...buckets,
    { value: tally[bounds.length + 1] ?? 0, labels, metricName: `${name}_sum` },
    { value: count, labels, metricName: `${name}_count` },
  ];
}

function processReadings(restarts: number): Reading[] {
  const { user, system } = process.cpuUsage();
  return [
    { name: 'annals_thread_restarts_total', value: restarts },
    { name: 'annals_process_resident_bytes', value: process.memoryUsage.rss() },
    { name: 'annals_process_cpu_seconds_total', value: (user + system) / 1e6 },
    { name: 'annals_process_start_time_seconds', value: Math.round(performance.timeOrigin) / 1000 },
    { name: 'annals_build_info', value: 1, labels: { version: version(), node: process.versions.node } },
  ];
}
