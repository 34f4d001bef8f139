/** How long a receiver has to answer. */
const patience = 10_000;

/**
 * Posts a checkpoint as text. Redirects are not followed: what was meant for one receiver goes to no other.
 *
 * @param webhook may hold a name and a password, which go into the header Authorization; nothing of it is in errors.
 * @throws Error saying what the receiver answered, or that it did not.
 */
export async function post(webhook: string, note: string, signal: AbortSignal): Promise<void> {
  const url = new URL(webhook);
  const credentials = [url.username, url.password].map(decodeURIComponent).join(':');
  url.username = '';
  url.password = '';
  const response = await fetch(url, {
    method: 'POST',
    body: note,
    redirect: 'manual',
    headers: {
      'content-type': 'text/plain; charset=utf-8',
      ...(credentials !== ':' && { authorization: `Basic ${Buffer.from(credentials).toString('base64')}` }),
    },
    signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
  }).catch((error) => {
    throw new Error(`it did not answer (${reasonOf(error)})`);
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`it answered ${response.status}`);
}

function reasonOf(error: Error & { cause?: { code?: unknown } }): string {
  return typeof error.cause?.code === 'string' ? error.cause.code : error.name;
}
