import { globSync } from 'node:fs';
import { describe } from 'node:test';

const root = new URL('../../', import.meta.url);

/** Folders of `test/` by the process that runs them; what is in no other is in `rest`. */
const batches = { http: ['http'], log: ['events', 'projections', 'storage', 'verify'], rest: [] as string[] };

/**
 * Runs the files of a batch in this process, one after the other: to load and compile the service costs more than most of them.
 * Those that end in `.alone.test.ts`, long ones and those about a process, have one of their own.
 */
export function runBatch(batch: keyof typeof batches): void {
  const named = Object.values(batches).flat();
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  for (const file of files.sort()) {
    const [, folder = ''] = file.split('/');
    const isOurs = batch === 'rest' ? !named.includes(folder) : batches[batch].includes(folder);
    if (!isOurs || file.endsWith('.alone.test.ts')) continue;
    // What a file starts for all of its tests is started when its turn comes, and ended after them.
    describe(file, async () => {
      await import(new URL(file, root).href);
    });
  }
}
