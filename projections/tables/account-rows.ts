import type { AccountRef } from '../../events/facts/accounts.ts';
import { accountStream, splitStream } from '../../events/facts/catalogue.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import type { Invite, Session, WaitingMail } from './accounts.ts';

/** A request to reset a password. Times are milliseconds since the epoch. */
type ResetRequest = { token: string; email: string | null; expiresAt: number };

/** The members of a mail that are null if they are left out. */
type Optional = 'id' | 'email' | 'token' | 'expiresAt' | 'about';

type Mail = Omit<WaitingMail, Optional> & Partial<Pick<WaitingMail, Optional>>;

/** The tables that events about accounts change. */
export type AccountRows = ReturnType<typeof openAccountTables>;

/** Prepares the changes of the account tables. */
export function openAccountTables(db: Sqlite) {
  return {
    accounts: openAccountRows(db),
    sessions: openSessionRows(db),
    invites: openInviteRows(db),
    mails: openMailRows(db),
  };
}

function openAccountRows(db: Sqlite) {
  const upsert = db.prepare(
    'INSERT INTO accounts (stream, version) VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET version = excluded.version',
  );
  const setCredential = db.prepare('UPDATE accounts SET credential = ? WHERE stream = ?');
  const setLogin = db.prepare('UPDATE accounts SET last_login_at = ? WHERE stream = ?');
  const setReset = db.prepare('UPDATE accounts SET reset = ?, reset_email = ?, reset_expires_at = ? WHERE stream = ?');
  const remove = db
    .prepare<[stream: string], string | null>('DELETE FROM accounts WHERE stream = ? RETURNING reset')
    .pluck();
  const selectReset = db
    .prepare<[stream: string], string | null>('SELECT reset FROM accounts WHERE stream = ?')
    .pluck();

  return {
    move: (stream: string, version: number): void => void upsert.run(stream, version),
    setCredential: (stream: string, credential: string | null): void => void setCredential.run(credential, stream),
    setLogin: (stream: string, at: number): void => void setLogin.run(at, stream),
    /** Replaces the valid reset; null for none. @returns the token of the former reset. */
    replaceReset(stream: string, reset: ResetRequest | null): string | null {
      const before = selectReset.get(stream) ?? null;
      setReset.run(reset?.token ?? null, reset?.email ?? null, reset?.expiresAt ?? null, stream);
      return before;
    },
    /** Ends the account of a document. @returns the token of its reset; undefined if the document has no account. */
    end(document: string): string | null | undefined {
      const [category, id] = splitStream(document);
      return remove.all(accountStream(category, id))[0];
    },
  };
}

function openSessionRows(db: Sqlite) {
  const insert = db.prepare(
    `INSERT INTO sessions SELECT ?, ?, ?, ?, NULL, ?, ?, ?
     WHERE EXISTS (SELECT 1 FROM accounts WHERE stream = ? AND credential = ?) ON CONFLICT (sid) DO NOTHING`,
  );
  const update = db.prepare(
    'UPDATE sessions SET refreshed_at = ?, expires_at = ? WHERE sid = ? AND category = ? AND id = ?',
  );
  const remove = db.prepare('DELETE FROM sessions WHERE sid = ? AND category = ? AND id = ?');
  const removeOthers = db.prepare('DELETE FROM sessions WHERE category = ? AND id = ? AND sid IS NOT ?');
  const purge = db.prepare('DELETE FROM sessions WHERE expires_at <= ?');
  const removeSince = db.prepare('DELETE FROM sessions WHERE max(started_at, coalesce(refreshed_at, 0)) > ?');

  return {
    /**
     * Starts a session. A login that a change of the password overtook names the former credential, and starts none.
     */
    start(session: Omit<Session, 'refreshedAt'>, stream: string, credential: string | null): void {
      const { sid, category, id, startedAt, expiresAt, ip, userAgent } = session;
      insert.run(sid, category, id, startedAt, expiresAt, ip, userAgent, stream, credential);
    },
    refresh({ category, id }: AccountRef, sid: string | null, times: { at: number; expiresAt: number }): void {
      update.run(times.at, times.expiresAt, sid, category, id);
    },
    end: ({ category, id }: AccountRef, sid: string): void => void remove.run(sid, category, id),
    /** Ends all sessions of an account except the session `kept`. */
    endAll: ({ category, id }: AccountRef, kept: string | null = null): void =>
      void removeOthers.run(category, id, kept),
    endSince: (time: number): void => void removeSince.run(time),
    purge: (at: number): void => void purge.run(at),
  };
}

function openInviteRows(db: Sqlite) {
  const insert = db.prepare('INSERT OR REPLACE INTO invites VALUES (?, ?, ?, ?, ?, ?, ?)');
  const update = db.prepare('UPDATE invites SET version = ? WHERE id = ?');
  const remove = db.prepare('DELETE FROM invites WHERE id = ?');
  const removeTo = db
    .prepare<[category: string, email: string], string>(
      'DELETE FROM invites WHERE category = ? AND email = ? RETURNING id',
    )
    .pluck();
  const purge = db.prepare<[at: number], string>('DELETE FROM invites WHERE expires_at <= ? RETURNING id').pluck();

  return {
    move: (id: string, version: number): void => void update.run(version, id),
    /** Adds an invitation. @returns the ids of the invitations to the same address, which it replaces. */
    add({ id, category, email, inviter, createdAt, expiresAt, version }: Invite): string[] {
      const replaced = removeTo.all(category, email);
      insert.run(id, category, email, inviter, createdAt, expiresAt, version);
      return replaced;
    },
    remove: (id: string): void => void remove.run(id),
    /** Removes expired invitations. @returns their ids. */
    purge: (at: number): string[] => purge.all(at),
  };
}

/** Writes `mails`, the mails that are still to be sent. */
function openMailRows(db: Sqlite) {
  const insert = db.prepare('INSERT INTO mails VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const remove = db.prepare('DELETE FROM mails WHERE event = ? AND stream = ?');
  const removeWith = db.prepare('DELETE FROM mails WHERE token = ?');
  const removeOf = db.prepare('DELETE FROM mails WHERE stream = ?');
  const removeAbout = db.prepare('DELETE FROM mails WHERE about = ?');

  return {
    add({ position, event, stream, since, kind, category, id, email, token, expiresAt, about }: Mail): void {
      const to = [category, id ?? null, email ?? null, token ?? null, expiresAt ?? null];
      insert.run(position, event, stream, kind, ...to, since, about ?? null);
    },
    /** Removes a mail that the event with this id asked for, by the stream in which its end is recorded. */
    remove: (event: string | null, stream: string): void => void remove.run(event, stream),
    /** Removes the mails with one of these tokens, which are not valid any longer. */
    removeWith(tokens: readonly (string | null)[]): void {
      for (const token of tokens) removeWith.run(token);
    },
    removeOf: (stream: string): void => void removeOf.run(stream),
    /** Removes the mails about a review of the document of a stream. */
    removeAbout: (stream: string): void => void removeAbout.run(stream),
  };
}
