import { beatsOf, type Pulse } from '../../http/pulse.ts';
import { every } from '../../platform/ticks.ts';

/** A thread that is watched. */
type WatchedThread = {
  pulse: Pulse;
  /** How many milliseconds the thread has been idle in all, until now. */
  idle: () => number;
  /** Asks the thread for a beat. */
  ask: () => void;
};

/** After how many checks without a sign a thread is stuck. */
const looks = 10;

/**
 * Checks threads again and again, and reports each thread that has shown no sign for a time: no beat, though it was
 * asked for one, and no wait for work. A thread that waits is not woken. Checks are counted, not time: if the process
 * stood still, as on a laptop that sleeps, no thread counts as stuck, nor does a thread that a debugger holds.
 *
 * @returns ends the watch.
 */
export function watch<T extends WatchedThread>(
  watched: () => Iterable<T>,
  milliseconds: number,
  onStuck: (thread: T) => void,
): () => void {
  const seen = new WeakMap<T, { beats: number; idle: number; still: number }>();

  function look(): void {
    for (const thread of watched()) {
      const beats = beatsOf(thread.pulse);
      const idle = thread.idle();
      const before = seen.get(thread);
      const isStill = before?.beats === beats && before.idle === idle && !isDebugged();
      const still = isStill ? before.still + 1 : 0;
      seen.set(thread, { beats, idle, still });
      if (still > 0) thread.ask();
      if (still === looks) onStuck(thread);
    }
  }

  return every(milliseconds / looks, look);
}

function isDebugged(): boolean {
  return process.getBuiltinModule('node:inspector').url() !== undefined;
}
