import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { runAll } from './simulation/threads.ts';

// npm run simulate -- [--runs N] [--seed N] [--threads N] [--without-sync]: runs of the seeds from that one on. With
// --without-sync, the control, the disk ignores all syncs: then it fails if nothing is found.

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '1000' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    threads: { type: 'string', default: String(availableParallelism()) },
    'without-sync': { type: 'boolean', default: false },
  },
});
const [runs, seed, threads] = [Number(values.runs), Number(values.seed), Number(values.threads)];
const isControl = values['without-sync'];
if (!(runs >= 1) || !Number.isInteger(seed) || !(threads >= 1)) {
  process.stderr.write('npm run simulate -- [--runs N] [--seed N] [--threads N] [--without-sync]\n');
  process.exit(2);
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const mostTold = 10;
let told = 0;

/** Prints a failure with the lines of its error; those of the project show the place. */
function tell(failed: number, failure: string): void {
  told += 1;
  if (told > mostTold) return;
  const lines = isControl ? failure.split('\n').slice(0, 1) : failure.split('\n').slice(0, 15);
  say(`FAILED: npm run simulate -- --runs 1 --seed ${failed}${isControl ? ' --without-sync' : ''}`);
  say(lines.map((line) => `  ${line}`).join('\n'));
}

say(`${runs} runs, seed ${seed}, ${threads} threads${isControl ? ', all syncs are ignored' : ''}`);
const began = performance.now();
const passed = () => (performance.now() - began) / 1000;
const progress = (done: number) => done % 1000 === 0 && done < runs && say(`${done} runs, ${passed().toFixed(0)} s`);
const asked = { seed, runs, threads, ignoresSync: isControl };
const { sums, failures } = await runAll(asked, { failed: tell, done: progress });
const seconds = passed();
const { starts, cuts, errors, calls, events, erased } = sums;
say(
  `${starts} starts, ${cuts} power cuts, ${errors} errors in ${calls} calls, ${events} events, ${erased} erasures done`,
);
say(
  `${failures.length} of ${runs} runs failed; ${seconds.toFixed(0)} s, ${(runs / seconds).toFixed(1)} runs in a second`,
);
process.exitCode = failures.length > 0 === isControl ? 0 : 1;
