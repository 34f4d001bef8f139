import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext } from 'node:test';
import Database from 'better-sqlite3';
import type { Header } from '../../events/facts/envelope.ts';
import { annalsWords, withoutProgress } from './command.ts';
import { showErrorsOf } from './logged-errors.ts';
import { startWait } from './patience.ts';
import { type Answer, inherited, type Service, startService, type TestConfig } from './service.ts';

/**
 * One service for all tests of the `describe` (or file) that calls this: starting a service costs more than most tests.
 * The service is a process of its own, as users run it; a test that needs nothing of that process may use
 * `useServiceHere`.
 *
 * @param data its data directory; without it a new one.
 */
export function useService(config: TestConfig, environment: Record<string, string> = {}, data?: string): Service {
  const options = data === undefined ? { environment } : { environment, data };
  return useStarted(
    (t) => startService(t, config, options),
    async ({ child, kill }) => {
      if (child.exitCode === null) await kill();
    },
  );
}

/** Starts a service before all tests of the `describe` (or file) that calls this, and ends it after them. */
export function useStarted<S extends Pick<Service, 'call'>>(
  start: (t: TestContext) => Promise<S>,
  end: (started: S) => unknown = () => {},
): S {
  const { promise: ready, resolve, reject } = Promise.withResolvers<S>();
  ready.catch(() => {});
  let started: S | undefined;
  const context = useContext(async () => {
    if (started) await end(started);
  });
  before(async () => {
    try {
      started = await start(context);
      resolve(started);
    } catch (error) {
      reject(error);
      throw error;
    }
  });
  // Hooks at the top of a file all begin at once, so one that fills the service may come before it listens.
  const call: Service['call'] = async (...args) => (await ready).call(...args);
  return new Proxy({} as S, {
    get(_nothing, name) {
      if (name === 'call') return call;
      assert.ok(started, 'the service has not started yet');
      return Reflect.get(started, name);
    },
  });
}

/**
 * Takes the place of a test's context if something is started for all tests of a `describe` (or file).
 *
 * @param end runs before the functions given to `after`.
 */
export function useContext(end: () => unknown = () => {}): TestContext {
  const undo: (() => unknown)[] = [];
  after(async () => {
    await end();
    for (const run of undo.reverse()) await run();
  });
  return { after: (run: () => unknown) => undo.push(run) } as unknown as TestContext;
}

/**
 * A folder for a whole file of tests, removed after them; in memory if there is room (test/run.js), or below `parent`.
 */
export function useFolder(parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'annals-test-'));
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
  return folder;
}

/** An answer over a bare socket: `text` is all of it, as it came. */
export type RawAnswer = Answer & { text: string };

/** Sends bytes as they are and resolves with the first final answer; rejects if none comes in time. */
export async function sendRaw(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const text = await new Promise<string>((resolve, reject) => {
    let received = '';
    const wait = startWait();
    const timer = setInterval(() => {
      if (!wait.isOver()) return;
      clearInterval(timer);
      reject(new Error(`no whole answer came, only ${JSON.stringify(received)}: ${wait.report()}`));
    }, 1000);
    const finish = (error?: Error) => {
      clearInterval(timer);
      if (error && received === '') reject(error);
      else resolve(received.replace(interim, ''));
    };
    socket.setEncoding('utf8').on('data', (chunk) => {
      received += chunk;
      if (isWhole(received.replace(interim, ''))) finish();
    });
    socket.on('close', () => finish());
    // A server that refuses a body may close before all of it is written.
    socket.on('error', finish);
    socket.write(bytes);
  });
  socket.destroy();
  const [head = '', body = ''] = splitHead(text);
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = new Headers(lines.map((line) => [line.replace(/:.*/s, ''), line.replace(/^[^:]*:\s*/, '')]));
  const isChunked = headers.has('transfer-encoding');
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    text,
    body: body === '' || isChunked ? null : JSON.parse(body),
  };
}

/** `100 Continue` is not the final answer. */
const interim = /^HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n/;

function isWhole(text: string): boolean {
  const [head = '', body] = splitHead(text);
  if (body === undefined) return false;
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  return length === undefined ? body.endsWith('0\r\n\r\n') : Buffer.byteLength(body) >= Number(length);
}

function splitHead(text: string): string[] {
  const end = text.indexOf('\r\n\r\n');
  return end === -1 ? [text] : [text.slice(0, end), text.slice(end + 4)];
}

