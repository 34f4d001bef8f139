import { spawn, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { ensureBundle } from '../runtime/bundle.js';

/** A server under load, with its address, its process and a folder for its files. */
export type Server = { url: string; pid: number; folder: string; stop: () => Promise<void> };

type StartOptions = {
  args: readonly string[];
  folder: string;
  environment?: Record<string, string>;
  /** The command that runs the server instead of Node itself, such as `strace …`. */
  wrapper?: readonly string[];
};

/** The API key of every server that a benchmark starts. */
export const apiKey = 'bench-key-0123456789';

type AnnalsOptions = {
  logLevel?: string;
  /** Default: the number of cores. */
  threads?: number;
  /**
   * `annals` has declared indexes, `plain` none, `accounts` also users, `uploads` files, `search` texts, `admin` the
   * content of its benchmark.
   */
  config?: 'admin' | 'annals' | 'plain' | 'accounts' | 'uploads' | 'search';
  environment?: Record<string, string>;
  wrapper?: readonly string[];
  /** Flags for Node itself. */
  flags?: readonly string[];
  /** Another checkout of this project, whose service is started. */
  checkout?: string;
};

/** Starts our service on a data directory. Its log goes to a file, as it would in production. */
export function startAnnals(data: string, folder: string, options: AnnalsOptions = {}) {
  const { logLevel = 'info', threads, config = 'annals', environment, wrapper, flags = [], checkout } = options;
  // The service runs from the bundle, as for users.
  const problem = checkout === undefined ? ensureBundle() : null;
  if (problem) process.stderr.write(`the sources are measured, and no bundle: ${problem}\n`);
  return startServer({
    args: [
      ...flags,
      pathOf('../runtime/annals.js', checkout),
      'serve',
      '--config',
      pathOf(`./${config}.config.ts`, checkout),
      '--data',
      data,
      '--port',
      '0',
      ...(threads === undefined ? [] : ['--threads', String(threads)]),
    ],
    folder,
    environment: { ANNALS_API_KEY: apiKey, ANNALS_LOG_LEVEL: logLevel, ...environment },
    ...(wrapper ? { wrapper } : {}),
  });
}

/** Starts the floor on the folder that holds its `floor.db`. */
export function startFloor(folder: string): Promise<Server> {
  return startServer({ args: [pathOf('./floor.ts'), folder], folder });
}

/** Starts a server, and resolves when it reports that it listens. */
async function startServer({ args, folder, environment = {}, wrapper = [] }: StartOptions): Promise<Server> {
  mkdirSync(folder, { recursive: true });
  const errors = openSync(join(folder, 'stderr.log'), 'a');
  const [command = '', ...rest] = [...wrapper, process.execPath, ...args];
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('ANNALS_'));
  const env = { ...Object.fromEntries(inherited), NODE_ENV: 'production', ...environment };
  const child = spawn(command, rest, { env, stdio: ['ignore', 'pipe', errors] });
  closeSync(errors);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk) => {
      text += chunk;
      const found = /^listening on (\S+)$/m.exec(text)?.[1];
      if (found) resolve(found);
    });
    child.once('error', reject);
    exited.then(() => reject(new Error(`${args[0]} ended: ${readFileSync(join(folder, 'stderr.log'), 'utf8')}`)));
  });
  const pid = wrapper.length === 0 ? (child.pid as number) : childOf(child.pid as number);
  return {
    url,
    pid,
    folder,
    stop: async () => {
      process.kill(pid, 'SIGTERM');
      await exited;
    },
  };
}

/** Runs one of our modules in a process of its own, and returns its output. */
export function runModule(
  name: string,
  args: readonly string[],
  { wrapper = [], checkout }: Pick<AnnalsOptions, 'wrapper' | 'checkout'> = {},
): string {
  const [command = '', ...rest] = [...wrapper, process.execPath, pathOf(name, checkout), ...args];
  const { status, stdout } = spawnSync(command, rest, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
  if (status !== 0) throw new Error(`${name} ${args.join(' ')} ended with ${status}`);
  return stdout;
}

/** True if a program is installed. */
export function isInstalled(command: string): boolean {
  return !spawnSync(command, ['--version']).error;
}

/**
 * The CPU time of a process with all its threads, in seconds, in steps of 10 ms (proc(5), fields 14 and 15 of `stat`).
 */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

function childOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0]);
}

/** The path of a module, given relative to this folder, in this checkout or another. */
export function pathOf(name: string, checkout?: string): string {
  return fileURLToPath(new URL(name, checkout === undefined ? import.meta.url : pathToFileURL(`${checkout}/bench/`)));
}
