import type { ResponseObject, ResponseToolkit } from '@hapi/hapi';
import type { AccountRef } from '../../events/facts/accounts.ts';
import type { App } from '../app.ts';
import { leftBehind } from '../callers/vary.ts';
import type { AnswerOf } from '../openapi/answers.ts';

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
    .map(({ sid, startedAt, refreshedAt, expiresAt, ip, userAgent }) => ({
      sid,
      startedAt: new Date(startedAt).toISOString(),
      refreshedAt: refreshedAt === null ? null : new Date(refreshedAt).toISOString(),
      expiresAt: new Date(expiresAt).toISOString(),
      ip,
      userAgent,
      isCurrent: sid === own,
    }));
}

/** Answers with a session that was ended. If it is the session of the request, that is a logout. */
export function sendEnded(h: ResponseToolkit, session: SessionView): ResponseObject {
  const response = h.response(session);
  return session.isCurrent ? leftBehind(response) : response;
}
