import type { MailKind } from '../config/model.ts';
import type { Sqlite } from '../storage/sqlite.ts';

/** An account, from its first event on. `version` is that of its stream; `reset` the id of the newest reset that may be used. */
export type Account = {
  version: number;
  credential: string | null;
  reset: { id: string; expiresAt: number } | null;
};

/** A session. Times are milliseconds since the epoch; it may be past `expiresAt`. */
export type Session = {
  sid: string;
  slug: string;
  /** The id of its user. */
  id: string;
  startedAt: number;
  refreshedAt: number | null;
  expiresAt: number;
  ip: string | null;
  userAgent: string | null;
};

/** An invitation that was neither accepted nor replaced. It may be past `expiresAt`. */
export type Invite = { id: string; slug: string; email: string; expiresAt: number; version: number };

/** A mail that was asked for and neither sent nor given up. */
export type WaitingMail = {
  /** The id of the event that asked for it. */
  event: string;
  position: number;
  /** The stream of that event, where its end is recorded. */
  stream: string;
  kind: MailKind;
  slug: string;
  /** The user it goes to; null in an invitation, where `email` is set instead. */
  id: string | null;
  email: string | null;
  /** The id that its one-time token is made for, and when that expires; null where it has none. */
  token: string | null;
  expiresAt: number | null;
  /** When it was asked for. */
  since: number;
};

export type Accounts = ReturnType<typeof openAccounts>;

/** Reads what the log says about accounts. */
export function openAccounts(_db: Sqlite) {
  return {
    account: (_slug: string, _id: string): Account | null => null,
    /** Every credential that an account has: what else the vault holds is left over. */
    credentials: (): Set<string> => new Set(),
    session: (_sid: string): Session | null => null,
    sessions: (_slug: string, _id: string): Session[] => [],
    invite: (_id: string): Invite | null => null,
    /** The version of the stream of first users; 0 before the first. */
    setupVersion: (_slug: string): number => 0,
    /** Mails that wait, oldest first. */
    waitingMails: (): WaitingMail[] => [],
  };
}
