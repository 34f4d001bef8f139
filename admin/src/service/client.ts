import { type ApiError, createClient } from '../../../client/index.ts';
import { keepPosition } from './as-of-position.ts';
import { mountPath, siteId, storageName } from './place.ts';

const tokenName = storageName('token');

type Listener = (error: ApiError) => void;

const expiryListeners = new Set<Listener>();

/**
 * The client that the whole application talks through. The token lies in local storage, as the contract has it (§1).
 */
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

const logoutName = storageName('logout');

/** Tells the other tabs that the user logs out: a token that is gone may also be one that has run out. */
export function tellLogout(): void {
  localStorage.setItem(logoutName, String(Date.now()));
}

/** Calls back when another tab gets another token, or none, and when its user logs out. */
export function onOtherTab(listener: { token: (token: string | null) => void; logout: () => void }): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === tokenName) listener.token(newValue);
    if (key === logoutName) listener.logout();
  });
  // A page that the browser had put aside has heard nothing of that.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && localStorage.getItem(tokenName) !== client.token) location.reload();
  });
}

/**
 * Options of a call that is only tried: where a reason is demanded, the service demands one for this too, and keeps
 * none.
 */
export const reasonOfTrial = { headers: { 'x-change-reason': 'dry run' } };

/** The version that a tag is of; null without one. */
export function versionOf(etag: string | undefined): number | null {
  const found = /^(?:W\/)?"(\d+)-/.exec(etag ?? '')?.[1];
  return found === undefined ? null : Number(found);
}
