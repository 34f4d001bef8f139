import { hash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Request, ResponseToolkit, Server, UserCredentials } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import { splitStream } from '../../events/facts/catalogue.ts';
import type { Actor } from '../../events/facts/envelope.ts';
import type { App } from '../app.ts';
import { refuseMisplaced } from '../http/headers.ts';
import type { MadeKey } from '../http/requests.ts';
import { shedding } from '../http/write-admission.ts';
import type { ApiKey } from '../ports.ts';
import { clearCookie, cookieCollections, cookieName, cookieOf, isForeign } from './cookies.ts';
import { requireOpenRoute } from './key-routes.ts';
import { keyReader } from './made-keys.ts';
import { tokenReader } from './tokens.ts';

/** The name of the authentication strategy. Every route names it: a default would count for the whole server. */
export const strategy = 'annals';

/** The strategy of public routes that look at no credential, such as login. */
export const publicStrategy = 'annals-public';

/** Reads the keys of the settings. @param opaqueId gives the id by which events name a key. */
export function readApiKeys(keys: readonly string[], opaqueId: (key: string) => string): ApiKey[] {
  return keys.map((key) => ({ hash: hashOf(key), id: opaqueId(key) }));
}

/**
 * Registers how the credential of a request is read (contract, section 5). A request without a credential passes: the
 * access rules decide whether one is needed. A wrong credential in a header is refused everywhere. A wrong cookie
 * counts as no credential, since no client chose to send it.
 */
export function registerAuthentication(server: Server, app: App): void {
  const refuseShed = shedding(app);
  register(strategy, authenticator(app));
  register(publicStrategy, () => anonymous);

  function register(name: string, credentialsOf: CredentialsOf): void {
    server.auth.scheme(name, () => ({
      authenticate(request, h) {
        refuseShed(request);
        refuseMisplaced(request);
        noteAddress(request, app.model.trustProxy);
        const found = credentialsOf(request, h);
        const admit = (user: UserCredentials) => h.authenticated({ credentials: { user } });
        // Most callers are known without waiting, and a promise would take time.
        return found instanceof Promise ? found.then(admit) : admit(found);
      },
    }));
    server.auth.strategy(name, name);
  }
}

type CredentialsOf = (request: Request, h: ResponseToolkit) => UserCredentials | Promise<UserCredentials>;

/** A session; `holder` is its user, as events name it. */
type Session = AccountRef & { holder: string; slug: string; sid: string };

const anonymous: UserCredentials = { actor: { type: 'anonymous' }, session: null };
const operator: UserCredentials = { actor: { type: 'system' }, session: null };

