import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

// node test/retry.js REPORT [OPTION]…: runs the failed tests of a report once more, if all of them are in
// unsteady.json, with the options of node --test. TEST_UNSTEADY names another list. Two busy loops run beside them: a
// test that fails on a busy machine must pass on one. The exit code is 0 if they pass.
const [, , report = '', ...options] = process.argv;
const list = process.env.TEST_UNSTEADY ?? new URL('./unsteady.json', import.meta.url);
const known = JSON.parse(readFileSync(list, 'utf8'));
const failed = failedIn(readFileSync(report, 'utf8'));
const isKnown = ({ file, test }) => known.some((entry) => entry.file === file && entry.test === test);
const unknown = failed.filter((one) => !isKnown(one));

if (failed.length === 0) end(1, 'no failed test has a place in the report');
else if (unknown.length > 0) end(1, `failed, and not in test/unsteady.json:\n${namesOf(unknown)}`);
else {
  const loops = [1, 2].map(() => spawn(process.execPath, ['-e', 'for (;;);']));
  const pattern = `^(?:${failed.map(({ test }) => escaped(test)).join('|')})$`;
  const files = [...new Set(failed.map(({ file }) => file))];
  const args = ['test/run.js', ...options, '--test-name-pattern', pattern, ...files];
  const { status, stdout } = spawnSync(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  for (const loop of loops) loop.kill('SIGKILL');
  process.stdout.write(stdout);
  // A pattern that no test matches runs none, and passes.
  const hasPassed = failed.every(({ test }) => stdout.includes(`✔ ${test} (`));
  end(hasPassed ? (status ?? 1) : 1, `retried ${failed.length}:\n${namesOf(failed)}`);
}

/**
 * The failed tests as the reporter `spec` of node:test lists them at the end: the place, then the name with its time.
 */
function failedIn(text) {
  const listed = text.matchAll(/^test at (test\/[^:\n]+):\d+:\d+\n✖ (.*?)(?: \([\d.]+ms\))?$/gm);
  return [...listed].map(([, file, test]) => ({ file, test }));
}

function namesOf(tests) {
  return tests.map(({ file, test }) => `  ${file}: ${test}`).join('\n');
}

function escaped(text) {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function end(status, message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = status;
}
