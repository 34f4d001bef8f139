import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './service.ts';
import { eventually } from './shared.ts';

/** The keys that are pressed once a text is shown, or a function that is then called and returns them. */
type Answer = readonly [RegExp, string | (() => string)];

/**
 * Runs a command on a terminal of its own, types the answers when they are asked for, and says in which state the
 * command left the terminal.
 */
export async function onTerminal(t: TestContext, command: string, answers: readonly Answer[]) {
  const script = join(temporaryFolder(t), 'script.sh');
  writeFileSync(script, `${command}\necho "exit code $?"\nstty -a\n`);
  const child = spawn('script', ['-qec', `sh ${script}`, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill('SIGKILL'));
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text;
  });
  const closed = new Promise((resolve) => child.once('close', resolve));
  let from = 0;
  for (const [question, answer] of answers) {
    const asked = await eventually(() => question.exec(shown.slice(from)));
    from += asked.index + asked[0].length;
    child.stdin.write(typeof answer === 'string' ? answer : answer());
  }
  await closed;
  const settings = /^.*\blflags.*$|(?<=\s)-?(?:echo|icanon|isig)(?=[\s;])/gm;
  const end = shown.indexOf('exit code');
  return {
    shown: shown.slice(0, end).replaceAll('\r\n', '\n'),
    exit: shown.slice(end, end + 11),
    settings: shown.slice(end).match(settings)?.sort(),
  };
}

/** Whether this machine can make a terminal. */
export const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
