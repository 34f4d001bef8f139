import { setImmediate } from 'node:timers/promises';

let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves in a later turn of the event loop, one caller per turn. A walk through much of the log awaits it between two
 * pieces, so that other requests wait for at most one piece, however many walks there are.
 */
export function yieldToEventLoop(): Promise<void> {
  const mine = last.then(() => setImmediate());
  last = mine;
  return mine;
}
