import { type ApiError, createClient } from '../../../client/index.ts';
import { keepPosition } from './as-of-position.ts';
import { mountPath, siteId, storageName } from './place.ts';

const tokenName = storageName('token');

type Listener = (error: ApiError) => void;

const expiryListeners = new Set<Listener>();

/**
 * The client of the whole application. The token is kept in local storage, as the contract says (§1).
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

/** Tells the other tabs that the user logs out: a missing token may also mean that it has expired. */
export function tellLogout(): void {
  localStorage.setItem(logoutName, String(Date.now()));
}

/** Calls back when another tab gets a new token or loses its token, and when its user logs out. */
export function onOtherTab(listener: { token: (token: string | null) => void; logout: () => void }): void {
  addEventListener('storage', ({ key, newValue }) => {
    if (key === tokenName) listener.token(newValue);
    if (key === logoutName) listener.logout();
  });
  // A page that comes back from the back/forward cache has missed these messages.
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted && localStorage.getItem(tokenName) !== client.token) location.reload();
  });
}

/**
 * Options of a dry run: if the configuration demands a reason, the service demands one here too, and does not record
 * it.
 */
export const reasonOfTrial = { headers: { 'x-change-reason': 'dry run' } };

/** The version in an ETag; null without a tag. */
export function versionOf(etag: string | undefined): number | null {
  const found = /^(?:W\/)?"(\d+)-/.exec(etag ?? '')?.[1];
  return found === undefined ? null : Number(found);
}
