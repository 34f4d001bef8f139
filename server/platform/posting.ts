import type { IncomingMessage } from 'node:http';
import { wrongCertificates } from '../../storage/certificate-errors.ts';
import { codeOf, errorOf } from '../../storage/errors.ts';
import { lookupPublic, PrivateAddressError, requirePublicHost } from './public-addresses.ts';

/** The timeout of a call, its answer included, in milliseconds. */
const patience = 10_000;
/** How many bytes of an answer are read before the connection is closed. */
const most = 64 * 1024;

/** A call to another service. `url` may hold a name and a password, which become the header Authorization. */
type Posting = {
  url: string;
  headers: Record<string, string>;
  body: string | Uint8Array;
  /** Whether the address may be a loopback, private or otherwise special one. */
  allowPrivate: boolean;
};

/** An answer, read to its end. `type` is its media type, in lower case and without parameters. */
export type HttpAnswer = { status: number; type: string; body: Buffer };

/**
 * Posts to another service and resolves with the status of the answer. The connection goes to the address that was
 * checked; redirects are not followed; the body of the answer is dropped.
 *
 * @throws Error saying why no answer came; nothing of the URL is in it.
 */
export function postTo(posting: Posting, signal: AbortSignal): Promise<number> {
  return send(posting, signal, async (response) => {
    let length = 0;
    try {
      for await (const chunk of response) {
        length += chunk.length;
        if (length > most) break;
      }
    } catch {
      // Only the status counts; the rest of the answer may fail.
    }
    return response.statusCode ?? 0;
  });
}

/**
 * Posts to another service as {@link postTo} does, and resolves with its answer.
 *
 * @throws Error saying why no whole answer came, also if it has more than 64 KiB; nothing of the URL is in it.
 */
export function postForAnswer(posting: Posting, signal: AbortSignal): Promise<HttpAnswer> {
  return send(posting, signal, async (response) => {
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of response) {
      length += chunk.length;
      if (length > most) throw new AnswerError(`its answer has more than ${most} bytes`);
      chunks.push(chunk);
    }
    const [type = ''] = (response.headers['content-type'] ?? '').split(';');
    return { status: response.statusCode ?? 0, type: type.trim().toLowerCase(), body: Buffer.concat(chunks) };
  });
}

class AnswerError extends Error {}

async function send<T>(
  { url, headers, body, allowPrivate }: Posting,
  signal: AbortSignal,
  read: (response: IncomingMessage) => Promise<T>,
): Promise<T> {
  const address = new URL(url);
  if (!allowPrivate) requirePublicHost(address);
  // Imports would load all of fetch too.
  const { request } = await (address.protocol === 'https:' ? import('node:https') : import('node:http'));
  const late = AbortSignal.timeout(patience);
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const call = request(address, {
    method: 'POST',
    // A kept connection would lead to an address that was checked for an earlier call.
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    signal: AbortSignal.any([signal, late]),
    ...(allowPrivate ? {} : { lookup: lookupPublic }),
  });
  call.on('error', reject);
  call.on('response', (response) => resolve(read(response)));
  // A connection that ends in another way, such as by another protocol.
  call.on('close', () => reject(new AnswerError('it closed the connection')));
  call.end(body);
  return promise.catch((error: unknown) => {
    throw late.aborted ? tooLate() : failureOf(error);
  });
}

function tooLate(): Error {
  return new Error(`it did not answer within ${patience / 1000} s`);
}

function failureOf(error: unknown): Error {
  if (error instanceof PrivateAddressError || error instanceof AnswerError) return error;
  const code = codeOf(error);
  const certificate = code === undefined ? undefined : wrongCertificates[code];
  if (certificate !== undefined) return new Error(`it has ${certificate}`);
  return new Error(`it did not answer (${code ?? errorOf(error).name})`);
}
