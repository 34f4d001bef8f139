import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { childrenSeconds } from '../helpers/children.js';
import { type Mutation, mutated, patternOf } from './mutation.ts';
import type { Result } from './reporter.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The limit of a run: a faulty loop may have no end. */
const mostMilliseconds = 120_000;
/** How long a test waits for a result that a fault keeps from coming. */
const patienceSeconds = '15';

/** Folders that are linked and not copied, since they are only read. */
const linked = ['node_modules', 'runtime/node_modules', 'admin/dist'];
const leftOut = new Set(['.git', 'data', 'dist', 'build', ...linked]);

/** The end of a try: whether the test has found the fault. */
export type Outcome = 'caught' | 'NOT CAUGHT' | 'NO RESULT' | 'DOES NOT LOAD' | 'RAN TOO LONG';

/** A copy of the sources, and the processes that run in it. */
type Bench = { copy: string; temporary: string; running: Set<ChildProcess> };

/** Makes a copy of the sources in which faults are tried, one at a time: the checkout stays as it is. */
export function openBench() {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'annals-mutations-'));
  // Some tests run as another user.
  chmodSync(folder, 0o755);
  const bench: Bench = { copy: join(folder, 'copy'), temporary: join(folder, 'tmp'), running: new Set() };
  const { copy } = bench;
  const isCopied = (path: string) => !leftOut.has(relative(root, path).replaceAll('\\', '/'));
  cpSync(root, copy, { recursive: true, filter: isCopied });
  for (const path of linked) linkEntries(join(root, path), join(copy, path));
  mkdirSync(bench.temporary);

  /** Runs tests without a fault. @returns the names of those that do not pass. */
  async function runSound(file: string, names: readonly string[]): Promise<{ failed: string[]; seconds: number }> {
    const { results, seconds } = await runTests(bench, file, names);
    const failed = names.filter((name) => !results.some((result) => result.name === name && result.isPassed));
    return { failed, seconds };
  }

  /**
   * Runs the test of a fault with that fault. `error`: the failure that the test found, or the reason why it did not
   * run.
   */
  async function runMutated(fault: Mutation): Promise<{ outcome: Outcome; seconds: number; error: string | null }> {
    const path = join(copy, fault.file);
    const source = readFileSync(path, 'utf8');
    const text = mutated(source, fault);
    const problem = problemOf(text);
    if (problem !== null) return { outcome: 'DOES NOT LOAD', seconds: 0, error: problem };
    const { file, name } = fault.test;
    try {
      writeFileSync(path, text);
      const { results, seconds, isKilled } = await runTests(bench, file, [name]);
      const result = results.find((one) => one.name === name);
      if (!result) return { outcome: isKilled ? 'RAN TOO LONG' : 'NO RESULT', seconds, error: null };
      const error = result.error === null ? null : `${result.why}: ${result.error}`;
      return { outcome: isFinding(result) ? 'caught' : 'NOT CAUGHT', seconds, error };
    } finally {
      writeFileSync(path, source);
    }
  }

  /** Ends the running processes, and removes the copy. */
  function close(): void {
    for (const child of bench.running) kill(child);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }

  return { runSound, runMutated, close };
}

/**
 * Whether a failed test has found the fault. A failed hook has not, and neither has a faulty source that uses an
 * undefined name.
 */
function isFinding({ why, error }: Result): boolean {
  return why === 'testCodeFailure' && !/^(?:SyntaxError|ReferenceError)\b/.test(error ?? '');
}

/** Why a source cannot be loaded; null if it can. */
function problemOf(text: string): string | null {
  try {
    stripTypeScriptTypes(text);
    return null;
  } catch (error) {
    return String(error);
  }
}

/** Links the entries of a folder, except the compiled code of Node, of which the copy has its own. */
function linkEntries(from: string, to: string): void {
  if (!existsSync(from)) return;
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) if (name !== '.cache') symlinkSync(join(from, name), join(to, name));
}

/**
 * Runs tests of a file, by their names. `results` are those until the process was killed, if it was; `seconds` are CPU
 * seconds.
 */
async function runTests({ copy, temporary, running }: Bench, file: string, names: readonly string[]) {
  const { NODE_TEST_CONTEXT: _context, TEST_TIMES: _times, ...env } = process.env;
  const before = childrenSeconds();
  const args = [
    '--import',
    './test/helpers/cache.js',
    '--test',
    '--test-reporter=./test/mutations/reporter.ts',
    `--test-name-pattern=^(?:${names.map(patternOf).join('|')})$`,
    file,
  ];
  const child = spawn(process.execPath, args, {
    cwd: copy,
    env: { ...env, TMPDIR: temporary, TEST_DISK: env.TMPDIR ?? tmpdir(), TEST_PATIENCE: patienceSeconds },
    stdio: ['ignore', 'pipe', 'ignore'],
    // A process group of its own, so that the processes it has started end with it.
    detached: true,
  });
  running.add(child);
  let isKilled = false;
  const timer = setTimeout(() => {
    isKilled = true;
    kill(child);
  }, mostMilliseconds);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  await once(child, 'close');
  clearTimeout(timer);
  running.delete(child);
  const lines = text.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'));
  const results: Result[] = lines.map((line) => JSON.parse(line));
  return { results, isKilled, seconds: childrenSeconds() - before };
}

function kill({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The process has ended just now.
  }
}
