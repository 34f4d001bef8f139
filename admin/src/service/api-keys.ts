import { client } from './client.ts';

/** The place of the API keys in the cache. */
export const keysKey = ['keys'] as const;

/** Reads the API keys that were made at run time; a 403 for users who do not manage them. */
export function readKeys({ signal }: { signal: AbortSignal }) {
  return client.keys.list({ signal });
}
