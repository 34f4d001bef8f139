import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBundle } from '../runtime/bundle.js';
import { chooseNode, handOver } from '../runtime/node.js';
import { childrenSeconds } from './helpers/children.js';

// npm test -- [OPTION | FILE | FOLDER]…: options are those of node --test. Without a file or a folder, all tests but
// the long ones.
const args = process.argv.slice(2);
const takesValue =
  /^(-[rC]|--(import|require|conditions|env-file|test-(name-pattern|skip-pattern|reporter|reporter-destination|timeout|concurrency|shard|isolation|global-setup|rerun-failures|random-seed|coverage-(include|exclude|lines|branches|functions))))$/;
const isOption = (arg, index) => arg.startsWith('-') || takesValue.test(args[index - 1] ?? '');
const options = args.filter(isOption);
const named = args.filter((arg, index) => !isOption(arg, index));
// Taken for an option, it would have all tests run.
const missing = named.filter((arg) => !arg.includes('*') && !existsSync(arg));
const inFolder = (arg) =>
  existsSync(arg) && statSync(arg).isDirectory() ? `${arg.replace(/[\\/]+$/, '')}/**/*.test.ts` : arg;

if (missing.length > 0) {
  process.stderr.write(`there is no file or folder ${missing.join(', ')}\n`);
  process.exitCode = 2;
} else {
  // Tests that start a process run what users do.
  const problem = ensureBundle();
  if (problem) process.stderr.write(`there is no bundle, so the sources are tested: ${problem}\n`);
  // A run inside a test keeps its files in the folder of the outer one.
  const folder = process.env.TMPDIR ? null : memoryFolder();
  if (folder) Object.assign(process.env, { TEST_DISK: tmpdir(), TMPDIR: folder });
  const timesFolder = mkdtempSync(join(tmpdir(), 'annals-times-'));
  process.env.TEST_TIMES ??= join(timesFolder, 'tests');
  const run = [
    // The runner follows each promise of a test: more room for young objects saves a twelfth of the CPU time.
    '--max-semi-space-size=64',
    '--import',
    './test/helpers/cache.js',
    '--test',
    '--test-concurrency=4',
    // The timeout of one test; Node 22 applies it to a whole file, and a file that runs a batch takes long.
    '--test-timeout=300000',
    // Node 22 writes TAP otherwise, in which .ci/run does not find the failures.
    ...(options.some((option) => option.startsWith('--test-reporter')) ? [] : ['--test-reporter=spec']),
    // Node takes no option behind the first file.
    ...options,
    ...(named.length > 0 ? named.map(inFolder) : ['test/batches/*.ts', 'test/**/*.alone.test.ts']),
  ];
  handOver(chooseNode(), run, () => {
    tellDearest(process.env.TEST_TIMES);
    for (const made of [timesFolder, folder ?? timesFolder])
      rmSync(made, { recursive: true, force: true, maxRetries: 5 });
  });
}

/** Prints the CPU time of the run, and the ten tests that took most of it. */
function tellDearest(file) {
  if (!existsSync(file)) return;
  const lines = readFileSync(file, 'utf8').split('\n');
  const tests = lines.map((line) => line.split('\t')).filter(([, kind]) => kind === 'test');
  const dearest = tests.sort(([a], [b]) => Number(b) - Number(a)).slice(0, 10);
  const told = dearest.map(([seconds, , name]) => `  ${seconds}  ${name}\n`);
  process.stdout.write(`ℹ seconds of the CPU ${childrenSeconds().toFixed(0)}, dearest tests:\n${told.join('')}`);
}

/**
 * A new folder in memory for the temporary files of all tests, if Linux has one that is large enough and from which
 * programs can be run: a new data directory syncs its files dozens of times, which on a disk is most of the time of a
 * start. A test of a crash kills a process, not the machine, and a test of a full disk mounts its own. TEST_DISK names
 * the usual folder of temporary files.
 *
 * @returns {string | null}
 */
function memoryFolder() {
  try {
    const [, options = 'noexec'] = /^\S+ \/dev\/shm tmpfs (\S+)/m.exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (options.split(',').includes('noexec') || bavail * bsize < 4 * 2 ** 30) return null;
    const folder = mkdtempSync('/dev/shm/annals-');
    // Some tests run as another user.
    chmodSync(folder, 0o755);
    return folder;
  } catch {
    return null;
  }
}
