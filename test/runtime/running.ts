import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { inherited } from '../helpers/service.ts';

/** A process, and its output so far. */
export type Running = {
  child: ChildProcess;
  output: () => { stdout: string; stderr: string };
  ended: Promise<unknown[]>;
};

/** Runs this Node with these arguments in a folder; it is ended after the test. */
export function run(
  t: TestContext,
  cwd: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  command = process.execPath,
): Running {
  // The variables of this test's runner are not for this process.
  const { NODE_TEST_CONTEXT: _, ...env } = { ...inherited(), ...environment };
  const child = spawn(command, args, { cwd, env });
  t.after(() => child.kill('SIGKILL'));
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text) => {
      printed[name] += text;
    });
  }
  return { child, output: () => printed, ended: once(child, 'close') };
}
