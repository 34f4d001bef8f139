import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { apiKey, type Service } from '../../helpers/service.ts';
import { isReady } from './claims.ts';
import { path } from './schemas.ts';

/** Sends requests in turn to all nodes that `/ready` says are ready, as it has found at its last look. */
export type Balancer = {
  /** Waits while no node is ready. */
  next: () => Promise<Service>;
  nodes: Set<Service>;
  close: () => Promise<void>;
};

/** @param milliseconds between two looks. */
export function startBalancer(nodes: readonly Service[], milliseconds: number): Balancer {
  const all = new Set(nodes);
  let ready: Service[] = [];
  let turn = 0;
  let isClosed = false;
  const looking = look();

  async function look(): Promise<void> {
    while (!isClosed) {
      const asked = await Promise.all(
        [...all].map(async (node) => [node, await isReady(node).catch(() => false)] as const),
      );
      ready = asked.flatMap(([node, isReady]) => (isReady && all.has(node) ? [node] : []));
      await pause(milliseconds);
    }
  }

  return {
    nodes: all,
    async next() {
      while (ready.length === 0) await pause(5);
      turn += 1;
      return ready[turn % ready.length] as Service;
    },
    async close() {
      isClosed = true;
      await looking;
    },
  };
}

/** The answers that clients got. `written`: the titles by the ids of documents whose write was acknowledged. */
export type Seen = {
  reads: number;
  failedReads: string[];
  writes: number;
  /** When writes were refused, in milliseconds. */
  refused: number[];
  failedWrites: string[];
  written: Map<string, string>;
};

/** Clients that read and write through a balancer until they are ended. Each writes its own documents. */
export function startClients({ next }: Balancer, { readers, writers }: { readers: number; writers: number }) {
  const seen: Seen = { reads: 0, failedReads: [], writes: 0, refused: [], failedWrites: [], written: new Map() };
  let isEnding = false;
  const running = [
    ...Array.from({ length: readers }, read),
    ...Array.from({ length: writers }, (_, client) => write(client)),
  ];

  async function read(): Promise<void> {
    while (!isEnding) {
      const [id] = [...seen.written.keys()].slice(-1);
      const { status, text } = await request(await next(), 'GET', id === undefined ? path : `${path}/${id}`);
      seen.reads += 1;
      // An acknowledged document exists on every node.
      if (status !== 200) seen.failedReads.push(`${status} ${text}`);
      await pause(5);
    }
  }

  async function write(client: number): Promise<void> {
    const own: string[] = [];
    for (let count = 0; !isEnding; count += 1) {
      const title = `client ${client}, write ${count}`;
      const [id] = count % 3 === 0 ? own.slice(-1) : [];
      const target = id === undefined ? path : `${path}/${id}`;
      const body = { title, slug: `${client}-${count % 40}-${id === undefined ? count : 'changed'}` };
      const key = `${client}-${count}`;
      for (;;) {
        const { status, text } = await request(await next(), id === undefined ? 'POST' : 'PATCH', target, {
          body,
          key,
        });
        seen.writes += 1;
        if (status === 200 || status === 201) {
          const made: string = JSON.parse(text).id;
          if (id === undefined) own.push(made);
          seen.written.set(made, title);
          break;
        }
        if (status === 409 && text.includes('slug')) break;
        if (status !== 503) seen.failedWrites.push(`${status} ${text}`);
        if (status !== 503) break;
        seen.refused.push(performance.now());
        await pause(10);
      }
      await pause(5);
    }
  }

  return {
    seen,
    async end(): Promise<Seen> {
      isEnding = true;
      await Promise.all(running);
      return seen;
    },
  };
}

async function request(
  { url }: Service,
  method: string,
  target: string,
  { body, key }: { body?: object; key?: string } = {},
): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(url + target, {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    return { status: 0, text: String((error as Error).cause ?? error) };
  }
}

/** Compares the acknowledged writes with the answers of a node. */
export async function assertAllThere(node: Service, { written }: Seen): Promise<void> {
  for (const [id, title] of written) {
    const { status, body } = await node.call('GET', `${path}/${id}`);
    assert.equal(status, 200, id);
    assert.equal(body.title, title);
  }
}
