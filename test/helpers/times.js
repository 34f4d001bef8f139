import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { after, afterEach, before, beforeEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { childrenSeconds } from './children.js';
import { slowness } from './slowness.js';

/** The file in which test/run.js gathers the measurements of all processes; without it nothing is measured. */
const report = process.env.TEST_TIMES;
const root = fileURLToPath(new URL('../..', import.meta.url));
/** The file that this process was started with. */
const started = relative(root, process.argv[1] ?? '').replaceAll('\\', '/');
/**
 * CPU seconds for a quick test, and for a quick file with everything that its tests share, on the machines on which
 * they were measured.
 */
const most = { test: 1, file: 8 };
/** A test takes up to half as much again if other processes use the caches of the CPU. */
const leeway = 1.5;
/**
 * Files with a budget of their own. One service gives every answer of every operation, and the file then names the
 * missing ones.
 */
const mostOf = { 'test/contract/contract.test.ts': 18 };

/**
 * Measures each test of this process: the CPU time that it took, with its processes, without the tests inside it. A
 * quick test that takes more than its budget fails.
 */
export function measureTests() {
  if (report === undefined) return;
  /** The running tests, from the outermost on. */
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
    // This hook runs behind those of the file, which end the services that it has started.
    after(() => {
      const seconds = cpuSeconds() - begun;
      tell('file', file, seconds);
      if (isQuick(file)) demand(seconds, mostOf[file] ?? most.file, 'file of tests');
    });
  };
}

/** The name of the file of a test: in a batch, the suite around the test has the name of its file. */
function nameOf({ fullName, filePath }) {
  return /^test\/\S+\.test\.ts > /.test(fullName) ? fullName : `${relative(root, filePath ?? '')} > ${fullName}`;
}

/**
 * False in a long file, which runs quick ones too, with all their rounds or on several nodes; false if the environment
 * sets the rounds.
 */
function isQuick(name) {
  const { TEST_NODES, TEST_RUNS, TEST_ALL_RUNS, TEST_FLIPS } = process.env;
  if (TEST_NODES ?? TEST_RUNS ?? TEST_ALL_RUNS ?? TEST_FLIPS) return false;
  return ![started, name.split(' ')[0]].some((file) => /\.long\.test\.ts$|^test\/batches\/long\//.test(file));
}

/** @throws Error if a test took more than its budget; a slow machine has a larger one. */
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
