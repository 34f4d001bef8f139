import { parseArgs } from 'node:util';
import { mutations } from './mutations/all.ts';
import { openBench } from './mutations/bench.ts';
import type { Mutation } from './mutations/mutation.ts';

// npm run mutations [-- --only WORDS…] [--why]: the faults whose sentence, file or test has each of these words; with
// what the tests have found. SIGINT ends it.

const { values, positionals } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [] }, why: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const words = [...values.only, ...positionals].map((word) => word.toLowerCase());
const chosen = mutations.filter(({ what, file, test }) => {
  const text = `${what} ${file} ${test.file} ${test.name}`.toLowerCase();
  return words.every((word) => text.includes(word));
});
if (chosen.length === 0) {
  process.stderr.write(`npm run mutations [-- --only WORDS…] [--why]: no fault has the words ${words.join(' ')}\n`);
  process.exit(2);
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const bench = openBench();
process.once('exit', bench.close);
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
let seconds = 0;
const problems: string[] = [];

function tell(outcome: string, took: number, what: string): void {
  seconds += took;
  say(`${outcome.padEnd(14)}${took.toFixed(1).padStart(5)}  ${what}`);
}

/** Tries the faults that one file of tests is there to find. */
async function tryAll(file: string, faults: readonly Mutation[]): Promise<void> {
  // A test that fails without a fault finds none.
  const { failed, seconds } = await bench.runSound(file, [...new Set(faults.map(({ test }) => test.name))]);
  tell(failed.length === 0 ? 'no fault' : 'FAILS', seconds, file);
  problems.push(...failed.map((name) => `it fails without a fault: ${file}, ${name}`));
  for (const fault of faults) {
    const { outcome, seconds, error } = await bench.runMutated(fault);
    tell(outcome, seconds, fault.what);
    if (values.why && error !== null) say(error.replaceAll(/^/gm, ' '.repeat(21)));
    const { test } = fault;
    if (outcome !== 'caught') problems.push(`${outcome}: ${fault.what} (${test.file}, ${test.name})`);
  }
}

say('              CPU s');
for (const [file, faults] of Map.groupBy(chosen, ({ test }) => test.file)) await tryAll(file, faults);
say(`${chosen.length} faults, ${problems.length} problems, ${seconds.toFixed(0)} s of the CPU`);
for (const problem of problems) say(problem);
process.exitCode = problems.length > 0 ? 1 : 0;
