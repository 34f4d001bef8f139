import type { MailKind } from '../../config/model.ts';
import type { Category } from '../../config/schema.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import { accountStream, setupStream, splitAccountStream } from '../../events/facts/catalogue.ts';
import type { Sqlite } from '../../storage/sqlite.ts';

/**
 * An account, from its first event on. `version` is the version of its stream, `credential` names its password in the
 * vault, `reset` is the newest unused request for a reset, which may be past `expiresAt`. `lastLoginAt` is when its
 * newest session began, null before the first. Times are milliseconds since the epoch.
 */
export type Account = {
  version: number;
  credential: string | null;
  reset: { id: string; expiresAt: number } | null;
  lastLoginAt: number | null;
};

/**
 * An account whose password may be reset. `version` is the version of its stream, `email` the address that got the
 * mail, `expiresAt` milliseconds since the epoch.
 */
type Reset = AccountRef & Pick<Account, 'version' | 'credential'> & { email: string | null; expiresAt: number };

/** A session. Times are milliseconds since the epoch; it may be past `expiresAt`. */
export type Session = {
  sid: string;
  category: Category;
  /** The id of its user. */
  id: string;
  startedAt: number;
  refreshedAt: number | null;
  expiresAt: number;
  ip: string | null;
  userAgent: string | null;
};

/**
 * An invitation that was neither accepted, withdrawn nor replaced. It may be past `expiresAt`. Times are milliseconds
 * since the epoch.
 */
export type Invite = {
  id: string;
  category: Category;
  email: string;
  /** The sender, as events name users: `<category>/<id>`. */
  inviter: string;
  createdAt: number;
  expiresAt: number;
  version: number;
};

/** A requested mail that was neither sent nor given up. Times are milliseconds since the epoch. */
export type WaitingMail = {
  /** The id of the event that requested the mail. */
  event: string;
  position: number;
  /** The stream in which the end of the mail is recorded: that of the event, or of the account of the recipient. */
  stream: string;
  kind: MailKind;
  category: Category;
  /** The user who gets the mail; null in an invitation, which has `email` instead. */
  id: string | null;
  email: string | null;
  /** The id of the mail's one-time token, and when the token expires; null if it has none. */
  token: string | null;
  expiresAt: number | null;
  /** When the mail was requested. */
  since: number;
  /** The stream of the document whose review the mail is about; null for other mails. */
  about: string | null;
};

export type Accounts = ReturnType<typeof openAccounts>;

type AccountRow = {
  version: number;
  credential: string | null;
  reset: string | null;
  reset_expires_at: number | null;
  last_login_at: number | null;
};
type SessionPage = [category: string, id: string, now: number, limit: number, skipped: number];
type ResetRow = Omit<Reset, keyof AccountRef> & { stream: string };

/** Reads what the log says about accounts. */
export function openAccounts(db: Sqlite) {
  const selectAccount = db.prepare<[stream: string], AccountRow>(
    'SELECT version, credential, reset, reset_expires_at, last_login_at FROM accounts WHERE stream = ?',
  );
  const selectReset = db.prepare<[id: string], ResetRow>(
    `SELECT stream, version, credential, reset_email AS email, reset_expires_at AS expiresAt
     FROM accounts WHERE reset = ?`,
  );
  const selectVersion = db.prepare<[stream: string], number>('SELECT version FROM accounts WHERE stream = ?').pluck();
  const selectCredentials = db
    .prepare<[], string>('SELECT credential FROM accounts WHERE credential IS NOT NULL')
    .pluck();
  const selectHolder = db
    .prepare<[sid: string], string>("SELECT category || '/' || id FROM sessions WHERE sid = ?")
    .pluck();
  const session = `SELECT sid, category, id, started_at AS startedAt, refreshed_at AS refreshedAt, expires_at AS expiresAt, ip,
       user_agent AS userAgent
     FROM sessions WHERE category = ? AND id = ?`;
  const selectSessions = db.prepare<[category: string, id: string], Session>(`${session} ORDER BY started_at, sid`);
  const selectSessionPage = db.prepare<SessionPage, Session>(
    `${session} AND expires_at > ? ORDER BY started_at, sid LIMIT ? OFFSET ?`,
  );
  const countSessions = db
    .prepare<[category: string, id: string, now: number], number>(
      'SELECT count(*) FROM sessions WHERE category = ? AND id = ? AND expires_at > ?',
    )
    .pluck();
  const invite =
    'SELECT id, category, email, inviter, created_at AS createdAt, expires_at AS expiresAt, version FROM invites';
  const selectInvite = db.prepare<[id: string], Invite>(`${invite} WHERE id = ?`);
  const selectInvites = db.prepare<[category: string], Invite>(`${invite} WHERE category = ? ORDER BY created_at, id`);
  const selectMails = db.prepare<[], WaitingMail>(
    `SELECT event, position, stream, kind, category, id, email, token, expires_at AS expiresAt, since, about
     FROM mails ORDER BY position, stream`,
  );

  /** The account; null before its first event, and after its user was deleted. */
  function account(category: Category, id: string): Account | null {
    const row = selectAccount.get(accountStream(category, id));
    if (!row) return null;
    const { version, credential, reset, reset_expires_at: expiresAt, last_login_at: lastLoginAt } = row;
    return {
      version,
      credential,
      reset: reset === null ? null : { id: reset, expiresAt: expiresAt ?? 0 },
      lastLoginAt,
    };
  }

  /** The account whose newest reset this is, if it is unused. It may be past `expiresAt`. */
  function reset(id: string): Reset | null {
    const row = selectReset.get(id);
    const account = row && splitAccountStream(row.stream);
    if (!row || !account) return null;
    const { version, credential, email, expiresAt } = row;
    return { category: account.category, id: account.id, version, credential, email, expiresAt };
  }

  /** Both reads see the same state. */
  const sessionPage = db.transaction((...asked: SessionPage) => {
    const [category, id, now] = asked;
    return { found: selectSessionPage.all(...asked), total: countSessions.get(category, id, now) ?? 0 };
  });

  return {
    account,
    reset,
    /** The credentials of all accounts: any other credential in the vault is left over. */
    credentials: (): Set<string> => new Set(selectCredentials.all()),
    /**
     * The user of a session, `<category>/<user id>`, as long as the session exists; it ends with its user. Each
     * authenticated request asks.
     */
    holder: (sid: string): string | null => selectHolder.get(sid) ?? null,
    /** The sessions of one account, oldest first. */
    sessions: (category: Category, id: string): Session[] => selectSessions.all(category, id),
    /** A page of the sessions of one account that expire after `now`, oldest first, and their number. */
    sessionPage: (
      { category, id }: AccountRef,
      { now, limit, page }: { now: number; limit: number; page: number },
    ): { found: Session[]; total: number } => sessionPage(category, id, now, limit, (page - 1) * limit),
    invite: (id: string): Invite | null => selectInvite.get(id) ?? null,
    /** The invitations into a collection, oldest first. */
    invites: (category: Category): Invite[] => selectInvites.all(category),
    /** The version of the stream of first users; 0 before the first. */
    setupVersion: (category: Category): number => selectVersion.get(setupStream(category)) ?? 0,
    /** The waiting mails, oldest first. */
    waitingMails: (): WaitingMail[] => selectMails.all(),
  };
}
