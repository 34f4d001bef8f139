import type { Server } from '@hapi/hapi';
import type { Logger } from 'pino';
import { createBacklog } from '../http/backlog.ts';
import type { Address } from '../http/listener.ts';
import { endsSoon } from '../platform/state.ts';
import type { OpenApp } from './app/open-app.ts';
import { openServer } from './http-server.ts';
import { openSwappableListener, type SwappableListener } from './listener-swap.ts';

/**
 * Answers the requests of one thread, by one configuration and after it by another. It closes the apps that it gets.
 */
export type Handler = {
  /** Resolves with the port when requests are answered. */
  listen: (app: OpenApp, address: Address) => Promise<number>;
  /** Opens the next app; the former one still answers. */
  prepare: (app: OpenApp) => Promise<void>;
  /** From now on the next app answers; resolves when the writes are over that the former one had, or take too long. */
  begin: () => Promise<void>;
  /** Closes the app that was prepared, if there is one. */
  drop: () => Promise<void>;
  /** Finishes the requests, and closes everything. */
  stop: () => Promise<void>;
};

type OpenHandler = { app: OpenApp; server: Server };

/** Creates the handler of a thread. */
export function createHandler(log: Logger): Handler {
  const backlog = createBacklog(log);
  const closing = new Set<Promise<void>>();
  let listener: SwappableListener | null = null;
  let current: OpenHandler | null = null;
  let next: OpenHandler | null = null;

  async function open(app: OpenApp): Promise<OpenHandler> {
    try {
      return { app, server: await openServer(app, backlog) };
    } catch (error) {
      await app.close();
      throw error;
    }
  }

  function close({ app }: OpenHandler, over: Promise<void>): void {
    const closed = over
      .then(() => app.close())
      .catch((err) => log.error({ err }, 'the service by the former configuration could not be closed'))
      .finally(() => closing.delete(closed));
    closing.add(closed);
  }

  async function drop(): Promise<void> {
    const dropped = next;
    next = null;
    await dropped?.server.stop();
    await dropped?.app.close();
  }

  return {
    async listen(app, address) {
      const opened = await open(app);
      current = opened;
      listener = await openSwappableListener(opened.server, address, () => endsSoon(app.state()));
      return listener.port;
    },
    async prepare(app) {
      await drop();
      next = await open(app);
    },
    async begin() {
      const former = current;
      if (!listener || !former || !next) throw new Error('no other configuration was prepared in this thread');
      const { written, over } = listener.replace(next.server);
      current = next;
      next = null;
      close(former, over);
      await written;
    },
    drop,
    async stop() {
      await listener?.stop();
      await drop();
      await current?.app.close();
      await Promise.all(closing);
    },
  };
}
