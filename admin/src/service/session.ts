import { useSyncExternalStore } from 'react';
import { ApiError, type Boot } from '../../../client/index.ts';
import { client, onExpiry, onOtherTab } from './client.ts';
import { clearHere } from './kept-here.ts';
import { openListeners } from './listeners.ts';
import { storageName } from './place.ts';

/** A user, as the service gives it. */
export type User = { id: string; email: string; [field: string]: unknown };

/** A login: the user, and the auth collection that it is of. */
export type Account = { collection: string; user: User };

/**
 * - `starting`: it is not known yet
 * - `unreachable`: the service did not answer at the start
 * - `out`: there is no login
 * - `in`: a user is logged in
 * - `expired`: the login is over while its pages are still open
 */
export type Session =
  | { state: 'starting' }
  | { state: 'unreachable'; error: ApiError }
  | { state: 'out'; boot: Boot }
  | { state: 'in'; boot: Boot; account: Account }
  | { state: 'expired'; boot: Boot; account: Account };

const collectionName = storageName('collection');
const { tell, subscribe } = openListeners();
let session: Session = { state: 'starting' };

function set(next: Session): void {
  session = next;
  tell();
}

/** The login of this browser. */
export function useSession(): Session {
  return useSyncExternalStore(subscribe, () => session);
}

/** The account that is logged in, for components below the shell, which is there only with one. */
export function useAccount(): Account {
  const current = useSession();
  if (current.state !== 'in' && current.state !== 'expired') throw new Error('no user is logged in');
  return current.account;
}

/** The account that is logged in, or whose login has run out; null for none. */
export function accountNow(): Account | null {
  return 'account' in session ? session.account : null;
}

/** The collection whose users the application is for: that of the last login, else the one of the configuration. */
export function loginCollection(boot: Boot): string | null {
  const slugs = boot.authCollections.map(({ slug }) => slug);
  const last = localStorage.getItem(collectionName);
  if (last !== null && slugs.includes(last)) return last;
  return boot.authCollections.find(({ isAdmin }) => isAdmin)?.slug ?? slugs[0] ?? null;
}

/** Finds out whether the token of this browser is still good. */
export async function startSession(): Promise<void> {
  set({ state: 'starting' });
  try {
    const boot = await client.boot();
    const collection = loginCollection(boot);
    if (client.token === null || collection === null) return set({ state: 'out', boot });
    set({ state: 'in', boot, account: { collection, user: await readUser(collection) } });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) return set({ state: 'out', boot: await client.boot() });
    set({ state: 'unreachable', error });
  }
}

async function readUser(collection: string): Promise<User> {
  return (await client.collection(collection).me()) as unknown as User;
}

function bootOf(current: Session): Boot | null {
  return 'boot' in current ? current.boot : null;
}

/** Keeps a login that a call has made. `initialized` is true from then on. */
export function enter(account: Account): void {
  const boot = bootOf(session);
  if (boot === null) throw new Error('the session has not started');
  localStorage.setItem(collectionName, account.collection);
  set({ state: 'in', boot: { ...boot, initialized: true }, account });
}

/**
 * Logs in.
 *
 * @throws ApiError of the service: 401 for a wrong password, 429 for a locked account.
 */
export async function logIn(collection: string, credentials: { email: string; password: string }): Promise<void> {
  const { user } = await client.collection(collection).login(credentials);
  enter({ collection, user: user as unknown as User });
}

/** Ends the login here and at the service; a service that cannot be reached does not keep anybody in. */
export async function logOut(): Promise<void> {
  const current = session;
  const boot = bootOf(current);
  if (boot === null || !('account' in current)) return;
  const ended = client.collection(current.account.collection).logout();
  await ended.catch(() => undefined);
  await clearHere(nameOf(current.account)).catch(() => undefined);
  client.token = null;
  set({ state: 'out', boot });
}

/** An account as drafts and events name it. */
export function nameOf({ collection, user }: Account): string {
  return `${collection}/${user.id}`;
}

onExpiry(() => {
  if (session.state === 'in') set({ ...session, state: 'expired' });
});

onOtherTab((token) => {
  client.token = token;
  // Another login is asked for over the page: the text that is being typed stays.
  if (token === null && session.state === 'in') set({ ...session, state: 'expired' });
  else if (token !== null && session.state !== 'starting') void adopt();
});

/** Takes the login of another tab. */
async function adopt(): Promise<void> {
  const boot = bootOf(session);
  const collection = localStorage.getItem(collectionName);
  if (boot === null || collection === null) return startSession();
  try {
    const user = await readUser(collection);
    set({ state: 'in', boot, account: { collection, user } });
  } catch {
    // The next call of this tab tells.
  }
}

/** The times of a token, in milliseconds, as its claims tell them (RFC 7519 §4.1); null where they do not. */
function timesOf(token: string): { from: number; to: number } | null {
  try {
    const [, claims = ''] = token.split('.');
    const { iat, exp } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/')));
    return typeof iat === 'number' && typeof exp === 'number' ? { from: iat * 1000, to: exp * 1000 } : null;
  } catch {
    return null;
  }
}

const minute = 60_000;

/** Refreshes the token after two thirds of its life, while the page is looked at. */
export function keepFresh(): () => void {
  const timer = setInterval(async () => {
    if (session.state !== 'in' || document.visibilityState !== 'visible' || client.token === null) return;
    const times = timesOf(client.token);
    if (times === null || Date.now() < times.from + ((times.to - times.from) * 2) / 3) return;
    const refreshed = client.collection(session.account.collection).refreshToken();
    await refreshed.catch(() => undefined);
  }, minute / 2);
  return () => clearInterval(timer);
}
