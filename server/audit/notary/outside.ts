import { hash, type X509Certificate } from 'node:crypto';
import { counted } from '../../../config/counted.ts';
import { inWords } from '../../../events/facts/durations.ts';
import { type KeptCheckpoint, readCheckpoints } from '../../../events/proof/checkpoints.ts';
import { cosignaturesOf, type WitnessKey } from '../../../events/proof/cosignatures.ts';
import { parseNote, signedByLog } from '../../../events/proof/notes.ts';
import type { Finding } from '../../../events/proof/seen-heads.ts';
import { readStamps, type TokenRow } from '../../../events/proof/stamps.ts';
import type { Sqlite } from '../../../storage/sqlite.ts';

/** The time at which a witness or authority saw the first `size` events of a log. */
type Sighting = { by: string; size: number; time: string };

/** The keys of trusted witnesses, and the root certificates of trusted time-stamp authorities. */
export type Outsiders = { witnesses: readonly WitnessKey[]; trusted: readonly X509Certificate[] };

/** The times that witnesses and authorities state, as lines for the operator; or the finding. */
type VouchResult = { finding: Finding | null; notes: string[] };

/** The checkpoints of a log, and the tokens that others have given for them. */
export type Vouchable = { checkpoints: readonly KeptCheckpoint[]; tokens: readonly TokenRow[] };

/** Reads them as they are at one moment: a token whose checkpoint came since would be over nothing. */
export function readVouched(db: Sqlite): Vouchable {
  const read = db.transaction(() => ({
    checkpoints: [...readCheckpoints(db).all()],
    tokens: [...readStamps(db).tokens()],
  }));
  return read();
}

/** Checks the cosignatures and time stamps of checkpoints. */
export async function vouchedFor(
  { checkpoints, tokens }: Vouchable,
  { witnesses, trusted }: Outsiders,
): Promise<VouchResult> {
  const cosigned = cosignedIn(checkpoints, witnesses);
  if (cosigned.finding) return cosigned;
  const stamped = await stampedIn(new Map(checkpoints.map(({ size, note }) => [size, note])), tokens, trusted);
  if (stamped.finding) return stamped;
  const notes = [...cosigned.notes, ...stamped.notes];
  return {
    finding: null,
    notes: notes.length > 0 ? notes : ['no witness or authority says when a checkpoint was there'],
  };
}

function cosignedIn(checkpoints: readonly KeptCheckpoint[], witnesses: readonly WitnessKey[]): VouchResult {
  const seen: Sighting[] = [];
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

/** @param notes the notes of the checkpoints, by size. */
async function stampedIn(
  notes: ReadonlyMap<number, string>,
  tokens: readonly TokenRow[],
  trusted: readonly X509Certificate[],
): Promise<VouchResult> {
  if (tokens.length === 0) return { finding: null, notes: [] };
  const { isVouchedFor, readToken, TokenError } = await import('./time-stamp-tokens.ts');
  const seen: Sighting[] = [];
  const unknown: Sighting[] = [];
  for (const { size, authority, token } of tokens) {
    try {
      const read = readToken(token);
      const signed = hash(read.imprint.algorithm, signedByLog(notes.get(size) ?? ''), 'buffer');
      if (!read.imprint.hash.equals(signed)) throw new TokenError('is for something else');
      const list = isVouchedFor(read, trusted) ? seen : unknown;
      list.push({ by: `the time-stamp authority ${authority}`, size, time: read.time });
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      const what = `the time-stamp token by ${authority} of the checkpoint of position ${size}`;
      return { finding: `${what} ${error.message}`, notes: [] };
    }
  }
  const why =
    trusted.length > 0
      ? 'by a certificate that no certificate of ANNALS_TSA_CA has issued'
      : 'by a certificate that is not trusted: ANNALS_TSA_CA names those that are';
  return { finding: null, notes: [...linesOf(seen), ...linesOf(unknown).map((line) => `${line}, ${why}`)] };
}

/** How long before now a time is. */
export function ageOf(time: string): string {
  const age = Date.now() - Date.parse(time);
  return age < 0 ? `${inWords(-age)} after now: one of the clocks is wrong` : `${inWords(age)} before now`;
}

function linesOf(seen: readonly Sighting[]): string[] {
  const newest = new Map<string, Sighting & { count: number }>();
  for (const one of seen) {
    const before = newest.get(one.by);
    const isNewer = !before || one.time > before.time;
    newest.set(one.by, { ...(isNewer ? one : before), count: (before?.count ?? 0) + 1 });
  }
  return [...newest.values()].map(
    ({ by, size, time, count }) =>
      `${by} has seen ${counted(count, 'checkpoint')}, the newest of ${counted(size, 'event')} at ${time}, ${ageOf(time)}`,
  );
}

function unknownLine(name: string): string {
  return `${JSON.stringify(name)} has cosigned checkpoints, and ANNALS_WITNESSES does not name its key`;
}
