import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { showProgress } from '../platform/progress.ts';
import type { Phase } from '../platform/state.ts';
import { loopbackOf, urlOf } from './addresses.ts';
import type { Directory } from './directory.ts';
import { type EngineReady, type ServiceAddresses, startEngine } from './engine/engine.ts';
import type { EngineOptions } from './engine/foundation.ts';
import { type HandlerPoolOptions, handleHere, handleInThreads } from './handler-pool.ts';
import { openMetrics } from './metrics/metrics.ts';
import { cannotReloadNode } from './nodes/limits.ts';
import { createReloader, type Reloader } from './reload/reload.ts';

/** A running service, seen from the main thread. */
export type Service = {
  directory: Directory;
  /** Resolves when requests are answered; rejects when the service cannot start. */
  ready: Promise<ServiceReady>;
  setState: (phase: Phase) => void;
  /** Reads the configuration again, once the service is ready. */
  reloader: Reloader;
  /** Finishes the requests in flight and closes everything. */
  stop: () => Promise<void>;
};

/** The address of a running service, and facts about its start. */
export type ServiceReady = ServiceAddresses &
  Pick<EngineReady, 'size' | 'unsigned'> & {
    /** The address by which the service can be called from here. */
    reachable: string;
    /** The address that the service listens on. */
    address: string;
  };

type Options = Omit<HandlerPoolOptions, 'log' | 'metrics' | 'onFailure'> &
  Pick<EngineOptions, 'log' | 'node' | 'isBrief' | 'takesFiles' | 'onUpgrade'>;

/**
 * Starts a service of its own process: the engine on the data directory, and the request handlers.
 *
 * @throws LockedError when another process works on the data directory.
 */
export function startService(options: Options): Service {
  const { settings, loaded, sink, log, node = null, isBrief = false, takesFiles, onUpgrade, patience } = options;
  // SQLite reads it when its first file is opened. The data directory has space, and is closed to other users.
  process.env.SQLITE_TMPDIR ??= resolve(settings.data);
  const engine = startEngine({
    settings,
    loaded,
    log,
    node,
    isBrief,
    takesFiles,
    onUpgrade,
    ...(!isBrief && { reload: (asked) => reloader.reload(asked) }),
    progress: showProgress('building the read tables'),
    onFailure: (error, message) => die(log, error, message),
  });
  const metrics = isBrief ? null : openMetrics(settings, log);
  const startHandlers = settings.threads === 0 ? handleHere : handleInThreads;
  const onFailure = (error: Error) => die(log, error, 'a thread that answers requests cannot be replaced');
  const handlers = startHandlers({
    settings,
    loaded,
    sink,
    log,
    metrics,
    onFailure,
    ...(patience !== undefined && { patience }),
  });

  async function start(): Promise<ServiceReady> {
    const started = await engine.ready;
    const { size, unsigned, announce } = started;
    metrics?.observe(null, () => started.observed);
    await metrics?.listen();
    const port = await handlers.listen(started);
    const reachable = urlOf(loopbackOf[settings.host] ?? settings.host, port);
    return { reachable, address: urlOf(settings.host, port), size, unsigned, ...announce(reachable) };
  }

  const ready = start();
  const reloading = createReloader({
    settings,
    loaded,
    directory: engine.directory.path,
    ready: ready.then(() => engine.ready),
    handlers,
    onFailure: (error, message) => die(log, error, message),
    metrics,
    log,
  });
  const reloader: Reloader = settings.log === undefined ? reloading : { ...reloading, reload: cannotReloadNode };
  return {
    directory: engine.directory,
    ready,
    setState: engine.setState,
    reloader,
    async stop() {
      // A start that is cut short fails on the parts closed now.
      ready.catch(() => {});
      engine.setState('stopping');
      await handlers.stop();
      await metrics?.close();
      await engine.stop();
      sink.flushSync();
    },
  };
}

/** Ends the process after a part has failed without which the service answers wrongly or not at all. */
export function die(log: Logger, error: Error, message: string): void {
  log.fatal({ err: error }, `${message}; the process ends`);
  process.exitCode = 1;
  setTimeout(() => process.exit(1), 100);
}
