import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { AccountRef } from '../../events/facts/accounts.ts';
import type { Session } from '../../projections/tables/accounts.ts';
import type { App } from '../app.ts';
import { leftBehind } from '../callers/vary.ts';
import type { AnswerOf } from '../openapi/answers.ts';
import type { PageRequest } from '../queries/pages.ts';

/** A session as answers show it. */
type SessionView = AnswerOf<'Session'>;

/**
 * The sessions of an account that have not expired, oldest first.
 *
 * @param own the session of the request; null without one.
 */
export function sessionsOf({ accounts, clock }: App, { category, id }: AccountRef, own: string | null): SessionView[] {
  return accounts
    .sessions(category, id)
    .filter(({ expiresAt }) => expiresAt > clock.believed())
    .map((session) => viewOf(session, own));
}

/** A page of the sessions that {@link sessionsOf} gives, and their number. */
export function sessionPage(
  { accounts, clock }: App,
  { account, own }: { account: AccountRef; own: string },
  asked: PageRequest,
): { sessions: SessionView[]; total: number } {
  const { found, total } = accounts.sessionPage(account, { ...asked, now: clock.believed() });
  return { sessions: found.map((session) => viewOf(session, own)), total };
}

/** Answers with a session that was ended. If it is the session of the request, that is a logout. */
export function sendEnded(h: ResponseToolkit, session: SessionView): ResponseObject {
  const response = h.response(session);
  return session.isCurrent ? leftBehind(response) : response;
}

function viewOf(session: Session, own: string | null): SessionView {
  const { sid, startedAt, refreshedAt, expiresAt, ip, userAgent } = session;
  return {
    sid,
    startedAt: new Date(startedAt).toISOString(),
    refreshedAt: refreshedAt === null ? null : new Date(refreshedAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
    ip,
    userAgent,
    isCurrent: sid === own,
  };
}
