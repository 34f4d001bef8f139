import { useSyncExternalStore } from 'react';
import { ApiError, type Boot } from '../../../client/index.ts';
import { forgetPositions } from './as-of-position.ts';
import { client, onExpiry, onOtherTab, tellLogout } from './client.ts';
import { openListeners } from './listeners.ts';
import { clearHere } from './local-changes.ts';
import { clearStorageOf, loginAddress, storageName } from './place.ts';

/** A user, as the service gives it. */
export type User = { id: string; email: string; [field: string]: unknown };

/** A login: the user, and the slug of their auth collection. */
export type Account = { collection: string; user: User };

/**
 * - `starting`: it is not known yet whether a user is logged in
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

const left = openListeners();

/** Calls back when the account logs out or is replaced by another: modules then drop what they hold of it in memory. */
export const onAccountLeft = left.subscribe;
onAccountLeft(forgetPositions);

function set(next: Session): void {
  const before = accountNow();
  session = next;
  const now = accountNow();
  if (before !== null && (now === null || nameOf(now) !== nameOf(before))) left.tell();
  tell();
}

let logouts = 0;

/** How often a user has logged out since the page was loaded: work begun before a log-out is not stored after it. */
export function logoutsSoFar(): number {
  return logouts;
}

/** The login of this browser. */
export function useSession(): Session {
  return useSyncExternalStore(subscribe, () => session);
}

/** The account that is logged in, for components below the frame, which is shown only with an account. */
export function useAccount(): Account {
  const current = useSession();
  if (current.state !== 'in' && current.state !== 'expired') throw new Error('no user is logged in');
  return current.account;
}

/** The account that is logged in, or whose session has expired; null without an account. */
export function accountNow(): Account | null {
  return 'account' in session ? session.account : null;
}

/** The collection whose users log in here: that of the last login, else the one that the configuration names. */
export function loginCollection(boot: Boot): string | null {
  const slugs = boot.authCollections.map(({ slug }) => slug);
  const last = localStorage.getItem(collectionName);
  if (last !== null && slugs.includes(last)) return last;
  return boot.authCollections.find(({ isAdmin }) => isAdmin)?.slug ?? slugs[0] ?? null;
}

/** Finds out whether the token of this browser is still valid. */
export async function startSession(): Promise<void> {
  set({ state: 'starting' });
  const { token } = client;
  const before = logouts;
  const found = await findSession(token);
  const isOther = client.token !== null && client.token !== token;
  if (isOther || logouts !== before) return startSession();
  set(found);
}

async function findSession(token: string | null): Promise<Session> {
  try {
    const boot = await client.boot();
    if (token === null) return { state: 'out', boot };
    const collection = claimsOf(token)?.collection ?? loginCollection(boot);
    if (collection === null) return { state: 'out', boot };
    return { state: 'in', boot, account: { collection, user: await readUser(collection) } };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) return { state: 'out', boot: await client.boot() };
    return { state: 'unreachable', error };
  }
}

async function readUser(collection: string): Promise<User> {
  return client.collection(collection).me();
}

function bootOf(current: Session): Boot | null {
  return 'boot' in current ? current.boot : null;
}

/** Enters with the account of a login. The service is then known to be initialized. */
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
  enter({ collection, user });
}

/**
 * Logs out in all tabs and at the service; in this browser also if the service cannot be reached. No data of the
 * account stays in this browser.
 */
export async function logOut(): Promise<void> {
  const current = session;
  const boot = bootOf(current);
  if (boot === null || !('account' in current)) return;
  tellLogout();
  leave(current.account);
  const ended = client.collection(current.account.collection).logout();
  await ended.catch(() => undefined);
  await clearHere(nameOf(current.account)).catch(() => undefined);
  client.token = null;
  set({ state: 'out', boot });
}

/** Removes an account that logs out from this tab. The next user begins at the first page, not at the same address. */
function leave(account: Account): void {
  logouts += 1;
  set({ state: 'starting' });
  clearStorageOf(nameOf(account));
  history.replaceState(null, '', loginAddress);
}

/** The name of an account in unsaved changes and in events: `<collection>/<id>`. */
export function nameOf({ collection, user }: Account): string {
  return `${collection}/${user.id}`;
}

onExpiry(() => {
  if (session.state === 'in') set({ ...session, state: 'expired' });
});

onOtherTab({
  token(token) {
    client.token = token;
    // The token may have expired: the login opens over the page, and the text being typed stays.
    if (token === null && session.state === 'in') set({ ...session, state: 'expired' });
    else if (token !== null && session.state !== 'starting') void adopt(token);
  },
  logout() {
    const boot = bootOf(session);
    const account = accountNow();
    client.token = null;
    if (boot === null || account === null) {
      logouts += 1;
      return;
    }
    leave(account);
    set({ state: 'out', boot });
  },
});

/**
 * Takes over the login of another tab. If its account is another one, the pages of the previous account close at once.
 */
async function adopt(token: string): Promise<void> {
  const boot = bootOf(session);
  const account = accountNow();
  const claims = claimsOf(token);
  const isSame = account !== null && claims !== null && nameOf(account) === `${claims.collection}/${claims.sub}`;
  if (boot === null || !isSame) return startSession();
  try {
    const user = await readUser(account.collection);
    if (client.token === token) set({ state: 'in', boot, account: { ...account, user } });
  } catch {
    // The next call of this tab meets the same error.
  }
}

type TokenClaims = { collection: string; sub: string; iat: number; exp: number };

/** The claims of a token (RFC 7519 §4); null for a token with other claims. */
function claimsOf(token: string): TokenClaims | null {
  try {
    const [, part = ''] = token.split('.');
    const claims: Partial<TokenClaims> = JSON.parse(atob(part.replaceAll('-', '+').replaceAll('_', '/')));
    const { collection, sub, iat, exp } = claims;
    if (typeof collection !== 'string' || typeof sub !== 'string') return null;
    return typeof iat === 'number' && typeof exp === 'number' ? { collection, sub, iat, exp } : null;
  } catch {
    return null;
  }
}

const minute = 60_000;

/** Refreshes the token after two thirds of its life, while the page is visible. */
export function keepFresh(): () => void {
  const timer = setInterval(async () => {
    if (session.state !== 'in' || document.visibilityState !== 'visible' || client.token === null) return;
    const claims = claimsOf(client.token);
    if (claims === null || Date.now() / 1000 < claims.iat + ((claims.exp - claims.iat) * 2) / 3) return;
    const refreshed = client.collection(session.account.collection).refreshToken();
    await refreshed.catch(() => undefined);
  }, minute / 2);
  return () => clearInterval(timer);
}
