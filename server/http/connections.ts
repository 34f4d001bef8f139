import type { Server as Listener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';

/** The connections of a listener, which are kept open between requests. */
export type Connections = {
  /**
   * Accepts no more connections, and ends the open ones: each after an answer that says so, or when it has no request
   * in hand. Resolves when no client is left that may be sending a request.
   *
   * @param onClosed called when all connections are closed.
   */
  end: (onClosed: () => void) => Promise<void>;
  /** To be called for each answer before it is begun. */
  begun: (response: ServerResponse) => void;
  /** To be called for each answer when it is over. */
  over: (response: ServerResponse) => void;
};

/**
 * How long a connection must rest before it is ended: a client that was just answered may be sending its next request,
 * which would be lost. Other clients get an answer that says that the connection ends.
 */
const restMilliseconds = 500;
const lookMilliseconds = 10;
/** The numbers of looks for new connections. They are counted, not timed: on a busy machine much comes between two. */
const looks = { quiet: 5, most: 100 };

/**
 * Watches the connections of a listener, so that they can be ended without losing a request.
 *
 * @param inHand the answers that are not over yet.
 * @param isEnding whether answers are to say that their connection ends.
 */
export function openConnections(
  listener: Listener,
  inHand: ReadonlySet<ServerResponse>,
  isEnding: () => boolean,
): Connections {
  /** When each connection was last answered, or opened. */
  const sockets = new Map<Socket, number>();
  /** The connections that came during the end; they are not read yet. */
  const unread = new Set<Socket>();
  let isClosing = false;

  /** Ends the connections that have rested. @returns whether there are others without a request in hand. */
  function endRested(): boolean {
    const taken = new Set([...inHand].map(({ req }) => req.socket));
    const now = performance.now();
    const idle = [...sockets].filter(([socket]) => socket.writable && !taken.has(socket));
    for (const [socket, since] of idle) if (now - since >= restMilliseconds) socket.end();
    return idle.some(([socket]) => socket.writable);
  }

  /**
   * An iteration of the event loop accepts one of the connections that the system holds ready, and a listener that
   * closes resets the others. So it closes when none has come for a while, and no answer is due after which a client
   * may open one. The connections that come meanwhile are not read before.
   */
  async function takeAll(): Promise<void> {
    for (let all = 0, quiet = 0; all < looks.most && quiet < looks.quiet; all += 1) {
      const before = unread.size;
      await wait(lookMilliseconds);
      await turn();
      const isQuiet = unread.size === before && ![...inHand].some(({ headersSent }) => !headersSent);
      quiet = isQuiet ? quiet + 1 : 0;
    }
  }

  /** Ends all connections, also those with a long answer that began before it could say that the connection ends. */
  async function endAll(onIdle: () => void): Promise<void> {
    while (sockets.size > 0) {
      // Bytes that have come are read first.
      await turn();
      if (!endRested()) onIdle();
      await wait(lookMilliseconds, undefined, { ref: false });
    }
    onIdle();
  }

  listener.on('connection', (socket: Socket) => {
    sockets.set(socket, performance.now());
    socket.once('close', () => sockets.delete(socket));
    if (isClosing) unread.add(socket);
  });

  return {
    begun(response) {
      if (isClosing || isEnding()) response.shouldKeepAlive = false;
    },
    over({ req: { socket } }) {
      if (sockets.has(socket)) sockets.set(socket, performance.now());
    },
    async end(onClosed) {
      isClosing = true;
      for (const response of inHand) response.shouldKeepAlive = false;
      // Pausing a connection later is too late: the parser reads by itself.
      Object.assign(listener, { pauseOnConnect: true });
      if (sockets.size > 0) await takeAll();
      // Node would at once end the connections that have sent nothing yet.
      listener.closeIdleConnections = () => {};
      listener.close(onClosed);
      // Other threads of this port close meanwhile: an answered client would open its next connection there.
      if (unread.size > 0) await wait(looks.quiet * lookMilliseconds);
      for (const socket of unread) {
        sockets.set(socket, performance.now());
        socket.resume();
      }
      await new Promise<void>((resolve) => void endAll(resolve));
    },
  };
}
