import { type HttpAnswer, postForAnswer, postTo } from '../../platform/posting.ts';

/** A service that checkpoints go to; `allowPrivate`: even if its address is not public. */
export type Receiver = { url: string; allowPrivate: boolean };

/** A request to be posted. */
type Question = { type: string; body: string | Uint8Array };

/** Posts a question and gives the answer. @throws Error saying why no whole one came. */
export function ask(
  { url, allowPrivate }: Receiver,
  { type, body }: Question,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  return postForAnswer({ url, allowPrivate, headers: { 'content-type': type }, body }, signal);
}

/**
 * Posts a checkpoint as text.
 *
 * @throws Error saying what the receiver answered, or that it did not.
 */
export async function post({ url, allowPrivate }: Receiver, note: string, signal: AbortSignal): Promise<void> {
  const headers = { 'content-type': 'text/plain; charset=utf-8' };
  const status = await postTo({ url, allowPrivate, headers, body: note }, signal);
  if (status < 200 || status > 299) throw new Error(`it answered ${status}`);
}
