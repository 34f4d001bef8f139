import type { IncomingMessage, Server as Listener, ServerResponse } from 'node:http';
import type { Server } from '@hapi/hapi';
import { type Address, createListener, guardListener, listen } from '../http/listener.ts';

/** A listener whose server can be replaced by another one without a connection being lost. */
export type SwappableListener = {
  port: number;
  /** From now on the next server answers. The former one finishes the requests it has, and ends its streams. */
  replace: (next: Server) => Former;
  /** Takes no more connections; resolves when all requests are over, or take too long. */
  stop: () => Promise<void>;
};

/** A server that gets no new requests. */
type Former = {
  /** Resolves when the writes are over that the server had, or take too long. */
  written: Promise<void>;
  /** Resolves when all requests are over. */
  over: Promise<void>;
};

const events = ['request', 'checkContinue'] as const;
const stopMilliseconds = 10_000;
/** How long writes that are under way may be recorded by the former rules; later writes wait for that time. */
const writeMilliseconds = 2000;
const reading = new Set(['GET', 'HEAD', 'OPTIONS']);

/** The path of the request that causes the replacement, and so cannot be waited for. */
export const reloadPath = '/api/operator/reload';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Listens, and passes requests on to a server that does not listen itself.
 *
 * @param isEnding whether answers are to say that their connection ends.
 */
export async function openSwappableListener(
  first: Server,
  address: Address,
  isEnding: () => boolean,
): Promise<SwappableListener> {
  const listener = createListener();
  let server = first;
  attach(listener, server);
  const { inHand, connections } = guardListener(listener, isEnding);
  await listen(listener, address);

  function replace(next: Server): Former {
    const former = server;
    const left = [...inHand];
    for (const event of events) listener.removeListener(event, answerOf(former, event));
    attach(listener, next);
    server = next;
    const writes = left.filter(({ req }) => !reading.has(req.method ?? '') && req.url !== reloadPath);
    // By then only streams and long answers are left. The streams end, so that their clients connect again; other
    // answers end their connection.
    const stopped = within(writeMilliseconds, allOver(left)).then(() => former.stop());
    return {
      written: within(writeMilliseconds, allOver(writes)),
      over: Promise.all([stopped, allOver(left)]).then(() => {}),
    };
  }

  async function stop(): Promise<void> {
    const closed = Promise.withResolvers<void>();
    await connections.end(closed.resolve);
    await server.stop();
    await within(stopMilliseconds, closed.promise);
    listener.closeAllConnections();
  }

  const bound = listener.address();
  return { port: bound !== null && typeof bound === 'object' ? bound.port : 0, replace, stop };
}

function attach(listener: Listener, server: Server): void {
  for (const event of events) listener.prependListener(event, answerOf(server, event));
}

/** Gives the function by which hapi takes requests from an event of its listener. */
function answerOf({ listener }: Server, event: (typeof events)[number]): Answer {
  const [answer] = listener.listeners(event) as Answer[];
  if (!answer) throw new Error(`the server does not answer ${event}`);
  return answer;
}

async function allOver(responses: readonly ServerResponse[]): Promise<void> {
  await Promise.all(
    responses.map((response) => (response.closed ? null : new Promise((resolve) => response.once('close', resolve)))),
  );
}

async function within(milliseconds: number, work: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work, promise]);
  clearTimeout(timer);
}
