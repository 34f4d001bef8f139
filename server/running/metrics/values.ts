import { batchBounds, syncBounds } from '../../platform/meter.ts';
import type { Bounds, Tally } from '../../platform/tally.ts';
import { version } from '../../platform/version.ts';
import { type Counts, readsOf } from './counts.ts';
import { delayBounds, type MetricName, requestBounds } from './definitions.ts';
import type { Observed, Reading } from './readings.ts';

/** The labels of a value. */
export type Labels = Record<string, string | number>;

/** A value of a metric; `metricName` is the name of the series, if it is not the metric's. */
export type Value = { value: number; labels: Labels; metricName?: string };

type Named = [MetricName, Value];

/** The values that a process has counted, of all its sites. */
export function processValues(counts: Counts, labelsOf: (site: string) => Labels): Named[] {
  const readsWaiting = counts.readsWaiting.values().reduce((sum, count) => sum + count, 0);
  return [
    ...[...counts.routes.values()].flatMap(({ site, method, route, statuses, tally }): Named[] => {
      const labels = { ...labelsOf(site), method, route };
      return [
        ...[...statuses].map(([status, value]): Named => {
          return ['annals_http_requests_total', { value, labels: { ...labels, status } }];
        }),
        ...histogram('annals_http_request_duration_seconds', { labels, tally, bounds: requestBounds }),
      ];
    }),
    ['annals_long_reads_waiting', { value: readsWaiting, labels: {} }],
    ...Object.entries(counts.delays).flatMap(([thread, tally]) =>
      histogram('annals_event_loop_delay_seconds', { labels: { thread }, tally, bounds: delayBounds }),
    ),
    ...processReadings(counts.restarts).map(({ name, value, labels = {} }): Named => [name, { value, labels }]),
    ...Object.entries(counts.reloads).map(([outcome, value]): Named => {
      return ['annals_configuration_reloads_total', { value, labels: { outcome } }];
    }),
  ];
}

/** The values of a site: what threads have counted of it, what was read there, and what its writer has measured. */
export function siteValues(counts: Counts, site: string, labels: Labels): Named[] {
  const waits = [...counts.waiting.values()].flat().filter(([of]) => of === site);
  const commands = waits.reduce((sum, [, count]) => sum + count, 0);
  return [
    ['annals_writer_waiting_commands', { value: commands, labels }],
    ...[...readsOf(counts, site)].map(([end, value]): Named => {
      return ['annals_long_reads_total', { value, labels: { ...labels, end } }];
    }),
  ];
}

/** The values of readings, with the labels of their site. */
export function readingValues(readings: readonly Reading[], labels: Labels): Named[] {
  return readings.map(({ name, value, labels: own }) => [name, { value, labels: { ...labels, ...own } }]);
}

/** The values that the writer of a site has measured. */
export function meterValues({ meter, standing }: Pick<Observed, 'meter' | 'standing'>, labels: Labels): Named[] {
  const shown = [
    ['annals_writer_batch_commands', meter.batch, batchBounds],
    ['annals_writer_sync_seconds', meter.sync, syncBounds],
  ] as const;
  const ofNode = [
    ['annals_log_lock_wait_seconds', meter.lock, syncBounds],
    ['annals_log_ship_seconds', meter.ship, syncBounds],
  ] as const;
  return [...shown, ...(standing ? ofNode : [])].flatMap(([name, tally, bounds]) =>
    histogram(name, { labels, tally, bounds }),
  );
}

/** The series of a histogram in the order of the exposition format: cumulative buckets, the sum, the count. */
function histogram(name: MetricName, of: { labels: Labels; tally: Tally; bounds: Bounds }): Named[] {
  const { labels, tally, bounds } = of;
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, at): Named => {
    count += tally[at] ?? 0;
    return [name, { value: count, labels: { ...labels, le }, metricName: `${name}_bucket` }];
  });
  return [
    ...buckets,
    [name, { value: tally[bounds.length + 1] ?? 0, labels, metricName: `${name}_sum` }],
    [name, { value: count, labels, metricName: `${name}_count` }],
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
