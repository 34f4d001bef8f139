import { encoded, shown } from './address.ts';
import { isObject } from './answers.ts';
import type { ClientOptions, WriteOptions } from './options.ts';

/**
 * The values of one call that become headers.
 *
 * @param own the options that the caller gave with the call.
 * @param token of the user who is logged in; null without one.
 * @param bodyType the media type of the body; null without a body.
 * @param position of the log that the answer has to show; null if any will do.
 */
type HeaderValues = { own: WriteOptions; token: string | null; bodyType: string | null; position: number | null };

/** The headers of a call: those of the client first, which those of the call replace. */
export function headersOf(client: ClientOptions, { own, token, bodyType, position }: HeaderValues): Headers {
  const headers = new Headers();
  const put = (name: string, value: string | null | undefined) => {
    if (value !== undefined && value !== null) setHeader(headers, name, value);
  };
  for (const [name, value] of entriesOf(client.headers)) put(name, value);
  put('accept', 'application/json');
  put('x-api-key', client.apiKey);
  put('x-site-id', client.siteId);
  put('authorization', token === null ? null : bearer(token));
  put('content-type', bodyType);
  put('annals-position', position === null ? null : String(position));
  put('if-match', own.ifMatch);
  put('idempotency-key', own.idempotencyKey);
  put('x-change-reason', own.reason === undefined ? null : reasonText(own.reason));
  for (const [name, value] of entriesOf(own.headers)) put(name, value);
  return headers;
}

/** The value of the header `authorization` for a token. */
export function bearer(token: string): string {
  return `Bearer ${token}`;
}

/**
 * Whether a call with these headers and this body may get an idempotency key. The service accepts a key only with a
 * credential, which tells callers apart, and not with a password, of which it stores nothing.
 */
export function takesKey(headers: Headers, data: unknown): boolean {
  if (headers.has('idempotency-key')) return false;
  const hasCredential = headers.has('authorization') || headers.has('x-api-key');
  return hasCredential && !(isObject(data) && 'password' in data);
}

/**
 * A new idempotency key, of 128 random bits: the service encrypts the secret of an API key by it. React Native has no
 * `crypto`, so its keys could be guessed; a page that was not loaded over HTTPS has no `randomUUID`.
 */
export function newKey(): string {
  const { crypto } = globalThis as { crypto?: Partial<Crypto> };
  if (crypto?.randomUUID) return crypto.randomUUID();
  const bytes = crypto?.getRandomValues?.(new Uint8Array(16)) ?? Uint8Array.from({ length: 16 }, anyByte);
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

function anyByte(): number {
  return Math.floor(Math.random() * 256);
}

function entriesOf(headers: Record<string, string> | Headers | undefined): Iterable<[string, string]> {
  return headers instanceof Headers ? headers.entries() : Object.entries(headers ?? {});
}

/** Replaces the error that `Headers` throws for an invalid value, because it shows the value, which may be a key. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    throw new TypeError(
      `the value for the header ${shown(name)} cannot be sent: it holds characters that no header may have`,
    );
  }
}

/**
 * A header can hold only Latin-1, part of which the service reads as UTF-8. So anything beyond ASCII is sent encoded
 * (RFC 8187).
 */
function reasonText(reason: string): string {
  const isPlain = /^[\x20-\x7e]*$/.test(reason) && !/^\s*utf-8'/i.test(reason);
  return isPlain ? reason : `UTF-8''${encoded('reason', reason)}`;
}
