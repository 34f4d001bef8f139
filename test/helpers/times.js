import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { after, afterEach, before, beforeEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { childrenSeconds } from './children.js';
import { slowness } from './slowness.js';

/** Where test/run.js gathers what all processes tell; without it nothing is measured. */
const report = process.env.TEST_TIMES;
const root = fileURLToPath(new URL('../..', import.meta.url));
/** The file that this process was started with. */
const started = relative(root, process.argv[1] ?? '').replaceAll('\\', '/');
/**
 * Seconds of the CPU for a quick test, and for a quick file with all that its tests share, on the machines that this
 * was made on.
 */
const most = { test: 1, file: 8 };
/** The same test takes up to half as much again where other processes use the caches of the CPU. */
const leeway = 1.5;
/** Every answer of every operation comes from one service, which then names what did not come. */
const mostOf = { 'test/contract/contract.test.ts': 18 };

/**
 * Measures each test of this process by itself: what it took of the CPU, with its processes, without the tests inside
 * it. A quick test that takes more than its budget fails.
 */
export function measureTests() {
  if (report === undefined) return;
  /** The tests that run, from the outermost on. */
  const running = [];
  beforeEach(() => {
    running.push({ begun: cpuSeconds(), inside: 0 });
  });
  afterEach((test) => {
    const { begun, inside } = running.pop();
    const whole = cpuSeconds() - begun;
    if (running.length > 0) running.at(-1).inside += whole;
    const name = nameOf(test);
    tell('test', name, whole - inside);
    if (isQuick(name)) demand(whole - inside, most.test, 'test');
  });
}

/**
 * Measures what a file declares, in a process that it shares with others: its tests, and what they share.
 *
 * @param {string} file
 * @param {() => Promise<unknown>} declare
 * @returns {() => Promise<void>}
 */
export function measured(file, declare) {
  return async () => {
    let begun = 0;
    before(() => {
      begun = cpuSeconds();
    });
    await declare();
    // Behind those of the file, which end what it has started.
    after(() => {
      const seconds = cpuSeconds() - begun;
      tell('file', file, seconds);
      if (isQuick(file)) demand(seconds, mostOf[file] ?? most.file, 'file of tests');
    });
  };
}

/** Tests in a batch are in a suite that has the name of their file. */
function nameOf({ fullName, filePath }) {
  return /^test\/\S+\.test\.ts > /.test(fullName) ? fullName : `${relative(root, filePath ?? '')} > ${fullName}`;
}

/**
 * A long file runs quick ones too, with all their rounds or on several nodes; who sets the rounds has no budget either.
 */
function isQuick(name) {
  const { TEST_NODES, TEST_RUNS, TEST_ALL_RUNS, TEST_FLIPS } = process.env;
  if (TEST_NODES ?? TEST_RUNS ?? TEST_ALL_RUNS ?? TEST_FLIPS) return false;
  return ![started, name.split(' ')[0]].some((file) => /\.long\.test\.ts$|^test\/batches\/long\//.test(file));
}

/** @throws Error if that is more than the budget, of which a slow machine gets more. */
function demand(seconds, budget, what) {
  if (report === undefined || seconds <= leeway * budget) return;
  const mine = leeway * budget * slowness().ofCpu;
  if (seconds <= mine) return;
  const took = `took ${seconds.toFixed(1)} s of the CPU, and a ${what} may take ${mine.toFixed(1)}`;
  throw new Error(`${took}: have it do less, or make it a long one (CONTRIBUTING.md, "Tests")`);
}

function tell(kind, name, seconds) {
  if (report !== undefined) appendFileSync(report, `${seconds.toFixed(2)}\t${kind}\t${name.replaceAll(/\s+/g, ' ')}\n`);
}

function cpuSeconds() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + childrenSeconds();
}
