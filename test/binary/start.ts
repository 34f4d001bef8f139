import { spawn } from 'node:child_process';
import type { TestContext } from 'node:test';
import { inherited } from '../helpers/service.ts';

/**
 * A service as its user starts it: in the folder of its configuration, with nothing set.
 *
 * @param command the binary, behind the words of a program that runs it, if there is one.
 */
export async function startBinary(
  t: TestContext,
  command: string | readonly string[],
  cwd: string,
  args: readonly string[] = [],
  environment = {},
) {
  const [program = '', ...words] = [command].flat();
  const child = spawn(program, [...words, 'serve', '--port', '0', ...args], {
    cwd,
    env: { ...inherited(), ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  let printed = '';
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  child.stderr.setEncoding('utf8').on('data', (text) => {
    printed += text;
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text) => {
      printed += text;
      const found = /^listening on (\S+)$/m.exec(printed);
      if (found?.[1]) resolve(found[1]);
    });
    exited.then((code) => reject(new Error(`it ended with ${code}: ${printed}`)));
  });
  return {
    url,
    /** The key that it has made for itself. */
    key: /API key +(\S+)/.exec(printed)?.[1] ?? '',
    output: () => printed,
    stop: () => {
      child.kill('SIGTERM');
      return exited;
    },
  };
}
