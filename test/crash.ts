import type { TestContext } from 'node:test';
import { parseArgs } from 'node:util';
import { runCrashes } from './crash/rounds.ts';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '100' }, seed: { type: 'string', default: String(Date.now() % 1e9) } },
});
const [rounds, seed] = [Number(values.rounds), Number(values.seed)];
if (!(rounds >= 1) || !Number.isInteger(seed)) {
  process.stderr.write('npm run crash -- [--rounds N] [--seed N]\n');
  process.exit(2);
}

const undo: (() => unknown)[] = [];
const context = { after: (run: () => unknown) => undo.push(run) } as unknown as TestContext;
process.stdout.write(`${rounds} rounds, seed ${seed}\n`);
try {
  await runCrashes(context, { rounds, seed, report: (line) => process.stdout.write(`${line}\n`) });
} catch (error) {
  process.stderr.write(`seed ${seed}: ${(error as Error).stack}\n`);
  process.exitCode = 1;
} finally {
  for (const run of undo.reverse()) await run();
}