/** A bare connection. Its errors are not thrown: the test looks at its end. */
export function dial(url: string, bytes: string | Buffer = ''): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname).on('error', () => {});
  if (bytes.length > 0) socket.write(bytes);
  return socket;
}

/** The text that has come over a connection so far. */
export function received(socket: Socket): () => string {
  let text = '';
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  return () => text;
}

/** The headers of the events in a data directory's log, all or those of one stream, in order. */
export function recordedEvents(data: string, stream?: string): Header[] {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  try {
    const rows = db.prepare('SELECT header FROM headers ORDER BY position').pluck().all() as string[];
    const headers = rows.map((text) => JSON.parse(text) as Header);
    return stream === undefined ? headers : headers.filter((header) => header.stream === stream);
  } finally {
    db.close();
  }
}

/** The data in the payloads of a stream's events, in order. */
export function recordedData(data: string, stream: string): Record<string, unknown>[] {
  const db = new Database(join(data, 'log.db'), { readonly: true });
  try {
    const rows = db
      .prepare('SELECT body FROM events JOIN payloads USING (position) WHERE stream = ? ORDER BY version')
      .pluck()
      .all(stream) as (string | Buffer)[];
    return rows.map((body) => JSON.parse(String(body)).data);
  } finally {
    db.close();
  }
}

// biome-ignore lint/suspicious/noExplicitAny: a log line may hold anything
type LogLine = any;

/** The log lines that a service has written, parsed; a line that is not JSON fails the test. */
export function logLines(service: Pick<Service, 'output'>): LogLine[] {
  const whole = withoutProgress(service.output().stderr).split('\n').slice(0, -1);
  const lines = whole.filter((line) => line !== '');
  return lines.map((line) => JSON.parse(line));
}

type Perhaps<T> = T | undefined | false | null;

/**
 * Waits until a check returns a value, on the busiest machine too: logs are written a moment after the answer, and a
 * process takes its time to start.
 */
export async function eventually<T>(check: () => Perhaps<T> | Promise<Perhaps<T>>): Promise<T> {
  for (const wait = startWait(); ; ) {
    const found = await check();
    if (found) return found;
    if (wait.isOver()) assert.fail(`it did not come about: ${wait.report()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Asks again until an answer is right; if none is, the error shows the last one. */
export async function askUntil<T>(ask: () => Promise<T>, isRight: (answer: T) => boolean): Promise<T> {
  for (const wait = startWait(); ; ) {
    const answer = await ask();
    if (isRight(answer)) return answer;
    if (wait.isOver()) assert.fail(`the answer did not change from ${JSON.stringify(answer)}: ${wait.report()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The errors of a 400 or 409 as field → message. */
export function errorsOf({ body }: Answer): Record<string, string> {
  assert.ok(Array.isArray(body.errors), `no errors in ${JSON.stringify(body)}`);
  return Object.fromEntries(
    body.errors.map(({ field, message }: { field: string; message: string }) => [field, message]),
  );
}

/** The fields that a 400 or 409 names. */
export function fieldsOf(answer: Answer): string[] {
  return Object.keys(errorsOf(answer));
}

/** A command that goes on running; the test gives its whole environment. */
export type Launched = {
  child: ChildProcess;
  /** The address on which the command says that it listens; rejects if it ends before. */
  listening: Promise<string>;
  exited: Promise<number | null>;
  output: () => { stdout: string; stderr: string };
};

/**
 * Runs `annals` with these arguments; the process is ended after the test.
 *
 * @param main the program; without it that of the checkout, or the binary.
 */
export function launch(
  t: TestContext,
  args: readonly string[],
  environment: Record<string, string> = {},
  cwd?: string,
  main?: string,
): Launched {
  const [file, ...first] = main === undefined ? annalsWords(environment) : ([process.execPath, main] as const);
  const child = spawn(file, [...first, ...args], {
    env: { ...inherited(), ...environment },
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const printed = { stdout: '', stderr: '' };
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed.stderr += text;
  });
  const listening = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed.stdout += text;
      const found = /^listening on (\S+)$/m.exec(printed.stdout);
      if (found?.[1]) resolve(found[1]);
    });
    exited.then((code) => reject(new Error(`it ended with ${code}: ${printed.stderr}`)));
  });
  listening.catch(() => {});
  showErrorsOf(args.join(' '), printed);
  return { child, listening, exited, output: () => printed };
}

/** True for a text that has the form of a UUID v7. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(text);
}
