import type { AccountRef } from '../../events/accounts.ts';
import type { App } from '../app.ts';

/** A session as answers show it. Times are ISO 8601. */
export type SessionView = {
  sid: string;
  startedAt: string;
  refreshedAt: string | null;
  expiresAt: string;
  ip: string | null;
  userAgent: string | null;
  /** Whether it is the session of the request. */
  isCurrent: boolean;
};

/**
 * The sessions of an account that have not expired, oldest first.
 *
 * @param own the session of the request; null where it has none.
 */
export function sessionsOf({ accounts, clock }: App, { slug, id }: AccountRef, own: string | null): SessionView[] {
  return accounts
    .sessions(slug, id)
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
