import { appendFileSync } from 'node:fs';
import { after, before } from 'node:test';
import { childrenSeconds } from './children.js';

const report = process.env.TEST_TIMES;

/**
 * Measures the tests that a file declares, with the processes that they have started and that have ended by then. With TEST_TIMES,
 * the name of a file, a line is added there: the seconds that these took of the CPU, those on the clock, the name.
 *
 * @param {string} name
 * @param {() => Promise<unknown>} declare
 * @returns {() => Promise<void>}
 */
export function measured(name, declare) {
  return async () => {
    if (report === undefined) {
      await declare();
      return;
    }
    let begun = clocks();
    before(() => {
      begun = clocks();
    });
    await declare();
    // Behind those of the file, which end what it has started.
    after(() => tell(name, begun));
  };
}

/** Adds a line about this process as a whole when it ends. */
export function measureProcess() {
  if (report !== undefined) process.on('exit', () => tell(`process ${process.argv[1]}`, { computed: 0, passed: 0 }));
}

function tell(name, begun) {
  const { computed, passed } = clocks();
  appendFileSync(report, `${(computed - begun.computed).toFixed(1)}\t${(passed - begun.passed).toFixed(1)}\t${name}\n`);
}

function clocks() {
  const { user, system } = process.cpuUsage();
  return { computed: (user + system) / 1e6 + childrenSeconds(), passed: process.uptime() };
}
