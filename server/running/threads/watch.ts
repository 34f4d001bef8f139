import { beatsOf, type Pulse } from '../../http/pulse.ts';

/** In how many looks a thread must have shown nothing to be stuck. */
const looks = 10;

/**
 * Looks at threads, and tells of each that did not go on for so long. Looks are counted, not time:
 * where the process stood still, as on a laptop that sleeps, no thread is taken for stuck, nor is one held up by a debugger.
 *
 * @returns ends the watch.
 */
export function watch<T extends { pulse: Pulse }>(
  watched: () => Iterable<T>,
  milliseconds: number,
  onStuck: (thread: T) => void,
): () => void {
  const seen = new WeakMap<T, { beats: number; still: number }>();

  function look(): void {
    if (isDebugged()) return;
    for (const thread of watched()) {
      const beats = beatsOf(thread.pulse);
      const before = seen.get(thread);
      const still = before?.beats === beats ? before.still + 1 : 0;
      seen.set(thread, { beats, still });
      if (still === looks) onStuck(thread);
    }
  }

  const timer = setInterval(look, milliseconds / looks);
  timer.unref();
  return () => clearInterval(timer);
}

function isDebugged(): boolean {
  return process.getBuiltinModule('node:inspector').url() !== undefined;
}
