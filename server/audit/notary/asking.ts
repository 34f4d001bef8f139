import { codeOf, errorOf } from '../../../storage/errors.ts';
import { postTo } from '../../platform/posting.ts';

/** The timeout of requests to other services. */
const patience = 10_000;

/** More than any answer that is read here needs: a token with the certificates of its authority is some kilobytes. */
const largest = 64 * 1024;

/** A request to be posted. */
export type Question = { type: string; body: string | Uint8Array<ArrayBuffer> };

/** An answer, read to its end. `type` is its media type, in lower case and without parameters. */
export type Answer = { status: number; type: string; body: Buffer };

/**
 * Posts to another service. Redirects are not followed, so that a body goes to no other receiver.
 *
 * @param address may hold a name and a password, which go into the header Authorization; nothing of it is in errors.
 * @throws Error when no response came, or too large a one.
 */
export async function ask(address: string, question: Question, signal: AbortSignal): Promise<Answer> {
  const { type, body } = question;
  const url = new URL(address);
  const credentials = [url.username, url.password].map(decodeURIComponent).join(':');
  url.username = '';
  url.password = '';
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      redirect: 'manual',
      headers: {
        'content-type': type,
        ...(credentials !== ':' && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
      },
      signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
    });
    const [said = ''] = (response.headers.get('content-type') ?? '').split(';');
    return { status: response.status, type: said.trim().toLowerCase(), body: await readWithin(response.body) };
  } catch (error) {
    throw error instanceof AnswerError ? error : new Error(`it did not answer (${reasonOf(error)})`);
  }
}

class AnswerError extends Error {}

async function readWithin(body: ReadableStream<Uint8Array> | null): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > largest) throw new AnswerError(`its answer has more than ${largest} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function reasonOf(error: unknown): string {
  const { cause, name } = errorOf(error);
  return codeOf(cause) ?? name;
}

/** A receiver of checkpoints; `allowPrivate`: also where its address is not a public one. */
export type Receiver = { url: string; allowPrivate: boolean };

/**
 * Posts a checkpoint as text.
 *
 * @throws Error saying what the receiver answered, or that it did not.
 */
export async function post(receiver: Receiver, note: string, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  const status = await postTo({ ...receiver, headers, body: note }, signal);
  if (status < 200 || status > 299) throw new Error(`it answered ${status}`);
}
