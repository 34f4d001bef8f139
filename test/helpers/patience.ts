import { availableParallelism, loadavg } from 'node:os';
import { childrenSeconds } from './children.js';
import { slowness } from './slowness.js';

/**
 * How long tests wait for what has to come, in milliseconds: a minute. With TEST_PATIENCE so many seconds, for faults
 * that are put in, of which many end in such a wait.
 */
export const patience = Number(process.env.TEST_PATIENCE ?? 60) * 1000;

/** The longest wait, on a machine that is so many times slower than usual. */
const mostTimes = 5;

/** A wait for what has to come. */
export type Wait = {
  /** Whether it has not come in time. A machine that is slow, or that others use too, has as much more time. */
  isOver: () => boolean;
  /** How long it took, and what the machine did meanwhile: for the message of a test that fails so. */
  report: () => string;
};

/** @param minutes how long it may take on a machine that has nothing else to do. */
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

/** Seconds of the CPU. */
function spent(): { own: number; children: number } {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, children: childrenSeconds() };
}
