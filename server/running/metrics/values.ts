import { batchBounds, syncBounds } from '../../platform/meter.ts';
import type { BucketBounds, Tally } from '../../platform/tally.ts';
import { version } from '../../platform/version.ts';
import { type MetricCounts, readsOf } from './counts.ts';
import { delayBounds, type MetricName, requestBounds } from './definitions.ts';
import type { MetricReading, MetricSources } from './readings.ts';

/** The labels of a value. */
export type Labels = Record<string, string | number>;

/** A value of a metric; `metricName` is the name of the series, if it is not the metric's. */
export type MetricValue = { value: number; labels: Labels; metricName?: string };

type NamedValue = [MetricName, MetricValue];

/** The values that a process has counted, of all its sites. */
export function processValues(counts: MetricCounts, labelsOf: (site: string) => Labels): NamedValue[] {
  const readsWaiting = counts.readsWaiting.values().reduce((sum, count) => sum + count, 0);
  return [
    ...[...counts.routes.values()].flatMap(({ site, method, route, statuses, tally }): NamedValue[] => {
      const labels = { ...labelsOf(site), method, route };
      return [
        ...[...statuses].map(([status, value]): NamedValue => {
          return ['annals_http_requests_total', { value, labels: { ...labels, status } }];
        }),
        ...histogram('annals_http_request_duration_seconds', { labels, tally, bounds: requestBounds }),
      ];
    }),
    ['annals_long_reads_waiting', { value: readsWaiting, labels: {} }],
    ...Object.entries(counts.delays).flatMap(([thread, tally]) =>
      histogram('annals_event_loop_delay_seconds', { labels: { thread }, tally, bounds: delayBounds }),
    ),
    ...processReadings(counts.restarts).map(({ name, value, labels = {} }): NamedValue => [name, { value, labels }]),
    ...Object.entries(counts.reloads).map(([outcome, value]): NamedValue => {
      return ['annals_configuration_reloads_total', { value, labels: { outcome } }];
    }),
  ];
}

/** The values of a site: what threads have counted of it, what was read there, and what its writer has measured. */
export function siteValues(counts: MetricCounts, site: string, labels: Labels): NamedValue[] {
  const waits = [...counts.waiting.values()].flat().filter(([of]) => of === site);
  const commands = waits.reduce((sum, [, count]) => sum + count, 0);
  return [
    ['annals_writer_waiting_commands', { value: commands, labels }],
    ...[...readsOf(counts, site)].map(([end, value]): NamedValue => {
      return ['annals_long_reads_total', { value, labels: { ...labels, end } }];
    }),
  ];
}

/** The values of readings, with the labels of their site. */
export function readingValues(readings: readonly MetricReading[], labels: Labels): NamedValue[] {
  return readings.map(({ name, value, labels: own }) => [name, { value, labels: { ...labels, ...own } }]);
}

/** The values that the writer of a site has measured. */
export function meterValues(
  { meter, standing }: Pick<MetricSources, 'meter' | 'standing'>,
  labels: Labels,
): NamedValue[] {
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
function histogram(name: MetricName, of: { labels: Labels; tally: Tally; bounds: BucketBounds }): NamedValue[] {
  const { labels, tally, bounds } = of;
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, at): NamedValue => {
    count += tally[at] ?? 0;
    return [name, { value: count, labels: { ...labels, le }, metricName: `${name}_bucket` }];
  });
  return [
    ...buckets,
    [name, { value: tally[bounds.length + 1] ?? 0, labels, metricName: `${name}_sum` }],
    [name, { value: count, labels, metricName: `${name}_count` }],
  ];
}

function processReadings(restarts: number): MetricReading[] {
  const { user, system } = process.cpuUsage();
  return [
    { name: 'annals_thread_restarts_total', value: restarts },
    { name: 'annals_process_resident_bytes', value: process.memoryUsage.rss() },
    { name: 'annals_process_cpu_seconds_total', value: (user + system) / 1e6 },
    { name: 'annals_process_start_time_seconds', value: Math.round(performance.timeOrigin) / 1000 },
    { name: 'annals_build_info', value: 1, labels: { version: version(), node: process.versions.node } },
  ];
}
