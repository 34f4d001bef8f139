import { errorOf } from '../../../storage/errors.ts';
import type { Log } from '../../platform/logging.ts';
import { showProgress } from '../../platform/progress.ts';
import type { Phase } from '../../platform/state.ts';
import { type Loaded, loadConfiguration } from '../../settings/configuration.ts';
import type { SiteSettings } from '../../settings/settings.ts';
import { type Announced, type Engine, type EngineReady, startEngine } from '../engine.ts';
import type { Observed } from '../metrics/readings.ts';
import { runSeed } from '../seed.ts';
import type { HttpThreads, Order } from '../threads/http.ts';
import { replyPort } from '../threads/message-ports.ts';
import type { SitesOrder } from '../threads/sites-thread.ts';

/** One of the sites of a process, seen from the main thread. */
export type Site = {
  settings: SiteSettings;
  /**
   * Starts all of it; resolves when its requests are answered, or when it is clear that they will not be.
   *
   * @param reachable under which address the process can be called from here.
   */
  start: (reachable: string) => Promise<void>;
  /** The orders for a thread that begins now. */
  orders: () => Order[];
  /** Facts about the site while it works; else null. */
  working: () => Working | null;
  /** Where its metrics are read; null while it does not work. */
  observed: () => Observed | null;
  /** Why it does not. */
  failure: () => Error | null;
  setState: (phase: Phase) => void;
  /** Closes everything. The request handlers are to be stopped before. */
  stop: () => Promise<void>;
};

/** A site that answers requests. */
export type Working = Announced & { engine: Engine; loaded: Loaded };

type Options = {
  settings: SiteSettings;
  /** Has `site` in each line. */
  log: Log;
  tell: HttpThreads['tell'];
  /** Called when it does not work any more, and did. */
  onFailure: () => void;
};

/** One of several sites. A failure is logged, and does not affect the others. */
export function createSite({ settings, log, tell, onFailure }: Options): Site {
  const { site } = settings;
  let engine: Engine | null = null;
  let opened: { loaded: Loaded; ready: EngineReady } | null = null;
  let working: Working | null = null;
  let failure: Error | null = null;
  let closing: Promise<void> | null = null;
  let isStopping = false;
  const stopped = Promise.withResolvers<void>();

  async function start(reachable: string): Promise<void> {
    try {
      await begin(reachable);
    } catch (error) {
      await fail(errorOf(error), 'the site cannot start');
    }
  }

  async function begin(reachable: string): Promise<void> {
    const loaded = await unlessStopped(loadConfiguration(settings.config));
    if (!loaded || isStopping) return;
    const progress = showProgress(`building the read tables of ${site}`);
    engine = startEngine({ settings, loaded, log, progress, onFailure: fail });
    const own = engine;
    const ready = await own.ready;
    opened = { loaded, ready };
    await everywhere(openOrder);
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
    await everywhere(closeOrder).catch((err) => log.error({ err }, 'a thread could not close the site'));
    if (!isStopping) await close();
  }

  /** Closes the engine once, on the first call. */
  async function close(): Promise<void> {
    closing ??= engine?.stop().catch((err) => log.error({ err }, 'the site could not be closed')) ?? null;
    await closing;
  }

  type Asked = { order: Order; done: Promise<void> };

  async function everywhere(make: () => Asked): Promise<void> {
    const all: Promise<void>[] = [];
    tell(() => {
      const { order, done } = make();
      all.push(done);
      return order;
    });
    await Promise.all(all);
  }

  function openOrder(): Asked {
    const { loaded, ready } = opened as NonNullable<typeof opened>;
    const ports = ready.ways().connect();
    const { port, done } = replyPort();
    const { path: config, sources } = loaded;
    const message = { kind: 'open', site, config, sources, shared: ready.shared, ports, done: port } as const;
    return { order: { message: message satisfies SitesOrder, ports: [...Object.values(ports), port] }, done };
  }

  function closeOrder(): Asked {
    const { port, done } = replyPort();
    return { order: { message: { kind: 'close', site, done: port } satisfies SitesOrder, ports: [port] }, done };
  }

  function orders(): Order[] {
    if (!failure && !opened) return [];
    const { order, done } = failure ? closeOrder() : openOrder();
    done.catch((error) => fail(error, 'a thread that takes the place of another cannot answer for the site'));
    return [order];
  }

  return {
    settings,
    start,
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
