import { globSync } from 'node:fs';
import { describe } from 'node:test';
// It has a top-level await: files that were loaded while it was awaited came to stand, with all their tests, in the
// first of them.
import '../../verify/annals-verify.mjs';
import { measured } from './times.js';

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
  postgres: (_folder, name) => name === 'postgres',
  log: (folder) => ['events', 'projections', 'storage', 'verify'].includes(folder),
  'rest-a-to-g': (folder) => folder < 'h',
  'rest-h-to-z': () => true,
};

/** The same of the long files; those in a browser share it. */
const longBatches: typeof batches = {
  // Both wait for servers most of the time.
  faults: (folder, name) =>
    folder === 'faults' || name === 'postgres' || name === 'move' || name.startsWith('nodes.long'),
  nodes: (_folder, name) => name === 'nodes',
  accounts: (folder) => folder === 'accounts',
  'admin-a-to-h': (folder, name) => folder === 'admin' && name < 'i',
  'admin-i-to-z': (folder) => folder === 'admin' || folder === 'browser',
  audit: (folder) => folder === 'audit',
  binary: (folder) => folder === 'binary',
  cli: (folder) => folder === 'cli',
  // Its file is loaded by a static import: in a batch its tests came to stand beside the batch, and were waited for in
  // vain.
  fuzz: (folder) => folder === 'fuzz',
  'crash-to-http': (folder) => folder < 'i',
  package: (folder) => folder.startsWith('package') || folder === 'runtime',
  // It changes its environment.
  properties: (folder) => folder.startsWith('properties'),
  'openapi-to-writer': () => true,
};

/**
 * Runs the files of a batch in this process, one after the other: to load and compile the service costs more than most
 * of them. Those that end in `.alone.test.ts`, which change their process, have one of their own.
 *
 * @param batch one of the folder `test/batches/`, or below that, as `long/cli`.
 */
export function runBatch(batch: string): void {
  const isLong = batch.startsWith('long/');
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  for (const file of files.sort()) {
    const [, folder = '', name = ''] = file.split('/');
    const [first] = Object.entries(isLong ? longBatches : batches).find(([, takes]) => takes(folder, name)) ?? [];
    if (first !== batch.replace('long/', '') || isLong !== file.endsWith('.long.test.ts')) continue;
    if (file.endsWith('.alone.test.ts')) continue;
    // A service that a file shares among its tests is started when its turn comes, and ended after them.
    describe(
      file,
      measured(file, () => import(new URL(file, root).href)),
    );
  }
}
