import { ask } from './asking.ts';

/**
 * Posts a checkpoint as text.
 *
 * @throws Error saying what the receiver answered, or that it did not.
 */
export async function post(webhook: string, note: string, signal: AbortSignal): Promise<void> {
  const { status } = await ask(webhook, { type: 'text/plain; charset=utf-8', body: note, isDeaf: true }, signal);
  if (status < 200 || status > 299) throw new Error(`it answered ${status}`);
}
