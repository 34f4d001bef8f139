import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { annalsWords, withoutProgress } from './command.ts';
import { assertCoded } from './error-codes.ts';
import { showErrorsOf } from './logged-errors.ts';
import { assertRefusalRecordsNothing } from './recorded.ts';

/** The API key that every test service is started with. */
export const apiKey = 'test-key-0123456789';

/** A configuration: the source of a module (`export default { … }`), or an object without functions. */
export type TestConfig = string | object;

/** The answer of a call: the status, the headers, and the body parsed as JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
export type Answer = { status: number; headers: Headers; body: any };

/** A service running as a process of its own, reached over real HTTP. */
export type Service = {
  url: string;
  data: string;
  /** Everything that the service has printed so far. */
  output: () => { stdout: string; stderr: string };
  /** Calls the service with the API key; `key: null` calls anonymously. A body is sent as JSON, a text as it is. */
  call: (method: string, path: string, body?: unknown, options?: CallOptions) => Promise<Answer>;
  /** Ends the service with SIGTERM and resolves with the exit code. */
  stop: () => Promise<number | null>;
  /** Ends the service with SIGKILL. */
  kill: () => Promise<void>;
  child: ChildProcess;
};

export type CallOptions = { key?: string | null; headers?: Record<string, string> };

/** A folder for one test, removed after it. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'annals-test-'));
  t.after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return folder;
}

/** Writes a configuration to a file and gives its path. */
export function writeConfig(folder: string, config: TestConfig): string {
  const isSource = typeof config === 'string';
  const file = join(folder, `config-${process.hrtime.bigint()}.${isSource ? 'ts' : 'json'}`);
  writeFileSync(file, isSource ? config : JSON.stringify(config));
  return file;
}

/**
 * Starts a service on a free port and resolves when it listens; it is ended after the test. Without ANNALS_THREADS the
 * service has one thread that answers, on every machine.
 *
 * @param options.port the port of a service that ran before.
 * @param options.openFiles how many files and connections the service may have open.
 */
export async function startService(
  t: TestContext,
  config: TestConfig,
  options: { data?: string; port?: number; environment?: Record<string, string>; openFiles?: number } = {},
): Promise<Service> {
  // This runs whole suites over two nodes.
  if (process.env.TEST_NODES !== undefined && options.environment?.ANNALS_POSTGRES_URL === undefined)
    return (await import('./nodes.ts')).startNodes(t, config, options);
  const folder = temporaryFolder(t);
  const data = options.data ?? join(folder, 'data');
  const args = ['serve', '--config', writeConfig(folder, config), '--data', data, '--port', String(options.port ?? 0)];
  const child = runAnnals(
    args,
    { ANNALS_API_KEY: apiKey, ANNALS_THREADS: '1', ...options.environment },
    options.openFiles,
  );
  const printed = { stdout: '', stderr: '' };
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    printed.stderr += text;
  });
  showErrorsOf(args.join(' '), printed);
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  t.after(() => child.kill('SIGKILL'));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      printed.stdout += text;
      const found = /^listening on (\S+)$/m.exec(printed.stdout);
      if (found?.[1]) resolve(found[1]);
    });
    exited.then((code) => reject(new Error(`the service ended with ${code}: ${printed.stderr}`)));
  });

  return {
    url,
    data,
    child,
    output: () => printed,
    call: callerOf(url, data),
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/**
 * Calls the service at an address.
 *
 * @param data its data directory: if given, a write that is refused or repeated must record nothing.
 */
export function callerOf(url: string, data?: string): Service['call'] {
  return async (method, path, body, { key = apiKey, headers } = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: {
        ...(key === null ? {} : { 'x-api-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status, headers: received } = response;
    const answer = { status, headers: received, body: text === '' ? null : JSON.parse(text) };
    assertCoded(`${method} ${path}`, answer);
    if (data !== undefined) assertRefusalRecordsNothing(data, `${method} ${path}`, answer);
    return answer;
  };
}

function runAnnals(args: readonly string[], environment: Record<string, string>, openFiles?: number): ChildProcess {
  const command = [...annalsWords(environment), ...args];
  // The service replaces the shell, so it has the limit, and is the child that gets the signals.
  const limited = ['sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh', ...command];
  const [file = '', ...rest] = openFiles === undefined ? command : limited;
  return spawn(file, rest, {
    env: cleanEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Runs a command to its end; `input` is its standard input. */
export async function runCommand(
  args: readonly string[],
  options: { environment?: Record<string, string>; cwd?: string; input?: string | Buffer } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const [file, ...first] = annalsWords(options.environment);
  const child = spawn(file, [...first, ...args], {
    env: cleanEnvironment(options.environment ?? {}),
    cwd: options.cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A command that reads nothing may have ended before its input is written.
  child.stdin.on('error', () => {});
  child.stdin.end(options.input);
  const result = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    result.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    result.stderr += text;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', (status) => resolve(status)));
  return { code, stdout: result.stdout, stderr: withoutProgress(result.stderr) };
}

/**
 * The caller's environment without settings of a service that may run beside the tests. The main thread answers
 * requests unless the test asks for threads: a thread makes a start a quarter more expensive. Only tests that ask for
 * threads cover calls between threads (writes, accounts, files, erasure, proofs, drafts).
 */
function cleanEnvironment(extra: Record<string, string>): NodeJS.ProcessEnv {
  // Several sites are always answered by threads of their own.
  const threads = 'ANNALS_SITES' in extra ? '1' : '0';
  return { ...inherited(), ANNALS_THREADS: threads, ...extra };
}

/**
 * The environment without the variables of this service and of these tests. Each process finds the cache of compiled
 * code without a variable.
 */
export function inherited(): NodeJS.ProcessEnv {
  const isOurs = (name: string) => name.startsWith('ANNALS_') || name === 'NODE_COMPILE_CACHE';
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOurs(name)));
}
