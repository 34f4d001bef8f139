import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from 'node:crypto';
import type { TreeHead } from './proofs.ts';

/** A key that signs notes (C2SP signed-note, Ed25519), with the verifier that others need to check them. */
export type Signer = Verifier & {
  /**
   * The whole note of a text: the text, an empty line, the signature. @throws RangeError for a text that no note can
   * have.
   */
  sign: (text: string) => string;
};

/**
 * A key that checks notes: `id` is its key id in hexadecimal, `key` the verifier key (name+id+key), which says all of
 * it.
 */
export type Verifier = { name: string; id: string; key: string; check: (text: string, signature: Buffer) => boolean };

/** The type of a key and its signatures: Ed25519. */
const ed25519 = 1;
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');
const largestNote = 1_000_000;

/**
 * The signer of a name, from a seed of 32 bytes (the private key of RFC 8032).
 *
 * @throws RangeError for a name that no key can have, or a seed of another length.
 */
export function signerOf(name: string, seed: Buffer): Signer {
  if (seed.length !== 32) throw new RangeError(`a seed has 32 bytes, not ${seed.length}`);
  const key = createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' });
  const verifier = verifierOf(namedKey(name, Buffer.concat([Buffer.of(ed25519), Buffer.from(x, 'base64url')])));
  return {
    ...verifier,
    sign(text) {
      if (!isText(text)) throw new RangeError('what a note says ends with a new line and has no control characters');
      const signature = sign(null, Buffer.from(text), key);
      const line = Buffer.concat([Buffer.from(verifier.id, 'hex'), signature]).toString('base64');
      return `${text}\n\u2014 ${name} ${line}\n`;
    },
  };
}

/** The verifier that a verifier key (`<name>+<id>+<key>`) describes. @throws RangeError if it is not of Ed25519. */
export function parseVerifierKey(text: string): Verifier {
  return verifierOf(parseKey(text, ed25519));
}

/** An Ed25519 key as a verifier key describes it: `typed` is its type and its 32 bytes, of which its id is made. */
type ParsedKey = { name: string; id: string; typed: Buffer; publicKey: KeyObject };

/**
 * Reads a verifier key (C2SP signed-note).
 *
 * @param type the byte that says what the key signs.
 * @throws RangeError if the key is not an Ed25519 key of this type.
 */
export function parseKey(text: string, type: number): ParsedKey {
  const [, name = '', id = '', encoded = ''] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(text) ?? [];
  const bytes = fromBase64(encoded);
  if (bytes?.length !== 33 || bytes[0] !== type) throw new RangeError('that is no verifier key of Ed25519');
  const key = namedKey(name, bytes);
  if (key.id !== id) throw new RangeError('the id of that verifier key is not that of its name and key');
  return key;
}

function namedKey(name: string, typed: Buffer): ParsedKey {
  if (!isName(name)) throw new RangeError('the name of a key has no spaces and no +');
  const id = hash('sha256', Buffer.concat([Buffer.from(`${name}\n`), typed])).slice(0, 8);
  const der = Buffer.concat([spkiPrefix, typed.subarray(1)]);
  return { name, id, typed, publicKey: createPublicKey({ key: der, format: 'der', type: 'spki' }) };
}

function verifierOf({ name, id, typed, publicKey }: ParsedKey): Verifier {
  return {
    name,
    id,
    key: `${name}+${id}+${typed.toString('base64')}`,
    check: (text, signature) => signature.length === 64 && verify(null, Buffer.from(text), publicKey, signature),
  };
}

/** A note that was only parsed: nothing in it may be believed before {@link openNote} has found who signed it. */
export type Note = { text: string; signatures: { name: string; id: string; signature: Buffer }[] };

/** Reads a note; null for any other text. */
export function parseNote(note: string): Note | null {
  const end = note.lastIndexOf('\n\n');
  if (note.length > largestNote || end < 0) return null;
  const text = note.slice(0, end + 1);
  const lines = note.slice(end + 2).split('\n');
  if (!isText(text) || lines.pop() !== '' || lines.length === 0) return null;
  const signatures = lines.map((line) => {
    const [, name = '', encoded = ''] = /^\u2014 (\S+) (\S+)$/.exec(line) ?? [];
    const bytes = fromBase64(encoded);
    if (!isName(name) || !bytes || bytes.length < 5) return null;
    return { name, id: bytes.subarray(0, 4).toString('hex'), signature: bytes.subarray(4) };
  });
  const read = signatures.filter((signature) => signature !== null);
  return read.length === signatures.length ? { text, signatures: read } : null;
}

/**
 * A note as its first signer, the log, made it: without the signature lines that came later. Any other text stays as it
 * is.
 */
export function signedByLog(note: string): string {
  const end = note.lastIndexOf('\n\n');
  return end < 0 ? note : note.slice(0, note.indexOf('\n', end + 2) + 1);
}

/**
 * The text of a note that one of these keys signed. Signatures of other keys are passed over; a wrong signature of one
 * of these keys makes the whole note worthless.
 *
 * @returns null if the note is not to be believed.
 */
export function openNote(note: string, verifiers: readonly Verifier[]): { text: string; verifier: Verifier } | null {
  const parsed = parseNote(note);
  let found: Verifier | null = null;
  for (const { name, id, signature } of parsed?.signatures ?? []) {
    const verifier = verifiers.find((known) => known.name === name && known.id === id);
    if (!verifier) continue;
    if (!verifier.check(parsed?.text ?? '', signature)) return null;
    found ??= verifier;
  }
  return parsed && found ? { text: parsed.text, verifier: found } : null;
}

/**
 * The contents of a checkpoint. `time` is when it was signed, by the clock of its signer; null in old checkpoints,
 * which have no time.
 */
export type Checkpoint = TreeHead & { origin: string; time: string | null };

/**
 * A tree head in the words of a checkpoint (C2SP tlog-checkpoint): the origin, the size, the root, and in an extension
 * line the time (ISO 8601, UTC, milliseconds).
 */
export function checkpointText(origin: string, { size, root, time }: TreeHead & { time?: string | null }): string {
  return `${origin}\n${size}\n${root.toString('base64')}\n${time ? `time ${time}\n` : ''}`;
}

/**
 * Reads the text of a checkpoint; null for any other text. Lines after the third are allowed: one gives the time,
 * others are ignored.
 */
export function parseCheckpoint(text: string): Checkpoint | null {
  const [origin = '', size = '', encoded = '', ...more] = text.split('\n');
  const root = fromBase64(encoded);
  if (origin === '' || !/^(0|[1-9]\d{0,15})$/.test(size) || !Number.isSafeInteger(Number(size))) return null;
  if (root?.length !== 32 || more.pop() !== '' || more.includes('')) return null;
  const [time = null, ...others] = more.flatMap((line) => timeIn(line) ?? []);
  return { origin, size: Number(size), root, time: others.length === 0 ? time : null };
}

function timeIn(line: string): string | null {
  const [, time = ''] = /^time (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)$/.exec(line) ?? [];
  const parsed = new Date(time);
  return !Number.isNaN(parsed.getTime()) && parsed.toISOString() === time ? time : null;
}

function isName(name: string): boolean {
  return name !== '' && !/[\s+]/u.test(name);
}

function isText(text: string): boolean {
  // The only control character is the new line.
  return text.endsWith('\n') && [...text].every((character) => character >= ' ' || character === '\n');
}

/** Takes only the canonical base64 of the bytes: Node would skip characters that do not belong there. */
function fromBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return text !== '' && bytes.toString('base64') === text ? bytes : null;
}
