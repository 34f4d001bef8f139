import { behindMilliseconds } from '../../storage/postgres/durations.ts';
import { type StateCell, setBehind } from '../platform/state.ts';
import { openOutageNotice } from './outages.ts';
import type { ThreadParts } from './thread-parts.ts';

const lookMilliseconds = 1000;

/** Whether a node keeps up with the log. */
export type Lag = ReturnType<typeof openLag>;

/** Watches whether a node keeps up with the log: notes it in the cell, and tells the operator when that changes. */
export function openLag(state: StateCell, say: ThreadParts['say']) {
  const notice = openOutageNotice(say, [
    'this node does not see what other nodes append',
    'this node sees again what other nodes append',
  ]);
  let lastLevel = performance.now();
  let levelAt = Date.now();

  function noteBehind(why: unknown): void {
    setBehind(state, true);
    notice.stops(why);
  }

  const timer = setInterval(() => {
    if (performance.now() - lastLevel > behindMilliseconds) noteBehind('it has not come to their end for 10 seconds');
  }, lookMilliseconds);

  return {
    noteBehind,
    /** Notes that the node has all of the log. */
    noteLevel(): void {
      lastLevel = performance.now();
      levelAt = Date.now();
      setBehind(state, false);
      notice.goesOn();
    },
    /** When the node last had all of the log, in milliseconds since the epoch. */
    levelAt: () => levelAt,
    close: () => clearInterval(timer),
  };
}
