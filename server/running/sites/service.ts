import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { createToldOrigins } from '../../http/refused-origins.ts';
import { createLog, type LogSink } from '../../platform/logging.ts';
import { createState, type Phase, setState } from '../../platform/state.ts';
import { type Settings, type SiteSettings, UsageError } from '../../settings/settings.ts';
import { StartError } from '../../writer/writer.ts';
import { loopbackOf, urlOf } from '../addresses.ts';
import { openMetrics } from '../metrics/metrics.ts';
import { die } from '../service.ts';
import { startHttpThreads } from '../threads/http.ts';
import type { SitesInput, SitesOrder } from '../threads/sites-thread.ts';
import { createSite, type Site } from './site.ts';

/** A process that serves several sites, seen from the main thread. */
type SitesService = {
  /** Resolves when each site answers, or is known not to; rejects when none does. */
  ready: Promise<{ address: string; sites: readonly Site[] }>;
  setState: (phase: Phase) => void;
  /** Finishes the requests in flight and closes everything. */
  stop: () => Promise<void>;
};

type Options = { settings: Settings; sites: readonly SiteSettings[]; sink: LogSink; log: Logger };

/** Starts the threads that answer requests, and then the sites, a few at a time. Each answers once it has started. */
export function startSites({ settings, sites: settingsOfSites, sink, log }: Options): SitesService {
  if (settings.threads === 0)
    throw new UsageError('--threads must be 1 at least where there are several sites, got "0"');
  // SQLite has one folder for temporary files; each data directory is private to its user.
  process.env.SQLITE_TMPDIR ??= resolve(settingsOfSites[0]?.data ?? settings.data);
  const state = createState();
  const told = createToldOrigins();
  const metrics = openMetrics(settings, log);
  const configs = new Set(settingsOfSites.flatMap(({ config }) => (config === undefined ? [] : [resolve(config)])));
  const threads = startHttpThreads({
    count: settings.threads,
    kind: 'sites',
    input: { configs: [...configs], logLevel: settings.logLevel } satisfies SitesInput,
    sink,
    log,
    metrics,
    onFailure: (error) => die(log, error, 'a thread that answers requests cannot be replaced'),
  });
  const sites = settingsOfSites.map((settings) => {
    return createSite({
      settings,
      log: createLog(settings.logLevel, sink, settings.site),
      tell: threads.tell,
      onFailure: dieWithoutSites,
    });
  });
  let starting: Promise<unknown> = Promise.resolve();
  let isStopping = false;
  let isReady = false;

  /** A supervisor then starts the process again. */
  function dieWithoutSites(): void {
    if (isReady && !sites.some((site) => site.working())) die(log, whyNone(sites), 'no site is left that works');
  }

  async function start() {
    const ids = sites.map(({ settings }) => settings.site);
    for (const site of sites) metrics?.observe(site.settings.site, site.observed);
    await metrics?.listen();
    const port = await threads.listen(settings, (address) => {
      const { isProduction } = settings;
      const message = { kind: 'listen', sites: ids, state, told, isProduction, address } satisfies SitesOrder;
      return [{ message, ports: [] }, ...sites.flatMap((site) => site.orders())];
    });
    const reachable = urlOf(loopbackOf[settings.host] ?? settings.host, port);
    starting = startAll(sites, reachable, () => isStopping);
    await starting;
    if (!sites.some((site) => site.working())) throw whyNone(sites);
    isReady = true;
    if (!isStopping) setState(state, 'ready');
    return { address: urlOf(settings.host, port), sites };
  }

  function setStates(next: Phase): void {
    setState(state, next);
    for (const site of sites) site.setState(next);
  }

  const ready = start();
  return {
    ready,
    setState: setStates,
    async stop() {
      // A start that is cut short fails on the parts closed now.
      ready.catch(() => {});
      isStopping = true;
      setStates('stopping');
      await threads.stop();
      await metrics?.close();
      await Promise.all(sites.map((site) => site.stop()));
      await starting;
      sink.flushSync();
    },
  };
}

/** Starts a few sites at a time: a start reads and checks much, so that all at once would wait for each other. */
async function startAll(sites: readonly Site[], reachable: string, isStopping: () => boolean): Promise<void> {
  const queue = sites.values();
  const work = async () => {
    for (const site of queue) if (!isStopping()) await site.start(reachable);
  };
  await Promise.all(Array.from({ length: Math.max(2, availableParallelism()) }, work));
}

function whyNone(sites: readonly Site[]): StartError {
  const reasons = sites.map((site) => `${site.settings.site}: ${site.failure()?.message ?? 'it does not work'}`);
  return new StartError(`no site works:\n${reasons.join('\n')}`);
}
