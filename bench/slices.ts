import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import type { Call } from './load.ts';
import { apiKey, type Server } from './processes.ts';
import { median, quantile } from './report.ts';

/** One side of a comparison by slices. Each request is made anew. */
export type SlicedSide = { server: Server; next: () => Call };

/** The number of slices of each side, and of requests in a slice. */
export type Slicing = { cycles: number; requests: number; connections?: number };

/** The CPU time of a request in µs, for each cycle, over all threads of the server. */
export type Slices = readonly number[];

/** A ratio of two sides: the median over the cycles, and the quarters around it. */
export type Ratio = { median: number; low: number; high: number };

/**
 * Sends a fixed number of requests to each side in turn, and measures the CPU time of the server. Slices of tens of
 * milliseconds follow each other so closely that a slow machine slows all sides. So a ratio within a cycle repeats to
 * 0.03, while requests/s may differ by half.
 *
 * @throws Error if a request is answered with an error.
 */
export async function slicesOf(sides: readonly SlicedSide[], slicing: Slicing): Promise<Slices[]> {
  const { cycles, requests, connections = 32 } = slicing;
  const callers = await Promise.all(sides.map(({ server }) => openCaller(server, connections)));
  const taken: number[][] = sides.map(() => []);
  try {
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      for (const [index, { server, next }] of sides.entries()) {
        const before = cpuNanoseconds(server.pid);
        await callers[index]?.send(next, requests);
        taken[index]?.push((cpuNanoseconds(server.pid) - before) / 1000 / requests);
      }
    }
  } finally {
    for (const { close } of callers) close();
  }
  return taken;
}

/** The ratio of the CPU times of two sides for the same request, cycle by cycle. */
export function ratioOf(one: Slices, other: Slices): Ratio {
  const ratios = one.map((value, cycle) => value / (other[cycle] as number));
  return { median: median(ratios), low: quantile(ratios, 0.25), high: quantile(ratios, 0.75) };
}

/** The CPU time of all running threads of a process (proc(5), `schedstat`), without threads that have ended. */
function cpuNanoseconds(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + taskNanoseconds(pid, task), 0);
}

function taskNanoseconds(pid: number, task: string): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    // The thread ended between the two calls.
    return 0;
  }
}

type Caller = { send: (next: () => Call, requests: number) => Promise<void>; close: () => void };

/**
 * Connections that stay open, each with one request at a time: the least work for a client on the machine of the
 * measured server.
 */
async function openCaller({ url }: Server, connections: number): Promise<Caller> {
  const { hostname, port } = new URL(url);
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), hostname).setNoDelay(true);
      await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
      return socket;
    }),
  );

  async function send(next: () => Call, requests: number): Promise<void> {
    let left = requests;
    const walk = async (socket: Socket) => {
      while (left > 0) {
        left -= 1;
        await exchange(socket, requestText(next(), hostname));
      }
    };
    await Promise.all(sockets.map(walk));
  }
  return { send, close: () => sockets.forEach((socket) => void socket.destroy()) };
}

function requestText({ method, path, body }: Call, host: string): string {
  const head = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\n`;
  if (body === undefined) return `${head}\r\n`;
  const text = JSON.stringify(body);
  const kind = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}`;
  return `${head}x-api-key: ${apiKey}\r\n${kind}\r\n\r\n${text}`;
}

/** Sends a request and reads the whole answer, by its Content-Length. */
function exchange(socket: Socket, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let head = '';
    let left = -1;
    const end = (error?: Error) => {
      socket.off('data', take).off('error', end).off('close', closed);
      error ? reject(error) : resolve();
    };
    const closed = () => end(new Error('the server closed the connection'));
    const take = (chunk: Buffer) => {
      if (left < 0) {
        head += chunk.toString('latin1');
        const blank = head.indexOf('\r\n\r\n');
        if (blank < 0) return;
        if (!/^HTTP\/1\.1 20[01] /.test(head)) return end(new Error(`answered with ${head.slice(0, 300)}`));
        const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
        if (length === undefined) return end(new Error('an answer without Content-Length'));
        left = blank + 4 + Number(length) - head.length;
      } else left -= chunk.length;
      if (left <= 0) end();
    };
    socket.on('data', take).on('error', end).on('close', closed);
    socket.write(request, 'utf8');
  });
}
