import type { KeptCheckpoint } from '../../events/checkpoints.ts';
import { cosignaturesOf, type WitnessKey } from '../../events/cosignatures.ts';
import { inWords } from '../../events/durations.ts';
import { parseNote } from '../../events/notes.ts';
import type { Finding } from '../../events/verify.ts';

/** When somebody outside saw the first `size` events of a log. */
type Seen = { by: string; size: number; time: string };

/** What others than the log vouch for: the times that they say, as lines for the operator, or what of it is wrong. */
export function vouchedFor(
  checkpoints: Iterable<KeptCheckpoint>,
  witnesses: readonly WitnessKey[],
): { finding: Finding | null; notes: string[] } {
  const seen: Seen[] = [];
  const unknown = new Set<string>();
  for (const { size, note } of checkpoints) {
    const parsed = parseNote(note);
    if (!parsed) continue;
    const { cosignatures, wrong } = cosignaturesOf(parsed, witnesses);
    if (wrong !== null)
      return { finding: `the cosignature by ${wrong} of the checkpoint of position ${size} does not fit`, notes: [] };
    for (const { name, time } of cosignatures) seen.push({ by: `the witness ${name}`, size, time });
    // Behind the line of the log itself.
    for (const { name, id } of parsed.signatures.slice(1))
      if (!witnesses.some((key) => key.name === name && key.id === id)) unknown.add(name);
  }
  return { finding: null, notes: [...linesOf(seen), ...[...unknown].map(unknownLine)] };
}

/** How long before now a time is. */
export function ageOf(time: string): string {
  const age = Date.now() - Date.parse(time);
  return age < 0 ? `${inWords(-age)} after now: one of the clocks is wrong` : `${inWords(age)} before now`;
}

function linesOf(seen: readonly Seen[]): string[] {
  const newest = new Map<string, Seen & { count: number }>();
  for (const one of seen) {
    const before = newest.get(one.by);
    const isNewer = !before || one.time > before.time;
    newest.set(one.by, { ...(isNewer ? one : before), count: (before?.count ?? 0) + 1 });
  }
  return [...newest.values()].map(
    ({ by, size, time, count }) =>
      `${by} vouches for ${count} checkpoints, the newest of ${size} events at ${time}, ${ageOf(time)}`,
  );
}

function unknownLine(name: string): string {
  return `${JSON.stringify(name)} has cosigned checkpoints, and ANNALS_WITNESSES does not name its key`;
}
