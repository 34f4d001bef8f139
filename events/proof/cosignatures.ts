import { verify } from 'node:crypto';
import { type Note, parseKey } from './notes.ts';

/** A key that checks the cosignatures of a witness (C2SP tlog-cosignature, Ed25519); `key` is its verifier key. */
export type WitnessKey = {
  name: string;
  id: string;
  key: string;
  /** When the text of a checkpoint was cosigned (ISO 8601); null if the signature is not by this key over the text. */
  timeOf: (text: string, signature: Buffer) => string | null;
};

/**
 * The statement of a witness: at this time the tree of the checkpoint was the newest that it had seen, and extended the
 * earlier ones.
 */
type Cosignature = { name: string; time: string };

/** The type byte of a key that cosigns: Ed25519 with a time. */
const cosignature = 4;
/** The end of the year 9999, in seconds: later times have no ISO 8601 form of four digits. */
const lastSecond = 253_402_300_799n;

/**
 * The key that a verifier key of a witness (`<name>+<id>+<key>`) describes. @throws RangeError if the key is not of
 * this type.
 */
export function parseWitnessKey(text: string): WitnessKey {
  const { name, id, publicKey } = parseKey(text, cosignature);
  return {
    name,
    id,
    key: text,
    timeOf(signed, signature) {
      if (signature.length !== 72) return null;
      const seconds = signature.readBigUInt64BE(0);
      const message = Buffer.from(`cosignature/v1\ntime ${seconds}\n${signed}`);
      if (seconds > lastSecond || !verify(null, message, publicKey, signature.subarray(8))) return null;
      return new Date(Number(seconds) * 1000).toISOString();
    },
  };
}

/** Whether a note has a cosignature line of a witness. {@link cosignaturesOf} checks the cosignature. */
export function isCosignedBy(note: Note, { name, id }: WitnessKey): boolean {
  return note.signatures.some((signature) => signature.name === name && signature.id === id);
}

/**
 * The statements of witnesses in the signatures of a note; signatures of other keys are passed over.
 *
 * @returns `wrong` names the first witness whose signature does not fit; null if all fit.
 */
export function cosignaturesOf(
  { text, signatures }: Note,
  keys: readonly WitnessKey[],
): { cosignatures: Cosignature[]; wrong: string | null } {
  const cosignatures: Cosignature[] = [];
  for (const { name, id, signature } of signatures) {
    const key = keys.find((known) => known.name === name && known.id === id);
    if (!key) continue;
    const time = key.timeOf(text, signature);
    if (time === null) return { cosignatures, wrong: name };
    cosignatures.push({ name, time });
  }
  return { cosignatures, wrong: null };
}
