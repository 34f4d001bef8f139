import { setImmediate } from 'node:timers/promises';

let last: Promise<unknown> = Promise.resolve();

/**
 * Resolves in a later turn of the event loop, which is nobody else's who waits here. What goes through much of the log piece by
 * piece waits between two: so other requests wait for one piece at most, however many go through it at once.
 */
export function yieldToEventLoop(): Promise<void> {
  const mine = last.then(() => setImmediate());
  last = mine;
  return mine;
}
