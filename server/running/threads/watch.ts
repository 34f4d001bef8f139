import { beatsOf, type Pulse } from '../../http/pulse.ts';
import { every } from '../../platform/ticks.ts';

/** A thread that is watched. */
export type Watched = {
  pulse: Pulse;
  /** How many milliseconds it has waited for something to do, this wait included. */
  idle: () => number;
  /** Asks it for a beat. */
  ask: () => void;
};

/** In how many looks a thread must have shown nothing to be stuck. */
const looks = 10;

/**
 * Looks at threads, and tells of each that did not go on for so long: that neither beat, though it was asked to, nor
 * waited for something to do. One that waits is seen to, and is not woken for that. Looks are counted, not time: where
 * the process stood still, as on a laptop that sleeps, no thread is taken for stuck, nor is one held up by a debugger.
 *
 * @returns ends the watch.
 */
export function watch<T extends Watched>(
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
