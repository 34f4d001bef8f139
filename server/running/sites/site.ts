import { errorOf } from '../../../storage/errors.ts';
import type { Log } from '../../platform/logging.ts';
import { showProgress } from '../../platform/progress.ts';
import type { Phase } from '../../platform/state.ts';
import { type LoadedConfiguration, loadConfiguration } from '../../settings/configuration.ts';
import type { SiteSettings } from '../../settings/settings.ts';
import { type Engine, type EngineReady, type ServiceAddresses, startEngine } from '../engine/engine.ts';
import type { MetricSources } from '../metrics/readings.ts';
import { runSeed } from '../seed.ts';
import type { HttpThreads, RepliedOrder } from '../threads/http.ts';
import { replyPort } from '../threads/message-ports.ts';
import type { SitesOrder } from '../threads/sites-thread.ts';
import type { ThreadOrder } from '../threads/thread.ts';

/** One of the sites of a process, seen from the main thread. */
export type Site = {
  settings: SiteSettings;
  /**
   * Starts the site; resolves when its requests are answered, or when it has failed.
   *
   * @param reachable the address by which the process can be called from here.
   */
  start: (reachable: string) => Promise<void>;
  /** The orders for a thread that begins now. */
  orders: () => ThreadOrder[];
  /** Facts about the site; null while it does not work. */
  working: () => Working | null;
  /** The parts that the metrics are read from; null while the site does not work. */
  observed: () => MetricSources | null;
  /** The error by which the site does not work. */
  failure: () => Error | null;
  setState: (phase: Phase) => void;
  /** Closes everything. The request handlers are to be stopped before. */
  stop: () => Promise<void>;
};

/** A site that answers requests. */
export type Working = ServiceAddresses & { engine: Engine; loaded: LoadedConfiguration };

type Options = {
  settings: SiteSettings;
  /** A log with `site` in each line. */
  log: Log;
  tell: HttpThreads['tell'];
  /** Called when the site has worked, and works no longer. */
  onFailure: () => void;
};

type OpenSite = { loaded: LoadedConfiguration; ready: EngineReady };

/** One of several sites. A failure is logged, and does not affect the others. */
export function createSite({ settings, log, tell, onFailure }: Options): Site {
  const { site } = settings;
  let engine: Engine | null = null;
  let opened: OpenSite | null = null;
  let working: Working | null = null;
  let failure: Error | null = null;
  let closing: Promise<void> | null = null;
  let isStopping = false;
  const stopped = Promise.withResolvers<void>();

  async function begin(reachable: string): Promise<void> {
    const loaded = await unlessStopped(loadConfiguration(settings.config));
    if (!loaded || isStopping) return;
    const progress = showProgress(`building the read tables of ${site}`);
    engine = startEngine({ settings, loaded, log, progress, onFailure: fail });
    const own = engine;
    const ready = await own.ready;
    opened = { loaded, ready };
    await everywhere(tell, () => openOrder(site, { loaded, ready }));
    if (failure || isStopping) return;
    const announced = ready.announce(reachable);
    await unlessStopped(runSeed({ loaded, directory: own.directory, settings, baseUrl: reachable }));
    if (failure || isStopping) return;
    own.setState('ready');
    working = { ...announced, engine: own, loaded };
  }

  /** Ends with the site: a seed that waits for ever must not keep the process from ending. */
  async function unlessStopped<T>(waiting: Promise<T>): Promise<T | undefined> {
    return (await Promise.race([waiting, stopped.promise])) ?? undefined;
  }

  /** Once: later failures follow from the first. */
  async function fail(error: Error, message: string): Promise<void> {
    if (failure || isStopping) return;
    failure = error;
    const wasWorking = working !== null;
    working = null;
    log.error({ err: error }, `${message}: it is not available until the next start`);
    if (wasWorking) onFailure();
    await everywhere(tell, () => closeOrder(site)).catch((err) =>
      log.error({ err }, 'a thread could not close the site'),
    );
    if (!isStopping) await close();
  }

  /** Closes the engine once, on the first call. */
  async function close(): Promise<void> {
    closing ??= engine?.stop().catch((err) => log.error({ err }, 'the site could not be closed')) ?? null;
    await closing;
  }

  function orders(): ThreadOrder[] {
    const replied = failure ? closeOrder(site) : opened && openOrder(site, opened);
    if (!replied) return [];
    const { order, done } = replied;
    done.catch((error) => fail(error, 'a thread that takes the place of another cannot answer for the site'));
    return [order];
  }

  return {
    settings,
    start: (reachable) => begin(reachable).catch((error) => fail(errorOf(error), 'the site cannot start')),
    orders,
    working: () => working,
    observed: () => (working && opened ? opened.ready.observed : null),
    failure: () => failure,
    setState: (phase) => engine?.setState(phase),
    async stop() {
      isStopping = true;
      stopped.resolve();
      await close();
    },
  };
}

/** Has all threads carry out an order. */
async function everywhere(tell: HttpThreads['tell'], make: () => RepliedOrder): Promise<void> {
  const all: Promise<void>[] = [];
  tell(() => {
    const { order, done } = make();
    all.push(done);
    return order;
  });
  await Promise.all(all);
}

function openOrder(site: string, { loaded, ready }: OpenSite): RepliedOrder {
  const { path: config, sources } = loaded;
  const { threadData } = ready;
  const ports = ready.client().connect();
  const { port, done } = replyPort();
  const message = { kind: 'open', site, config, sources, threadData, ports, done: port } satisfies SitesOrder;
  return { order: { message, ports: [...Object.values(ports), port] }, done };
}

function closeOrder(site: string): RepliedOrder {
  const { port, done } = replyPort();
  return { order: { message: { kind: 'close', site, done: port } satisfies SitesOrder, ports: [port] }, done };
}
