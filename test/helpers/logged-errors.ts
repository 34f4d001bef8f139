import { writeSync } from 'node:fs';

type Printed = { stderr: string };

const started: { name: string; printed: Printed }[] = [];
const shownOfEach = 20;

/**
 * Shows the errors that services have logged, at the end of the process, if a test of this file has failed: an answer
 * of 500 or 503 does not say why.
 *
 * @param printed its `stderr` grows as the service writes.
 */
export function showErrorsOf(name: string, printed: Printed): void {
  if (started.length === 0) process.once('exit', show);
  started.push({ name, printed });
}

function show(): void {
  if (!process.exitCode) return;
  for (const { name, printed } of started) {
    const errors = printed.stderr.split('\n').filter((line) => /^\{"level":[56]0/.test(line));
    if (errors.length > 0) writeSync(2, `logged by annals ${name}:\n${errors.slice(0, shownOfEach).join('\n')}\n`);
  }
}
