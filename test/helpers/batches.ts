import { globSync } from 'node:fs';
import { describe } from 'node:test';
// This module has a top-level await: files that were loaded during the await were reported, with all their tests, under
// the first of them.
import '../../verify/annals-verify.mjs';
import { measured } from './times.js';

const root = new URL('../../', import.meta.url);

/** The batches, each with the files of `test/` that it takes; a file belongs to the first batch that takes it. */
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

/** The batches of the long files; those in a browser share it. */
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
  // A static import loads its file: in a batch, its tests were reported beside the batch, and the runner waited for
  // them in vain.
  fuzz: (folder) => folder === 'fuzz',
  'crash-to-http': (folder) => folder < 'i',
  package: (folder) => folder.startsWith('package') || folder === 'runtime',
  // Its tests change the environment of their process.
  properties: (folder) => folder.startsWith('properties'),
  'openapi-to-writer': () => true,
};

/**
 * Runs the files of a batch in this process, one after the other: to load and compile the service costs more than most
 * of them. Files that end in `.alone.test.ts` change their process, so each has a process of its own.
 *
 * @param batch the name of a file in `test/batches/`, or below that, as `long/cli`.
 */
export function runBatch(batch: string): void {
  const isLong = batch.startsWith('long/');
  const files = globSync('test/**/*.test.ts', { cwd: root }).map((file) => file.replaceAll('\\', '/'));
  for (const file of files.sort()) {
    const [, folder = '', name = ''] = file.split('/');
    const [first] = Object.entries(isLong ? longBatches : batches).find(([, takes]) => takes(folder, name)) ?? [];
    if (first !== batch.replace('long/', '') || isLong !== file.endsWith('.long.test.ts')) continue;
    if (file.endsWith('.alone.test.ts')) continue;
    // A service that a file shares among its tests starts before the first test of the file, and ends after the last.
    describe(
      file,
      measured(file, () => import(new URL(file, root).href)),
    );
  }
}
