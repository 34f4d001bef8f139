import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PostgresAddress } from '../../storage/postgres/connection.ts';
import { annalsWords } from '../helpers/command.ts';
import { openTcpProxy, type TcpProxy } from '../helpers/proxies.ts';
import { apiKey, inherited } from '../helpers/service.ts';

/** A node as a process of its own, with a network of its own to each server of PostgreSQL. */
export type RunningNode = {
  name: string;
  url: string;
  /** The data directory of the node: `log.db` there is its replica. */
  data: string;
  network: TcpProxy[];
  /** Starts the node again after it was killed. */
  start: () => Promise<void>;
  /** Ends the node with SIGKILL. */
  kill: () => Promise<void>;
  freeze: () => void;
  thaw: () => void;
  /** Ends it with SIGTERM; its exit code. */
  stop: () => Promise<number | null>;
  /** The exit code of the node, once it has ended; undefined before. */
  ended: () => number | null | undefined;
  output: () => string;
  close: () => Promise<void>;
};

/** How a node is started: the command, and its environment. */
export type NodeKind = (given: { address: PostgresAddress; data: string; port: number; name: string }) => {
  command: readonly string[];
  environment: Record<string, string>;
};

const bareNode = fileURLToPath(new URL('bare-node.ts', import.meta.url));

/** The writer, the follower and the replica alone. */
export const bare: NodeKind = ({ address, data, port }) => ({
  command: [process.execPath, bareNode, JSON.stringify({ address, data, port })],
  environment: {},
});

/** A whole service. */
export const service: NodeKind = ({ address, data, port }) => {
  const file = `${data}.json`;
  writeFileSync(file, JSON.stringify(config));
  return {
    command: [...annalsWords({}), 'serve', '--config', file, '--data', data, '--port', String(port)],
    environment: {
      ANNALS_POSTGRES_URL: urlOf(address),
      ANNALS_SECRET: 'one-secret-that-all-nodes-have-in-common',
      ANNALS_API_KEY: apiKey,
      ANNALS_THREADS: '0',
      ANNALS_LOG_LEVEL: 'error',
    },
  };
};

/** Each kind of node, with the headers that its clients send. */
export const kinds: Record<string, { kind: NodeKind; headers: Record<string, string> }> = {
  bare: { kind: bare, headers: {} },
  service: { kind: service, headers: { 'x-api-key': apiKey } },
};

/** The documents that clients write. */
const config = {
  collections: [
    {
      slug: 'things',
      fields: [
        { name: 'marker', type: 'text' },
        { name: 'name', type: 'text', unique: true },
        { name: 'note', type: 'text' },
      ],
    },
  ],
};

/** The address of a database, as `ANNALS_POSTGRES_URL` has it. */
function urlOf({ hosts, user, password, database }: PostgresAddress): string {
  return `postgres://${user}:${password}@${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}/${database}`;
}

/** The library of Debian's package libfaketime, which gives a process another clock; null if it is missing. */
export const faketime =
  ['/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1', '/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1'].find(
    (path) => existsSync(path),
  ) ?? null;

/** @param offset as libfaketime reads it, like `+1h`. */
export function withClock(kind: NodeKind, offset: string): NodeKind {
  return (given) => {
    const { command, environment } = kind(given);
    const shifted = { LD_PRELOAD: faketime ?? '', FAKETIME: offset, FAKETIME_DONT_FAKE_MONOTONIC: '1' };
    return { command, environment: { ...environment, ...shifted } };
  };
}

/** Starts a node and resolves when it listens. @param folder holds its data directory. */
export async function startNode(
  kind: NodeKind,
  { address, folder, name }: { address: PostgresAddress; folder: string; name: string },
): Promise<RunningNode> {
  const network = await Promise.all(address.hosts.map((host) => openTcpProxy(host)));
  const hosts = network.map(({ host, port }) => ({ host, port }));
  const data = join(folder, name);
  let url = '';
  let child: ChildProcess;
  let exited: Promise<number | null>;
  let code: number | null | undefined;
  let printed = '';

  async function start(): Promise<void> {
    const port = url === '' ? 0 : Number(new URL(url).port);
    const { command, environment } = kind({ address: { ...address, hosts }, data, port, name });
    const [file = '', ...args] = command;
    child = spawn(file, args, { env: { ...inherited(), ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    code = undefined;
    const started = child;
    // Its whole output has come by then.
    exited = new Promise((resolve) => started.once('close', (status) => resolve(status)));
    void exited.then((status) => {
      code = status;
    });
    started.stderr?.setEncoding('utf8').on('data', (text) => {
      printed += text;
    });
    url = await new Promise<string>((resolve, reject) => {
      let said = '';
      started.stdout?.setEncoding('utf8').on('data', (text) => {
        said += text;
        const found = /^listening on (\S+)$/m.exec(said)?.[1];
        if (found) resolve(found);
      });
      void exited.then((status) => reject(new Error(`the node ${name} ended with ${status}: ${printed}`)));
    });
  }
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    return await exited;
  };

  await start();
  return {
    name,
    url,
    data,
    network,
    start,
    kill: async () => {
      await end('SIGKILL');
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    stop: () => end('SIGTERM'),
    ended: () => code,
    output: () => printed,
    async close() {
      if (code === undefined) await end('SIGKILL');
      await Promise.all(network.map((one) => one.close()));
    },
  };
}
