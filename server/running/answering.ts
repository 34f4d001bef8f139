import type { Loaded } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import type { EngineReady } from './engine.ts';
import { startCounting } from './metrics/counting.ts';
import type { Metrics } from './metrics/metrics.ts';
import { startHttpThreads, type ThreadsOptions } from './threads/http.ts';
import type { HttpInput, HttpOrder } from './threads/http-thread.ts';

/** The request handlers of a service. */
export type Answering = {
  /** Begins, and resolves with the port. */
  listen: (engine: EngineReady) => Promise<number>;
  /** Finishes the requests in flight. */
  stop: () => Promise<void>;
};

/** The parts of a service that its request handlers are started with. */
export type AnsweringOptions = Pick<ThreadsOptions, 'sink' | 'log' | 'onFailure' | 'patience'> & {
  settings: Settings;
  loaded: Loaded;
  metrics: Metrics | null;
};

/** Threads of their own. They load while the writer opens the log. */
export function answerInThreads({ settings, loaded, ...rest }: AnsweringOptions): Answering {
  const threads = startHttpThreads({
    count: settings.threads,
    kind: 'http',
    input: { config: loaded.path, logLevel: settings.logLevel } satisfies HttpInput,
    ...rest,
  });
  return {
    listen: ({ shared, connect }) =>
      threads.listen(settings, (address) => {
        const ports = connect();
        const message = { kind: 'listen', shared, ports, address } satisfies HttpOrder;
        return [{ message, ports: Object.values(ports) }];
      }),
    stop: threads.stop,
  };
}

const stopMilliseconds = 10_000;

/** The main thread: a fifth less to start, and a quarter less memory. */
export function answerHere({ settings: { host, port }, metrics }: AnsweringOptions): Answering {
  // Where threads answer, this one needs no hapi.
  const http = import('./http-server.ts');
  let opening: Promise<() => Promise<void>> | null = null;

  async function listen({ openHere }: EngineReady): Promise<number> {
    const { startServer, portOf } = await http;
    const opened = Promise.withResolvers<() => Promise<void>>();
    opening = opened.promise;
    const counting = metrics && startCounting({ port: metrics.join(), tokenHash: metrics.tokenHash, isMain: true });
    const app = openHere(counting);
    try {
      const server = await startServer(app, { host, port, isShared: false });
      opened.resolve(async () => {
        await server.stop({ timeout: stopMilliseconds });
        await app.close();
        counting?.close();
      });
      return portOf(server.listener);
    } catch (error) {
      opened.resolve(app.close);
      throw error;
    }
  }

  return {
    listen,
    async stop() {
      const close = await opening;
      await close?.();
    },
  };
}
