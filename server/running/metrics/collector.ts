import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Logger } from 'pino';
import { errorOf } from '../../../storage/errors.ts';
import { once } from '../../platform/once.ts';
import { tallyUp } from '../../platform/tally.ts';
import type { ReloadResult } from '../../ports.ts';
import type { MetricsPort } from './counting.ts';
import { addCounted, createCounts, forgetThread, type MetricCounts } from './counts.ts';
import { type Definition, definitions, delayBounds, type MetricName } from './definitions.ts';
import { type MetricReading, type MetricSources, readSite } from './readings.ts';
import { type Labels, type MetricValue, meterValues, processValues, readingValues, siteValues } from './values.ts';

/** The metrics of a process, in its main thread. */
export type Collector = {
  /** The functions for one thread; `release` is called when it has ended. */
  join: () => MetricsPort & { release: () => void };
  /** From now on a site is read; `observed` gives null while it does not work. @param site null for a single site. */
  observe: (site: string | null, observed: () => MetricSources | null) => void;
  threadReplaced: () => void;
  reloaded: (outcome: ReloadResult['outcome']) => void;
  text: () => Promise<string>;
  close: () => void;
};

const resolutionMilliseconds = 10;
const nanoseconds = 1e9;

/**
 * Collects the metrics of a process: the counts of its threads are added up, so that no counter goes back when a thread
 * is replaced.
 */
export function createCollector(log: Logger, hasSites: boolean): Collector {
  const counts = createCounts();
  const sites = new Map<string | null, () => MetricSources | null>();
  const endDelays = countDelays(counts);
  // Loaded for the first answer, not for the start. In a bundle a CommonJS package has a default export alone.
  const client = once(async () => (await import('prom-client')).default);
  const labelsOf = (site: string | null): Labels => (hasSites && site !== null ? { site } : {});

  function valuesOf(site: string | null, observed: MetricSources | null): [MetricName, MetricValue][] {
    const labels = labelsOf(site);
    const up: MetricReading[] = hasSites ? [{ name: 'annals_site_up', value: observed ? 1 : 0 }] : [];
    const counted = siteValues(counts, site ?? '', labels);
    if (!observed) return [...readingValues(up, labels), ...counted];
    const readings = readingValues([...up, ...readQuietly(observed, site, log)], labels);
    return [...readings, ...counted, ...meterValues(observed, labels)];
  }

  async function text(): Promise<string> {
    const all = [...sites].flatMap(([site, observed]) => valuesOf(site, observed()));
    const byName = Map.groupBy([...processValues(counts, labelsOf), ...all], ([name]) => name);
    const shown = [...byName].map(([name, named]) => {
      const { type, help }: Definition = definitions[name];
      return { name, help, type, values: named.map(([, value]) => value), aggregator: 'first' };
    });
    const { AggregatorRegistry } = await client();
    return AggregatorRegistry.aggregate([shown]).metrics();
  }

  return {
    join() {
      const thread = {};
      return {
        add: async (counted) => addCounted(counts, thread, counted),
        text,
        release: () => forgetThread(counts, thread),
      };
    },
    observe: (site, observed) => void sites.set(site, observed),
    threadReplaced() {
      counts.restarts += 1;
    },
    reloaded(outcome) {
      counts.reloads[outcome] += 1;
    },
    text,
    close: endDelays,
  };
}

/** Counts the delays of the main thread each second. @returns ends that. */
function countDelays({ delays }: MetricCounts): () => void {
  const delay = monitorEventLoopDelay({ resolution: resolutionMilliseconds });
  delay.enable();
  const timer = setInterval(() => {
    const late = Math.max(delay.max / nanoseconds - resolutionMilliseconds / 1000, 0);
    tallyUp(delays.main, delayBounds, late);
    delay.reset();
  }, 1000).unref();
  return () => {
    clearInterval(timer);
    delay.disable();
  };
}

/** Reads a site. If its files cannot be read, the metrics of all other sites are answered nevertheless. */
function readQuietly(observed: MetricSources, site: string | null, log: Logger): MetricReading[] {
  try {
    return readSite(observed);
  } catch (error) {
    log.warn({ err: errorOf(error), ...(site !== null && { site }) }, 'metrics of the data directory cannot be read');
    return [];
  }
}