function authenticator(app: App): CredentialsOf {
  const { accounts, byCategory, clock } = app;
  const { apiKeys, secrets } = app.credentials;
  const readToken = tokenReader(secrets, app.site);
  const readKey = keyReader(app);

  /** The session of a token, if the session and its user are still there. */
  function sessionOf(token: string): Session | null {
    const claims = readToken(token, clock.believed());
    const holder = claims && accounts.holder(claims.sid);
    if (!claims || !holder) return null;
    const [category, id] = splitStream(holder);
    const target = byCategory.get(category);
    if (!target?.model.auth || id !== claims.sub || !isCalled(claims.collection, target.slug)) return null;
    return { holder, slug: target.slug, category, id, sid: claims.sid };
  }

  /** Whether a token names a collection, perhaps by a former slug. */
  function isCalled(name: string, slug: string): boolean {
    return name === slug || app.formerSlugs().get(name) === slug;
  }

  function asUser(request: Request, { holder, slug, category, id, sid }: Session): UserCredentials {
    // Read when a rule asks for it: in most requests none does.
    request.app.readUser = () => app.userOf(slug, id);
    return { actor: { type: 'user', id: holder } satisfies Actor, session: { sid, category, id } };
  }

  function byHeader(request: Request, authorization: string): UserCredentials {
    if (isOperatorCall(app, request.raw.req)) return operator;
    const [, scheme = '', credential = ''] = credentialIn(authorization);
    const session = /^bearer$/i.test(scheme) ? sessionOf(credential) : null;
    if (!session) throw new DomainError('invalid_token', 'the token is not valid, or its session has ended');
    return asUser(request, session);
  }

  function byCookie(request: Request, h: ResponseToolkit): UserCredentials {
    for (const collection of cookieCollections(app.model, request.path)) {
      const token = cookieOf(request, cookieName(app.site, collection.slug));
      const session = token === null ? null : sessionOf(token);
      if (session?.category === collection.category) {
        if (!isForeign(request, app.baseUrl)) return asUser(request, session);
        throw new DomainError('forbidden', 'a write under a cookie must come from a page of the same origin');
      }
      if (token !== null) clearCookie(app, collection, h);
    }
    return anonymous;
  }

  return (request, h) => {
    const { 'x-api-key': key, authorization, cookie } = request.headers;
    if (key === undefined && authorization === undefined)
      return cookie === undefined ? anonymous : byCookie(request, h);
    if (key === undefined) return byHeader(request, String(authorization));
    const id = matching(apiKeys, String(key));
    const found = id === null ? readKey(String(key)) : { id };
    return found instanceof Promise ? found.then((known) => byKey(request, known)) : byKey(request, found);
  };

  function byKey(request: Request, key: MadeKey | { id: string } | null): UserCredentials {
    if (key === null) throw new DomainError('invalid_api_key', 'the API key is not valid');
    const { authorization } = request.headers;
    // If there is a token too, the rights are those of its user.
    if (authorization !== undefined) return byHeader(request, String(authorization));
    const isMade = 'credential' in key;
    if (isMade) requireOpenRoute(request);
    return { actor: { type: 'apiKey', id: key.id }, session: null, ...(isMade && { key }) };
  }
}

/** Whether the command line calls: it has read its credential from the vault. */
export function isOperatorCall(
  { credentials }: Pick<App, 'credentials'>,
  { socket, headers }: IncomingMessage,
): boolean {
  const { authorization } = headers;
  if (authorization === undefined) return false;
  const [, scheme = '', credential = ''] = credentialIn(String(authorization));
  if (!/^annals-operator$/i.test(scheme)) return false;
  // A proxy on this machine passes on requests from elsewhere.
  const isPassedOn = 'x-forwarded-for' in headers || 'forwarded' in headers || 'via' in headers;
  return !isPassedOn && isFromHere(socket) && timingSafeEqual(hashOf(credential), credentials.operatorHash);
}

function credentialIn(authorization: string): readonly string[] {
  return /^(\S+) +(\S+) *$/.exec(authorization) ?? [];
}

/** Notes the address of the caller while there is a socket: a destroyed request has none. */
function noteAddress(request: Request, trustProxy: boolean): void {
  request.app.ip = trustProxy ? forwardedAddress(request) : request.info.remoteAddress;
}

/** The address that the proxy in front of us saw. It is the last one; the client may have made up those before it. */
function forwardedAddress({ headers, info }: Request): string {
  const forwarded: unknown = headers['x-forwarded-for'];
  const last = typeof forwarded === 'string' ? forwarded.split(',').at(-1)?.trim() : '';
  return last && isIP(last) ? last : info.remoteAddress;
}

type Ends = { remoteAddress?: string | undefined; localAddress?: string | undefined };

/**
 * Whether the other end of a connection is on this machine. If the service listens on one address of the network alone,
 * a caller on this machine uses that address, and both ends have it.
 */
export function isFromHere({ remoteAddress, localAddress }: Ends): boolean {
  if (remoteAddress === undefined) return false;
  return /^(::1|(::ffff:)?127\.[\d.]+)$/.test(remoteAddress) || remoteAddress === localAddress;
}

/** The id of a presented key. Every key is compared, so that the time does not reveal which one matched. */
function matching(apiKeys: readonly ApiKey[], presented: string): string | null {
  const presentedHash = hashOf(presented);
  let found: string | null = null;
  for (const { hash: known, id } of apiKeys) if (timingSafeEqual(known, presentedHash)) found = id;
  return found;
}

/** Whether a key is in the settings: those keys are valid as long as the service runs. */
export function isConfiguredKey({ credentials }: Pick<App, 'credentials'>, key: string): boolean {
  return matching(credentials.apiKeys, key) !== null;
}

function hashOf(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}
