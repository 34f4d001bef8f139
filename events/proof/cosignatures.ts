import { verify } from 'node:crypto';
import { type Note, parseKey } from './notes.ts';

/** A key by which cosignatures of a witness are checked (C2SP tlog-cosignature, Ed25519); `key` is its verifier key. */
export type WitnessKey = {
  name: string;
  id: string;
  key: string;
  /** When the text of a checkpoint was cosigned (ISO 8601); null where the signature is not one of this key over it. */
  timeOf: (text: string, signature: Buffer) => string | null;
};

/**
 * The statement of a witness: at this time the tree of the checkpoint was the newest it had seen, and went on from
 * those before.
 */
export type Cosignature = { name: string; time: string };

/** The type of a key that cosigns: Ed25519 with a time. */
const cosignature = 4;
/** The end of the year 9999, in seconds: later times have no ISO 8601 form of four digits. */
const lastSecond = 253_402_300_799n;

/**
 * The key that a verifier key of a witness (`<name>+<id>+<key>`) describes. @throws RangeError when it is not of this
 * type.
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

/** True for a note that a witness has cosigned; whether rightly so, {@link cosignaturesOf} says. */
export function isCosignedBy(note: Note, { name, id }: WitnessKey): boolean {
  return note.signatures.some((signature) => signature.name === name && signature.id === id);
}

/**
 * The statements of witnesses in the signatures of a note; those of other keys are passed over.
 *
 * @returns `wrong` names the first witness whose signature does not fit; null where all fit.
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
