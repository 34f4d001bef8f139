import { globSync } from 'node:fs';
import { describe } from 'node:test';

const root = new URL('../../', import.meta.url);

/** The files of `test/` by the process that runs them, each the first that takes it. */
const batches: Record<string, (folder: string, name: string) => boolean> = {
  accounts: (folder) => folder === 'accounts',
  audit: (folder) => folder === 'audit',
  cli: (folder) => folder === 'cli',
  // Among the first: it waits half a minute for bodies that do not come.
  contract: (folder) => folder === 'contract',
  documents: (folder) => folder === 'documents',
  // Waits for servers most of the time.
  postgres: (folder, name) => folder === 'events' && name === 'postgres',
  log: (folder) => ['events', 'projections', 'storage', 'verify'].includes(folder),
  'rest-a-to-g': (folder) => folder < 'h',
  'rest-h-to-z': () => true,
};

/**
 * Runs the files of a batch in this process, one after the other: to load and compile the service costs more than most of them.
 * Those that end in `.alone.test.ts`, which change their process, have one of their own, and so have the long ones.
 */
export function runBatch(batch: string): void {
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  for (const file of files.sort()) {
    const [, folder = '', name = ''] = file.split('/');
    const [first] = Object.entries(batches).find(([, takes]) => takes(folder, name)) ?? [];
    if (first !== batch || /\.(alone|long)\.test\.ts$/.test(file)) continue;
    // A service that a file shares among its tests is started when its turn comes, and ended after them.
    describe(file, async () => {
      await import(new URL(file, root).href);
    });
  }
}
