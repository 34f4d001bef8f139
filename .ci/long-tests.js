import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';

// node .ci/long-tests.js [BASE]: prints the long tests for a change, one per line: some that always run, and those of
// the files that changed since the commit BASE, or since origin/main.

/**
 * Tests that always run: a kill, a walk through the admin application, a binary, two nodes, a takeover, a signal under
 * load, hostile callers.
 */
const always = [
  'test/crash/crash.long.test.ts',
  'test/admin/flows.long.test.ts',
  'test/binary/binary.long.test.ts',
  'test/running/nodes/nodes.long.test.ts',
  'test/running/nodes/takeover.long.test.ts',
  'test/cli/serve-end.long.test.ts',
  'test/http/hostile.long.test.ts',
];

/** For changed files, the folders of test/ whose long tests run, beside the folder that mirrors the file. */
const crossing = [
  [/^events\//, ['crash', 'simulation', 'verify', 'running/nodes', 'writer']],
  [/^projections\//, ['crash', 'simulation', 'events', 'running/nodes']],
  [/^storage\//, ['crash', 'simulation', 'faults', 'files', 'documents/media', 'writer']],
  [/^server\/(documents|access|callers|queries)\//, ['access', 'http']],
  [/^server\/writer\//, ['crash', 'cli/move']],
  [/^cli\/moves\//, ['cli/move']],
  [/^admin\//, ['admin', 'browser']],
  [/^client\//, ['admin', 'example']],
  [/^verify\//, ['verify']],
  [/^docs\/verify/, ['verify']],
  [/^examples\//, ['example']],
  [/^(binary\/|Dockerfile)/, ['binary']],
];

/** If one of these files changes, all long tests run. */
const all = /^(test\/helpers\/|\.ci\/|package(-lock)?\.json$|build\.ts$|pack\.ts$|runtime\/)/;

const long = globSync('test/**/*.long.test.ts').map((file) => file.replaceAll('\\', '/'));
const changed = changedSince(process.argv[2] || mergeBase());
process.stdout.write(`${chosen().sort().join('\n')}\n`);

function chosen() {
  // The batches run all long tests in few processes, each of which loads the service once.
  if (changed.some((file) => all.test(file))) return globSync('test/batches/long/*.ts');
  const folders = changed.flatMap((file) => [
    folderOf(file),
    ...crossing.flatMap(([of, those]) => (of.test(file) ? those : [])),
  ]);
  const isTouched = (test) =>
    changed.includes(test) || folders.some((folder) => folder && test.startsWith(`test/${folder}/`));
  return [...new Set([...always, ...long.filter(isTouched)])];
}

/**
 * The folder of test/ that mirrors the folder of a source, or the nearest parent that exists: `audit/notary` for
 * `server/audit/notary/x.ts`, `events` for `events/proof/x.ts`.
 */
function folderOf(file) {
  const [, path = ''] = /^(?:server\/|test\/)?((?:[\w-]+\/)+)[^/]+\.(?:ts|tsx|js|mjs)$/.exec(file) ?? [];
  const parts = path.split('/').slice(0, -1);
  while (parts.length > 0 && !existsSync(`test/${parts.join('/')}`)) parts.pop();
  return parts.join('/');
}

function mergeBase() {
  const { status, stdout } = spawnSync('git', ['merge-base', 'HEAD', 'origin/main'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}

function changedSince(base) {
  if (base === '') return [];
  const { status, stdout, stderr } = spawnSync('git', ['diff', '--name-only', base, 'HEAD'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`git finds no change since ${base}: ${stderr}`);
  return stdout.split('\n').filter(Boolean);
}
