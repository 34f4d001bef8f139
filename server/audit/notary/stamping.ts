import { hash, randomBytes, type X509Certificate } from 'node:crypto';
import { signedByLog } from '../../../events/proof/notes.ts';
import { ask, type Receiver } from './asking.ts';
import { bytesOf, DerError, isNumber, membersOf, numberIn, readDer, timeStampQuery } from './der.ts';
import { isVouchedFor, readToken, TokenError } from './time-stamp-tokens.ts';

/**
 * A time-stamp authority: its address, which may hold a secret, and whose certificates it has to lead up to; none: any.
 */
export type Authority = Receiver & { trusted: readonly X509Certificate[] };

/**
 * Has an authority say that a checkpoint, as the log signed it, was there (RFC 3161, over HTTP as section 3.4 says),
 * and gives its token, which fits.
 *
 * @throws Error about a wrong response, or a missing one.
 */
export async function stamp(authority: Authority, note: string, signal: AbortSignal): Promise<Buffer> {
  const { trusted } = authority;
  const imprint = hash('sha256', signedByLog(note), 'buffer');
  const nonce = randomBytes(8).readBigUInt64BE();
  const query = { type: 'application/timestamp-query', body: timeStampQuery(imprint, nonce) };
  const { status, body } = await ask(authority, query, signal);
  if (status !== 200) throw new Error(`it answered ${status}`);
  const bytes = tokenIn(body);
  try {
    const token = readToken(bytes);
    if (!token.imprint.hash.equals(imprint)) throw new TokenError('is for something else');
    if (token.nonce !== nonce) throw new TokenError('answers another request');
    if (trusted.length > 0 && !isVouchedFor(token, trusted))
      throw new TokenError('is by a certificate that no certificate of ANNALS_TSA_CA has issued');
  } catch (error) {
    throw error instanceof TokenError ? new Error(`its token ${error.message}`) : error;
  }
  return bytes;
}

/** The token of an answer (RFC 3161, section 2.4.2). @throws Error saying that it has none. */
export function tokenIn(answer: Buffer): Buffer {
  try {
    const [status, token] = membersOf(readDer(answer));
    const said = numberIn(membersOf(status).find(isNumber));
    // Granted, or granted with changes.
    if (token && (said === 0n || said === 1n)) return bytesOf(token);
    throw new Error(`it refused, with the status ${said}`);
  } catch (error) {
    throw error instanceof DerError ? new Error('its response is not one to a time-stamp request') : error;
  }
}
