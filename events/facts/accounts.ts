import type { Category, JsonObject } from '../../config/schema.ts';
import { accountStream, documentStream, type EventType, inviteStream, setupStream } from './catalogue.ts';
import { type Change, changeOf, type NewEvent } from './log.ts';

/** An account, by the category of its collection and the id of its user. */
export type AccountRef = { category: Category; id: string };

/**
 * A session to be started. `credential` names the password that it is started with; the session ends when that changes.
 */
export type NewSession = { sid: string; credential: string; expiresAt: Date };

/** A login, and the session that it begins. */
export function decideLogin(account: AccountRef, session: NewSession): Change {
  return ofAccount(account, [event('login.succeeded'), sessionStarted(session)]);
}

/** A refused login; `lockedUntil` is given if it was one too many. */
export function decideFailedLogin(account: AccountRef, lockedUntil: Date | null): Change {
  const locked = lockedUntil ? [event('account.locked', { until: lockedUntil.toISOString() })] : [];
  return ofAccount(account, [event('login.failed'), ...locked]);
}

/** The end of a lock before its time. */
export function decideUnlock(account: AccountRef): Change {
  return ofAccount(account, [event('account.unlocked')]);
}

/** A new token for a running session. */
export function decideRefresh(account: AccountRef, sid: string, expiresAt: Date): Change {
  return ofAccount(account, [event('session.refreshed', { sid, expiresAt: expiresAt.toISOString() })]);
}

/** The end of a session, or of all sessions of the account if `sid` is null. */
export function decideRevoke(account: AccountRef, sid: string | null): Change {
  return ofAccount(account, [event('session.revoked', sid === null ? {} : { sid })]);
}

/**
 * A new password. It ends all sessions of the account except the session `keeps`.
 *
 * @param session a session that begins with the password.
 */
export function decidePassword(
  account: AccountRef,
  credential: string,
  { keeps, session }: { keeps?: string | undefined; session?: NewSession } = {},
): Change {
  const changed = event('password.changed', { credential, ...(keeps === undefined ? {} : { keeps }) });
  return ofAccount(account, session ? [changed, sessionStarted(session)] : [changed]);
}

/** A request to reset a password by a mail to this address. It replaces earlier requests. */
export function decideResetRequest(
  account: AccountRef,
  { reset, email, expiresAt }: { reset: string; email: string; expiresAt: Date },
): Change {
  return ofAccount(account, [event('password.reset.requested', { reset, email, expiresAt: expiresAt.toISOString() })]);
}

/** A reset of a password. `version` is the version at which the account's request was found valid, so it works once. */
export function decideReset(
  account: AccountRef,
  { version, reset, credential }: { version: number; reset: string; credential: string },
): Change {
  return ofAccount(account, [event('password.changed', { credential, reset })], version);
}

/** An invitation, before there is an account. */
export function decideInvite(
  { category, id }: AccountRef,
  { email, expiresAt }: { email: string; expiresAt: Date },
): Change {
  const created = event('invite.created', { email, expiresAt: expiresAt.toISOString() });
  return changeOf(inviteStream(category, id), [created], 0);
}

/** An invitation that becomes an account. `version` is its version when it was found valid, so it works once. */
export function decideAcceptance(invite: AccountRef & { version: number }, account: AccountRef): Change {
  return changeOf(
    inviteStream(invite.category, invite.id),
    [event('invite.accepted', accountOf(account))],
    invite.version,
  );
}

/**
 * The end of an invitation before its time. `version` is its version when it was found open: an acceptance may come
 * first.
 */
export function decideWithdrawal({ category, id, version }: AccountRef & { version: number }): Change {
  return changeOf(inviteStream(category, id), [event('invite.withdrawn')], version);
}

/**
 * The first user of an empty collection. `version` is the version of the stream of first users: of several requests at
 * once, one succeeds.
 */
export function decideSetup(account: AccountRef, version: number): Change {
  return changeOf(setupStream(account.category), [event('setup.completed', accountOf(account))], version);
}

/**
 * No event; only the condition that a stream is still at the version on which another change of the command was
 * decided.
 */
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
