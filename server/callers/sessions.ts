import { randomUUID } from 'node:crypto';
import type { Request } from '@hapi/hapi';
import { DomainError } from '../../config/errors.ts';
import type { AuthOptions, Collection } from '../../config/model.ts';
import type { AccountRef, NewSession } from '../../events/facts/accounts.ts';
import { documentStream } from '../../events/facts/catalogue.ts';
import type { App, RouteCall, Target } from '../app.ts';
import { isLivingKey } from './made-keys.ts';

/** A collection whose documents are accounts. */
export type AuthTarget = Target<Collection & { auth: AuthOptions }>;

/** The auth collections. */
export function authTargets({ collections }: Pick<App, 'collections'>): AuthTarget[] {
  return [...collections.values()].filter((target): target is AuthTarget => target.model.auth !== null);
}

/**
 * Checks the caller again before a write. A body may take its time to arrive, and a hash may have to wait: a caller
 * whose session was ended meanwhile, for example by a reset, must not undo that with a request that began before.
 *
 * @throws DomainError `unauthorized` if the session or the key of the caller has ended since the request began.
 */
export function requireLiving(app: App, { auth }: Request): void {
  const { session, key } = auth.credentials?.user ?? {};
  if (session && app.accounts.holder(session.sid) === null)
    throw new DomainError('invalid_token', 'the session has ended');
  if (key && !isLivingKey(app, key)) throw new DomainError('invalid_api_key', 'the API key is not valid');
}

/** The id of the user with an e-mail address, which is in lower case as it is stored; null without such a user. */
export function userWith({ documents }: AuthTarget, email: string): string | null {
  return documents.find({ steps: [], leaf: { name: 'email', kind: 'text' }, operator: 'equals', values: [email] });
}

/** A session that begins now, to be recorded. */
export function newSession(app: App, { model }: AuthTarget, credential: string): NewSession {
  return { sid: randomUUID(), credential, expiresAt: expiryOf(app, model.auth) };
}

/** The time at which a token that is made now expires. */
export function expiryOf({ clock }: App, { tokenExpiration }: AuthOptions): Date {
  return new Date(clock.believed() + tokenExpiration * 1000);
}

/** Makes a user, who has just been authenticated, the caller: for events, rules and hooks. */
export function becomeUser({ app, request }: RouteCall, { category, id, sid }: AccountRef & { sid: string }): void {
  request.auth.credentials = {
    user: { actor: { type: 'user', id: documentStream(category, id) }, session: { sid, category, id } },
  };
  request.app.readUser = () => app.userOf(app.names.slugFor(category), id);
}

/** The user who calls. @throws DomainError `unauthorized` for all other callers, an API key too. */
export function requireUser({ auth }: Request): AccountRef & { sid: string } {
  const session = auth.credentials?.user?.session;
  if (!session) throw new DomainError('unauthorized', 'a token is needed');
  return session;
}

/**
 * The session of the caller, who must be a user of this collection.
 *
 * @throws DomainError `unauthorized` for all other callers, an API key too.
 */
export function requireSession(
  { auth }: Request,
  { slug, category }: Pick<AuthTarget, 'slug' | 'category'>,
): AccountRef & { sid: string } {
  const session = auth.credentials?.user?.session;
  if (!session || session.category !== category) throw new DomainError('unauthorized', `a token of ${slug} is needed`);
  return session;
}
