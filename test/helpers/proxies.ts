import { createServer as createHttpServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** The bytes that a fault of a network meets: those to the server, those from it, or both. */
export type Way = 'up' | 'down' | 'both';

/** A network between clients and one server, on a free port of this machine, that can be broken and mended. */
export type TcpProxy = {
  host: string;
  port: number;
  /** The address of the proxy as an HTTP URL. */
  url: string;
  /** Lets everything through again. Connections that have lost bytes end, as their peers would end them. */
  pass: () => void;
  /** Holds bytes back until `pass`, also those of new connections: a network that repeats what it lost. */
  hold: (way?: Way) => void;
  /** Discards bytes; connections stay open. */
  drop: (way?: Way) => void;
  /** Delivers each piece this much later, in order. */
  delay: (milliseconds: number) => void;
  /** Limits each connection to this rate, each way. */
  throttle: (bytesPerSecond: number) => void;
  /** Ends all connections; new ones work. */
  cut: () => void;
  /** Ends all connections, and refuses new ones until `pass`. */
  refuse: () => void;
  /** The number of connections refused so far. */
  refused: () => number;
  /** The number of bytes passed on so far. */
  bytes: () => number;
  /** The local ports of the proxy's connections to the server. */
  ports: () => number[];
  close: () => Promise<void>;
};

const faulty = (way: Way, fault: Way | null) => fault === 'both' || fault === way;

/** Opens a proxy in front of a server. At first it lets everything through. */
export async function openTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const spoiled = new Set<Socket>();
  const onwards = new Set<Socket>();
  let held: Way | null = null;
  let dropped: Way | null = null;
  let late = 0;
  let rate = Number.POSITIVE_INFINITY;
  let isRefusing = false;
  let refused = 0;
  let count = 0;
  let resume: (() => void)[] = [];

  const server = createServer({ noDelay: true }, (client) => {
    if (isRefusing) {
      refused += 1;
      client.resetAndDestroy();
      return;
    }
    const onward = connect({ ...target, noDelay: true });
    onwards.add(onward);
    onward.on('close', () => onwards.delete(onward));
    void carry(client, onward, 'up');
    void carry(onward, client, 'down');
  });
  await listen(server, 0);
  const { port } = server.address() as AddressInfo;

  async function carry(from: Socket, to: Socket, way: Way): Promise<void> {
    sockets.add(from);
    from.on('error', () => {});
    from.on('close', () => {
      sockets.delete(from);
      spoiled.delete(from);
      // The end of a connection is a message too.
      if (!faulty(way, dropped) && !faulty(way, held)) to.destroy();
      else if (!to.destroyed) spoiled.add(to);
    });
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) {
        if (late > 0) await pause(late);
        if (rate < Number.POSITIVE_INFINITY) await untilPassed((chunk.length / rate) * 1000);
        while (faulty(way, held)) await new Promise<void>((resolve) => resume.push(resolve));
        if (faulty(way, dropped)) {
          spoiled.add(from);
          continue;
        }
        count += chunk.length;
        if (!to.destroyed) to.write(chunk);
      }
      if (!faulty(way, dropped) && !to.destroyed) to.end();
    } catch {
      // The connection ended with an error: the handlers above have done the rest.
    }
  }

  /** Waits this long, or until everything goes through again. */
  function untilPassed(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      resume.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  function endAll(which: Iterable<Socket>): void {
    for (const socket of [...which]) socket.destroy();
  }

  function pass(): void {
    held = null;
    dropped = null;
    late = 0;
    rate = Number.POSITIVE_INFINITY;
    isRefusing = false;
    endAll(spoiled);
    const waiting = resume;
    resume = [];
    for (const go of waiting) go();
  }

  return {
    host: '127.0.0.1',
    port,
    url: `http://127.0.0.1:${port}`,
    pass,
    hold(way = 'both') {
      held = way;
    },
    drop(way = 'both') {
      dropped = way;
    },
    delay(milliseconds) {
      late = milliseconds;
    },
    throttle(bytesPerSecond) {
      rate = bytesPerSecond;
    },
    cut: () => endAll(sockets),
    refuse() {
      isRefusing = true;
      endAll(sockets);
    },
    refused: () => refused,
    bytes: () => count,
    ports: () => [...onwards].flatMap(({ localPort }) => localPort ?? []),
    async close() {
      pass();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      endAll(sockets);
      await closed;
    },
  };
}

/** A load balancer in front of some services, as simple as can be: each request goes to the next service. */
export type RoundRobin = {
  url: string;
  /** Sets the services that requests go to from now on. */
  setTargets: (urls: readonly string[]) => void;
  /** The number of requests that each service has answered so far, by its address. */
  counts: () => Record<string, number>;
  close: () => Promise<void>;
};

/**
 * Opens a round robin on a free port. If a service refuses the connection, the request goes to the next one; otherwise
 * nothing is tried twice, and a connection that breaks before an answer is a 502.
 */
export async function openRoundRobin(urls: readonly string[]): Promise<RoundRobin> {
  let targets = [...urls];
  let next = 0;
  const answered: Record<string, number> = {};

  const server = createHttpServer((incoming, outgoing) => {
    const first = next;
    next += 1;
    forward(incoming, outgoing, first, targets.length);
  });
  // The services decide how long an answer or a body may take.
  server.requestTimeout = 0;
  await listen(server, 0);

  function forward(incoming: IncomingMessage, outgoing: ServerResponse, at: number, left: number): void {
    const target = targets[at % targets.length];
    if (target === undefined || left === 0) {
      outgoing.writeHead(502).end();
      return;
    }
    const onward = request(new URL(incoming.url ?? '/', target), {
      method: incoming.method,
      headers: incoming.rawHeaders,
      agent: false,
    });
    let isConnected = false;
    onward.on('socket', (socket) => {
      socket.setNoDelay(true);
      socket.on('connect', () => {
        isConnected = true;
        incoming.pipe(onward);
      });
    });
    onward.on('response', (answer) => {
      answered[target] = (answered[target] ?? 0) + 1;
      outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, answer.rawHeaders);
      outgoing.flushHeaders();
      answer.pipe(outgoing);
      answer.on('error', () => outgoing.destroy());
    });
    onward.on('error', () => {
      if (!isConnected) forward(incoming, outgoing, at + 1, left - 1);
      else if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502).end();
    });
    outgoing.on('close', () => onward.destroy());
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setTargets(those) {
      targets = [...those];
    },
    counts: () => ({ ...answered }),
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}
