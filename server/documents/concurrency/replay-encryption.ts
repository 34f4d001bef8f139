import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/**
 * The idempotency key that a request came with, which is the secret, and the keyed hashes of it and of the request.
 */
type ReplaySecret = { sent: string; key: string; fingerprint: string };

const algorithm = 'aes-256-gcm';
const saltBytes = 16;
const tagBytes = 16;
const keyBytes = 32;
const nonceBytes = 12;

/**
 * Encrypts an answer by the idempotency key of its request. The service keeps only a hash of that: what it has stored
 * does not decrypt the answer.
 */
export function encryptAnswer(text: string, secret: ReplaySecret): string {
  const salt = randomBytes(saltBytes);
  const { key, nonce } = derived(secret, salt);
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(secret.fingerprint));
  const encrypted = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([salt, cipher.getAuthTag(), encrypted]).toString('base64url');
}

/** Decrypts an answer. @throws Error if it was encrypted by another key, or altered. */
export function decryptAnswer(answer: string, secret: ReplaySecret): string {
  const bytes = Buffer.from(answer, 'base64url');
  const { key, nonce } = derived(secret, bytes.subarray(0, saltBytes));
  const decipher = createDecipheriv(algorithm, key, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(secret.fingerprint))
    .setAuthTag(bytes.subarray(saltBytes, saltBytes + tagBytes));
  return Buffer.concat([decipher.update(bytes.subarray(saltBytes + tagBytes)), decipher.final()]).toString('utf8');
}

/** A key and a nonce (HKDF, RFC 5869). They are used once: each answer has a salt of its own. */
function derived({ sent, key }: ReplaySecret, salt: Buffer): { key: Buffer; nonce: Buffer } {
  // The hash of the idempotency key binds them to the caller and the route.
  const bytes = Buffer.from(hkdfSync('sha256', sent, salt, `annals replay ${key}`, keyBytes + nonceBytes));
  return { key: bytes.subarray(0, keyBytes), nonce: bytes.subarray(keyBytes) };
}
