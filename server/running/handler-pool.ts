import type { Loaded } from '../settings/configuration.ts';
import type { Settings } from '../settings/settings.ts';
import type { EngineReady } from './engine.ts';
import type { Ways } from './engine-client.ts';
import { startCounting, type ThreadMetrics } from './metrics/counting.ts';
import type { Metrics } from './metrics/metrics.ts';
import { startHttpThreads, type ThreadsOptions } from './threads/http.ts';
import type { HttpInput, HttpOrder } from './threads/http-thread.ts';
import { replyPort } from './threads/message-ports.ts';

/** The request handlers of a service. */
export type Answering = {
  /** Begins, and resolves with the port. */
  listen: (engine: EngineReady) => Promise<number>;
  /**
   * Makes all of them ready to answer by another configuration, one after the other. Nothing is changed yet.
   *
   * @throws StartError when one of them cannot; then `drop` is to be called.
   */
  prepare: (next: Loaded, ways: Ways) => Promise<void>;
  /**
   * From now on all of them do so; resolves when the writes are over that they had in hand, or took too long.
   *
   * @throws StartError at once, before anything is changed, when one of them has ended since.
   */
  begin: () => Promise<void>;
  /** Has them forget what was prepared. */
  drop: () => void;
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
  const inputOf = ({ path, sources }: Loaded): HttpInput => ({ config: path, sources, logLevel: settings.logLevel });
  const threads = startHttpThreads({ count: settings.threads, kind: 'http', input: inputOf(loaded), ...rest });
  let engine: EngineReady | null = null;
  let prepared: Loaded | null = null;

  function opening(ways: Ways) {
    const { shared } = engine as EngineReady;
    return { shared, ports: ways.connect() };
  }

  function order(kind: 'begin' | 'drop') {
    const { port, done } = replyPort();
    return { order: { message: { kind, done: port } satisfies HttpOrder, ports: [port] }, done };
  }

  return {
    listen(ready) {
      engine = ready;
      return threads.listen(settings, (address) => {
        const opened = opening(ready.ways());
        const message = { kind: 'listen', ...opened, address } satisfies HttpOrder;
        return [{ message, ports: Object.values(opened.ports) }];
      });
    },
    async prepare(next, ways) {
      prepared = next;
      await threads.inTurn(() => {
        const opened = opening(ways);
        const { port, done } = replyPort();
        const { path: config, sources } = next;
        const message = { kind: 'prepare', config, sources, ...opened, done: port } satisfies HttpOrder;
        return { order: { message, ports: [...Object.values(opened.ports), port] }, done };
      });
    },
    begin: () => threads.atOnce(() => order('begin'), inputOf(prepared as Loaded)),
    drop() {
      threads.tell(() => {
        const { order: told, done } = order('drop');
        // One that has ended has forgotten it.
        done.catch(() => {});
        return told;
      });
    },
    stop: threads.stop,
  };
}

/** The main thread: a fifth less to start, and a quarter less memory. */
export function answerHere({ settings: { host, port, keepAliveSeconds }, log, metrics }: AnsweringOptions): Answering {
  // Where threads answer, this one needs no hapi.
  const opening = import('./handler.ts').then(({ createAnswerer }) => createAnswerer(log));
  let counting: ThreadMetrics | null = null;

  return {
    async listen({ ways }) {
      const answerer = await opening;
      counting = metrics && startCounting({ port: metrics.join(), tokenHash: metrics.tokenHash, isMain: true });
      return answerer.listen(ways().openHere(counting), { host, port, isShared: false, keepAliveSeconds });
    },
    prepare: async (_next, ways) => (await opening).prepare(ways.openHere(counting)),
    begin: async () => (await opening).begin(),
    drop() {
      opening.then(({ drop }) => drop()).catch((err) => log.error({ err }, 'a configuration could not be dropped'));
    },
    async stop() {
      const answerer = await opening;
      await answerer.stop();
      counting?.close();
    },
  };
}
