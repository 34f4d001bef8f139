import type { Category, JsonObject } from '../../config/schema.ts';
import { accountStream, documentStream, type EventType, inviteStream, setupStream } from './catalogue.ts';
import { type Change, changeOf, type NewEvent } from './log.ts';

/** An account: the category of the collection, and the id of its user. */
export type AccountRef = { category: Category; id: string };

/** A session to be started. `credential` names the password it was started with; it ends when that is changed. */
export type NewSession = { sid: string; credential: string; expiresAt: Date };

/** A login, and the session that it begins. */
export function decideLogin(account: AccountRef, session: NewSession): Change {
  return ofAccount(account, [event('login.succeeded'), sessionStarted(session)]);
}

/** A login that was refused; `lockedUntil` when it was the one too many. */
export function decideFailedLogin(account: AccountRef, lockedUntil: Date | null): Change {
  const locked = lockedUntil ? [event('account.locked', { until: lockedUntil.toISOString() })] : [];
  return ofAccount(account, [event('login.failed'), ...locked]);
}

/** The end of a lock before its time. */
export function decideUnlock(account: AccountRef): Change {
  return ofAccount(account, [event('account.unlocked')]);
}

/** A new token for a session that goes on. */
export function decideRefresh(account: AccountRef, sid: string, expiresAt: Date): Change {
  return ofAccount(account, [event('session.refreshed', { sid, expiresAt: expiresAt.toISOString() })]);
}

/** The end of a session; of all of the account's when `sid` is null. */
export function decideRevoke(account: AccountRef, sid: string | null): Change {
  return ofAccount(account, [event('session.revoked', sid === null ? {} : { sid })]);
}

/**
 * A new password. It ends all sessions of the account but the one that is kept.
 *
 * @param session one that begins with it.
 */
export function decidePassword(
  account: AccountRef,
  credential: string,
  { keeps, session }: { keeps?: string | undefined; session?: NewSession } = {},
): Change {
  const changed = event('password.changed', { credential, ...(keeps === undefined ? {} : { keeps }) });
  return ofAccount(account, session ? [changed, sessionStarted(session)] : [changed]);
}

/** A password that is asked to be reset by a mail to this address: the request that counts from now on. */
export function decideResetRequest(
  account: AccountRef,
  { reset, email, expiresAt }: { reset: string; email: string; expiresAt: Date },
): Change {
  return ofAccount(account, [event('password.reset.requested', { reset, email, expiresAt: expiresAt.toISOString() })]);
}

/**
 * A password that is reset. `version` of the account is what it was when the reset was found to be good: it works once.
 */
export function decideReset(account: AccountRef, version: number, reset: string, credential: string): Change {
  return ofAccount(account, [event('password.changed', { credential, reset })], version);
}

/** An invitation, before there is an account. */
export function decideInvite(category: Category, id: string, email: string, expiresAt: Date): Change {
  const created = event('invite.created', { email, expiresAt: expiresAt.toISOString() });
  return changeOf(inviteStream(category, id), [created], 0);
}

/** An invitation that becomes an account. `version` is what it was when it was found to be good: it works once. */
export function decideAcceptance(invite: AccountRef & { version: number }, account: AccountRef): Change {
  return changeOf(
    inviteStream(invite.category, invite.id),
    [event('invite.accepted', accountOf(account))],
    invite.version,
  );
}

/**
 * The end of an invitation before its time. `version` is what it was when it was found to be open: an acceptance may
 * come first.
 */
export function decideWithdrawal({ category, id, version }: AccountRef & { version: number }): Change {
  return changeOf(inviteStream(category, id), [event('invite.withdrawn')], version);
}

/**
 * The first user of an empty collection. `version` is that of the stream of such users: of several at once one is
 * first.
 */
export function decideSetup(account: AccountRef, version: number): Change {
  return changeOf(setupStream(account.category), [event('setup.completed', accountOf(account))], version);
}

/** Nothing, but that a stream is still at the version that something else in the same command was decided on. */
export function decideNothing(stream: string, version: number): Change {
  return changeOf(stream, [], version);
}

function accountOf({ category, id }: AccountRef): JsonObject {
  return { account: documentStream(category, id) };
}

function sessionStarted({ sid, credential, expiresAt }: NewSession): NewEvent {
  return event('session.started', { sid, credential, expiresAt: expiresAt.toISOString() });
}

function event(type: EventType, data: JsonObject = {}): NewEvent {
  return { type, data };
}

function ofAccount({ category, id }: AccountRef, events: NewEvent[], expectedVersion: number | null = null): Change {
  return changeOf(accountStream(category, id), events, expectedVersion);
}
