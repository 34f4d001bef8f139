import type { Server as Listener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises';

/** The connections of a listener, which are kept open between requests. */
export type Connections = {
  /**
   * Takes no more connections, and ends those that there are: each after an answer that says so, or when none of its
   * requests is in hand. Resolves when no client is left that may be sending one.
   *
   * @param onClosed called when all are over.
   */
  end: (onClosed: () => void) => Promise<void>;
  /** Called for each answer before it is begun, and when it is over. */
  begun: (response: ServerResponse) => void;
  over: (response: ServerResponse) => void;
};

/**
 * A client that was answered may be sending the next request, which would be lost with its connection. So only those
 * are ended that have rested for so long; the others get an answer by which they know.
 */
const restMilliseconds = 500;
const lookMilliseconds = 10;
/** Counted, not timed: on a busy machine much may come between two looks. */
const looks = { quiet: 5, most: 100 };

/**
 * Watches over the connections of a listener.
 *
 * @param inHand the answers that are not over yet.
 * @param isEnding whether answers are to say that their connection ends.
 */
export function openConnections(
  listener: Listener,
  inHand: ReadonlySet<ServerResponse>,
  isEnding: () => boolean,
): Connections {
  /** When each was answered last, or begun. */
  const sockets = new Map<Socket, number>();
  /** Those that came while the end was near. */
  const unread = new Set<Socket>();
  let isClosing = false;

  /** Ends those that have rested. @returns whether there are others that may. */
  function endRested(): boolean {
    const taken = new Set([...inHand].map(({ req }) => req.socket));
    const now = performance.now();
    const idle = [...sockets].filter(([socket]) => socket.writable && !taken.has(socket));
    for (const [socket, since] of idle) if (now - since >= restMilliseconds) socket.end();
    return idle.some(([socket]) => socket.writable);
  }

  /**
   * A turn of the event loop takes in one connection of those that the system holds ready, and a listener that closes
   * breaks them off. So it closes when none has come for a while, and no answer is due after which a client makes one.
   * Those that come are not read before.
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

  /** Also those whose answer takes long, and began before it could say that their connection ends. */
  async function endAll(onIdle: () => void): Promise<void> {
    while (sockets.size > 0) {
      // Bytes that are there are read before a look.
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
      // To pause one later is too late: the parser reads by itself.
      Object.assign(listener, { pauseOnConnect: true });
      if (sockets.size > 0) await takeAll();
      // Node would end at once those over which nothing is under way yet.
      listener.closeIdleConnections = () => {};
      listener.close(onClosed);
      // Other threads that listen there have come as far by then: a client that is answered would turn to those.
      if (unread.size > 0) await wait(looks.quiet * lookMilliseconds);
      for (const socket of unread) {
        sockets.set(socket, performance.now());
        socket.resume();
      }
      await new Promise<void>((resolve) => void endAll(resolve));
    },
  };
}
