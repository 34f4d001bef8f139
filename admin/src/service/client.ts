import { type ApiError, createClient } from '../../../client/index.ts';
import { keepPosition } from './as-of-position.ts';
import { mountPath, siteId, storageName } from './place.ts';

const tokenName = storageName('token');

type Listener = (error: ApiError) => void;

const expiryListeners = new Set<Listener>();

/** The client that the whole application talks through. The token lies in local storage, as the contract has it (§1). */
export const client = createClient({
  baseUrl: mountPath || '/',
  siteId,
  fetch: async (url, init) => {
    const response = await fetch(url, init);
    keepPosition(url, response);
    return response;
  },
  token: localStorage.getItem(tokenName),
  onToken: (token) => {
    if (token === null) localStorage.removeItem(tokenName);
    else localStorage.setItem(tokenName, token);
  },
  onUnauthorized: (error) => {
    for (const listener of expiryListeners) listener(error);
  },
});

/** Calls back when the service refuses the token. */
export function onExpiry(listener: Listener): () => void {
  expiryListeners.add(listener);
  return () => expiryListeners.delete(listener);
}

/** Calls back when another tab logs in or out. */
export function onOtherTab(listener: (token: string | null) => void): () => void {
  const hear = (event: StorageEvent) => {
    if (event.key === tokenName) listener(event.newValue);
  };
  addEventListener('storage', hear);
  return () => removeEventListener('storage', hear);
}

/** Options of a call that is only tried: where a reason is demanded, the service demands one for this too, and keeps none. */
export const reasonOfTrial = { headers: { 'x-change-reason': 'dry run' } };
