import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { UsageError } from '../../server/settings/settings.ts';
import { messageOf } from '../../storage/errors.ts';
import { BackupError } from './archive.ts';

/** The first bytes of a file in the format of age (age-encryption.org/v1). */
const ageMark = Buffer.from('age-encryption.org/v1\n');

/** Encrypts to public keys of age: `age1…`. Without any, the bytes stay as they are. */
export async function encrypted(source: Readable, recipients: readonly string[]): Promise<Readable> {
  if (recipients.length === 0) return source;
  const { Encrypter } = await import('age-encryption');
  const encrypter = new Encrypter();
  for (const recipient of recipients) encrypter.addRecipient(recipient);
  return fromWeb(await encrypter.encrypt(Readable.toWeb(source) as ReadableStream<Uint8Array>));
}

/**
 * Decrypts a file in the format of age; any other file is passed through.
 *
 * @param identities private keys: `AGE-SECRET-KEY-1…`.
 * @throws BackupError if the file is encrypted, and no key or not the right one is given.
 */
export async function decrypted(source: Readable, identities: readonly string[]): Promise<Readable> {
  const { isAge, whole } = await peek(source);
  if (!isAge) return whole;
  if (identities.length === 0) {
    source.destroy();
    throw new BackupError('is encrypted: --identity FILE names the file with its private key');
  }
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of identities) decrypter.addIdentity(identity);
  try {
    return fromWeb(await decrypter.decrypt(Readable.toWeb(whole) as ReadableStream<Uint8Array>));
  } catch (error) {
    source.destroy();
    throw new BackupError(`cannot be decrypted with this private key: ${messageOf(error)}`);
  }
}

/** Whether an error says that encrypted bytes were altered or cut off. */
export function isBrokenCipher(error: unknown): boolean {
  return error instanceof Error && /decrypt|ciphertext|stream ended|chunk|invalid tag/i.test(error.message);
}

function fromWeb(stream: ReadableStream<Uint8Array>): Readable {
  return Readable.fromWeb(stream as import('node:stream/web').ReadableStream<Uint8Array>);
}

/** Looks at the first bytes of a stream, which `whole` still has. */
async function peek(source: Readable): Promise<{ isAge: boolean; whole: Readable }> {
  const chunks = source[Symbol.asyncIterator]() as AsyncIterableIterator<Buffer>;
  let head = Buffer.alloc(0);
  while (head.length < ageMark.length) {
    const { done, value } = await chunks.next();
    if (done) break;
    head = Buffer.concat([head, value]);
  }
  async function* all() {
    if (head.length > 0) yield head;
    yield* chunks;
  }
  const whole = Readable.from(all(), { objectMode: false });
  return { isAge: head.subarray(0, ageMark.length).equals(ageMark), whole };
}

/** Checks a public key of age. @throws UsageError for any other text. */
export async function readRecipients(texts: readonly string[]): Promise<string[]> {
  const { Encrypter } = await import('age-encryption');
  for (const text of texts) {
    try {
      new Encrypter().addRecipient(text);
    } catch {
      const hint = text.startsWith('AGE-SECRET-KEY-')
        ? 'that is a private key, which does not belong on this machine'
        : `it must be a public key of age like age1…, got ${JSON.stringify(text)}`;
      throw new UsageError(`--recipient: ${hint}`);
    }
  }
  return [...texts];
}

/** Reads a file of private keys as `age-keygen` writes it: a key per line, lines with `#` are passed over. */
export async function readIdentities(path: string | undefined): Promise<string[]> {
  if (path === undefined) return [];
  const lines = readLines(path);
  const { Decrypter } = await import('age-encryption');
  for (const line of lines) {
    try {
      new Decrypter().addIdentity(line);
    } catch {
      throw new UsageError(`--identity: ${path} has a line that is not a private key of age (AGE-SECRET-KEY-1…)`);
    }
  }
  if (lines.length === 0) throw new UsageError(`--identity: ${path} has no private key`);
  return lines;
}

function readLines(path: string): string[] {
  try {
    const lines = readFileSync(path, 'utf8').split('\n');
    return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
  } catch (error) {
    throw new UsageError(`--identity: ${messageOf(error)}`);
  }
}
