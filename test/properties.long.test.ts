import { globSync, readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { wholeOnly } from './helpers/rounds.ts';

// The files whose properties `npm test` tries less often. It is read when they are loaded, or later.
process.env.TEST_ALL_RUNS = 'true';
const root = new URL('../', import.meta.url);
const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));

if (wholeOnly.skip) it('properties are tried with all runs', wholeOnly, () => {});

for (const file of wholeOnly.skip ? [] : files.sort()) {
  if (!/ from '[./]+\/helpers\/runs\.ts'/.test(readFileSync(new URL(file, root), 'utf8'))) continue;
  describe(file, async () => {
    await import(new URL(file, root).href);
  });
}
