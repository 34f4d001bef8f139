import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cpuSeconds, type Server } from './processes.ts';

/** A request of a load. `@@N@@` in a body becomes a number that was never used before. */
export type Call = { method: string; path: string; body?: object };

/** The result of a load. Times are in microseconds; `cpu` is the CPU time of the server per request. */
export type Load = { perSecond: number; p50: number; p99: number; errors: number; cpu: number; requests: number };

export type LoadOptions = { connections: number; seconds: number; key?: string; token?: string };

const maxSeconds = 15;
const script = fileURLToPath(new URL('./requests.lua', import.meta.url));
let loads = 0;

/** @throws Error with the way to install `wrk`, if it is not installed. */
export function requireWrk(): void {
  if (spawnSync('wrk', ['-v']).error) {
    throw new Error('wrk is not installed, and it makes the load: apt-get install wrk, or https://github.com/wg/wrk');
  }
}

/** Calls a server on this machine as fast as it answers, for at most 15 seconds. */
export async function load(server: Server, calls: readonly Call[], options: LoadOptions): Promise<Load> {
  const { connections, key, token } = options;
  if (new URL(server.url).hostname !== '127.0.0.1') throw new Error('loads run against 127.0.0.1 only');
  loads += 1;
  const file = join(server.folder, `requests-${loads}.txt`);
  writeFileSync(file, calls.map(({ method, path, body }) => line(method, path, body)).join(''));
  const seconds = Math.min(options.seconds, maxSeconds);
  const environment = {
    ...process.env,
    BENCH_REQUESTS: file,
    BENCH_UNIQUE: `${process.pid}-${loads}-`,
    BENCH_OFFSET: String(loads * 997),
    ...(key === undefined ? {} : { BENCH_KEY: key }),
    ...(token === undefined ? {} : { BENCH_TOKEN: `Bearer ${token}` }),
  };
  const before = cpuSeconds(server.pid);
  const text = await output('wrk', ['-t1', `-c${connections}`, `-d${seconds}s`, '-s', script, server.url], environment);
  const cpuUsed = cpuSeconds(server.pid) - before;
  const found = /^RESULT (.*)$/m.exec(text)?.[1];
  if (!found) throw new Error(`wrk gave no result: ${text}`);
  const { requests, microseconds, ...rest } = JSON.parse(found) as Record<string, number>;
  return {
    ...(rest as Pick<Load, 'p50' | 'p99' | 'errors'>),
    requests: requests as number,
    perSecond: ((requests as number) * 1e6) / (microseconds as number),
    cpu: (cpuUsed * 1e6) / (requests as number),
  };
}

function line(method: string, path: string, body?: object): string {
  return `${method}\t${path}\t${body === undefined ? '' : JSON.stringify(body)}\n`;
}

function output(command: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn(command, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve(text));
  });
}
