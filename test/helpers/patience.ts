import { availableParallelism, loadavg } from 'node:os';
import { childrenSeconds } from './children.js';
import { slowness } from './slowness.js';

/**
 * How long a test waits for an expected result, in milliseconds: a minute. TEST_PATIENCE gives another number of
 * seconds: runs with injected faults use fewer, since many of their tests end in such a wait.
 */
export const patience = Number(process.env.TEST_PATIENCE ?? 60) * 1000;

/** The longest wait, as a multiple of the usual one, on a slow machine. */
const mostTimes = 5;

/** A wait for an expected result. */
export type Wait = {
  /** Whether the time is over. A machine that is slow, or that others use too, gets proportionally more time. */
  isOver: () => boolean;
  /** How long the wait took, and what the machine did meanwhile: for the message of a test that fails. */
  report: () => string;
};

/** @param minutes how long the result may take on a machine that has nothing else to do. */
export function startWait(minutes = 1): Wait {
  const most = patience * minutes;
  const begun = performance.now();
  const before = spent();
  let times = 1;
  return {
    isOver() {
      const waited = performance.now() - begun;
      if (waited < most * times) return false;
      times = Math.min(mostTimes, slowness().onClock);
      return waited >= most * times;
    },
    report() {
      const { own, children } = spent();
      const waited = ((performance.now() - begun) / 1000).toFixed(1);
      const took = `this process took ${(own - before.own).toFixed(1)} s of the CPU, its processes ${(children - before.children).toFixed(1)} s`;
      const slow = slowness().onClock.toFixed(1);
      return `waited ${waited} s: ${took}; load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores, ${slow} times slower than usual`;
    },
  };
}

/** The CPU time taken so far, in seconds. */
function spent(): { own: number; children: number } {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, children: childrenSeconds() };
}
