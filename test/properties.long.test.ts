import { globSync, readFileSync } from 'node:fs';
import { describe } from 'node:test';

// The files whose properties `npm test` tries less often. It is read when they are loaded, or later.
process.env.TEST_ALL_RUNS = 'true';
const root = new URL('../', import.meta.url);
const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));

for (const file of files.sort()) {
  if (!/ from '[./]+\/helpers\/runs\.ts'/.test(readFileSync(new URL(file, root), 'utf8'))) continue;
  describe(file, async () => {
    await import(new URL(file, root).href);
  });
}
