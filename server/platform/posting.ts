import { wrongCertificates } from '../../storage/certificate-errors.ts';
import { codeOf, errorOf } from '../../storage/errors.ts';
import { lookupPublic, PrivateAddressError, requirePublicHost } from './public-addresses.ts';

/** The timeout of a call, in milliseconds, with all of its answer. */
const patience = 10_000;
/** Bytes of an answer that are read, and dropped, before the connection is closed. */
const most = 64 * 1024;

/** A call to another service. `url` may hold a name and a password, which become the header Authorization. */
export type Posting = {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Whether the address may be loopback, private or special otherwise. */
  allowPrivate: boolean;
};

/**
 * Posts to another service and resolves with the status of the answer. The connection goes to the address that was checked; redirects
 * are not followed; the body of the answer is dropped.
 *
 * @throws Error saying why no answer came; nothing of the URL is in it.
 */
export async function postTo({ url, headers, body, allowPrivate }: Posting, signal: AbortSignal): Promise<number> {
  const address = new URL(url);
  if (!allowPrivate) requirePublicHost(address);
  // As imports they would load all of fetch with them.
  const { request } = await (address.protocol === 'https:' ? import('node:https') : import('node:http'));
  const late = AbortSignal.timeout(patience);
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const call = request(address, {
    method: 'POST',
    // A connection that is kept would be to an address that was checked for an earlier call.
    agent: false,
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    signal: AbortSignal.any([signal, late]),
    ...(allowPrivate ? {} : { lookup: lookupPublic }),
  });
  call.on('error', (error) => reject(late.aborted ? tooLate() : failureOf(error)));
  call.on('response', (response) => {
    let length = 0;
    response.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > most) response.destroy();
    });
    // The status counts, whatever becomes of the rest.
    response.on('error', () => {});
    response.on('close', () => resolve(response.statusCode ?? 0));
  });
  // One that ends in another way, such as with another protocol.
  call.on('close', () => reject(new Error('it closed the connection')));
  call.end(body);
  return promise;
}

function tooLate(): Error {
  return new Error(`it did not answer within ${patience / 1000} s`);
}

function failureOf(error: unknown): Error {
  if (error instanceof PrivateAddressError) return error;
  const code = codeOf(error);
  const certificate = code === undefined ? undefined : wrongCertificates[code];
  if (certificate !== undefined) return new Error(`it has ${certificate}`);
  return new Error(`it did not answer (${code ?? errorOf(error).name})`);
}
