import type { Signer, Verifier } from './notes.ts';
import { type Checkpoint, checkpointText, openNote, parseCheckpoint, parseNote, parseVerifierKey } from './notes.ts';
import type { TreeHead } from './proofs.ts';

/** The tree head at which a key hands over, and the time of the hand-over (ISO 8601, UTC, milliseconds). */
export type HandedOver = TreeHead & { time: string };

/** The hand-over of a log: `from` has signed only its first `size` events, `to` signs all later ones. */
type Handover = Checkpoint & { from: Verifier; to: Verifier };

const mark = 'handover ';

/**
 * Signs a hand-over: a checkpoint that both keys sign, the old key first, and that names both in an extension line
 * (docs/log-format.md). So both signatures cover the log, the position and both keys.
 */
export function signHandover(from: Signer, to: Signer, { time, ...head }: HandedOver): string {
  const text = `${checkpointText(from.name, { ...head, time })}${mark}${from.key} ${to.key}\n`;
  return `${from.sign(text)}${to.sign(text).slice(text.length + 1)}`;
}

/** Reads a hand-over; null for any other note, or if a valid signature of a key that it names is missing. */
export function readHandover(note: string): Handover | null {
  const text = parseNote(note)?.text ?? '';
  const checkpoint = parseCheckpoint(text);
  const [line, ...more] = text.split('\n').filter((each) => each.startsWith(mark));
  if (!checkpoint || line === undefined || more.length > 0) return null;
  const names = line.slice(mark.length).split(' ');
  const [from, to, ...others] = names.map(keyIn);
  if (!from || !to || others.length > 0 || from.key === to.key) return null;
  const isSigned = [from, to].every((key) => key.name === checkpoint.origin && openNote(note, [key]));
  return isSigned ? { ...checkpoint, from, to } : null;
}

function keyIn(text: string): Verifier | null {
  try {
    return parseVerifierKey(text);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
