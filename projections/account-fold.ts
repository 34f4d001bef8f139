import type { MailKind } from '../config/model.ts';
import type { Json, JsonObject } from '../config/schema.ts';
import { accountStream, clockStream, type EventType, splitAccountStream, splitStream } from '../events/catalogue.ts';
import type { Context, Header } from '../events/envelope.ts';
import { erasedStreams } from '../events/erasures.ts';
import type { RecordedEvent } from '../events/log.ts';
import type { Sqlite } from '../storage/sqlite.ts';

/** The tables about accounts, whatever the schema. */
export const accountTables = ['accounts', 'sessions', 'invites', 'mails'] as const;

/** Makes them in an empty file, with their indexes: they stay small, so a bulk load need not wait with those. */
export function createAccountTables(db: Sqlite): void {
  db.exec(`
    CREATE TABLE accounts (
      stream TEXT PRIMARY KEY, version INTEGER NOT NULL, credential TEXT, reset TEXT, reset_email TEXT,
      reset_expires_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX accounts_reset ON accounts (reset) WHERE reset IS NOT NULL;
    CREATE TABLE sessions (
      sid TEXT PRIMARY KEY, slug TEXT NOT NULL, id TEXT NOT NULL, started_at INTEGER NOT NULL, refreshed_at INTEGER,
      expires_at INTEGER NOT NULL, ip TEXT, user_agent TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sessions_account ON sessions (slug, id);
    CREATE INDEX sessions_expiry ON sessions (expires_at);
    CREATE TABLE invites (
      id TEXT PRIMARY KEY, slug TEXT NOT NULL, email TEXT NOT NULL, inviter TEXT NOT NULL,
      expires_at INTEGER NOT NULL, version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX invites_email ON invites (slug, email);
    CREATE INDEX invites_expiry ON invites (expires_at);
    CREATE TABLE mails (
      position INTEGER PRIMARY KEY, event TEXT NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, slug TEXT NOT NULL,
      id TEXT, email TEXT, token TEXT, expires_at INTEGER, since INTEGER NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX mails_event ON mails (event);
    CREATE INDEX mails_token ON mails (token);
  `);
}

/**
 * An event of a stream about accounts. `slug` and `id` are those of its stream, `at` when it was recorded, milliseconds
 * since the epoch.
 */
type AccountEvent = { header: Header; slug: string; id: string; data: JsonObject; context: Context; at: number };

type Mail = { kind: MailKind; slug: string; id?: string; email?: string; token?: string; expiresAt?: number };

type Reset = { token: string; email: string | null; expiresAt: number };

/**
 * Folds events into the tables about accounts, one by one. Pure as the other folds are: what has expired is told from the
 * times of events. Nothing outside of the log decides who is logged in.
 */
export function openAccountFold(db: Sqlite) {
  const upsertAccount = db.prepare(
    'INSERT INTO accounts (stream, version) VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET version = excluded.version',
  );
  const setCredential = db.prepare('UPDATE accounts SET credential = ? WHERE stream = ?');
  const setReset = db.prepare('UPDATE accounts SET reset = ?, reset_email = ?, reset_expires_at = ? WHERE stream = ?');
  const deleteAccount = db.prepare('DELETE FROM accounts WHERE stream = ? RETURNING reset').pluck();
  const selectReset = db.prepare('SELECT reset FROM accounts WHERE stream = ?').pluck();

  const insertSession = db.prepare(
    `INSERT INTO sessions SELECT ?, ?, ?, ?, NULL, ?, ?, ?
     WHERE EXISTS (SELECT 1 FROM accounts WHERE stream = ? AND credential = ?) ON CONFLICT (sid) DO NOTHING`,
  );
  const updateSession = db.prepare(
    'UPDATE sessions SET refreshed_at = ?, expires_at = ? WHERE sid = ? AND slug = ? AND id = ?',
  );
  const deleteSession = db.prepare('DELETE FROM sessions WHERE sid = ? AND slug = ? AND id = ?');
  const deleteSessions = db.prepare('DELETE FROM sessions WHERE slug = ? AND id = ? AND sid IS NOT ?');
  const purgeSessions = db.prepare('DELETE FROM sessions WHERE expires_at <= ?');
  const deleteSessionsSince = db.prepare('DELETE FROM sessions WHERE max(started_at, coalesce(refreshed_at, 0)) > ?');

  const insertInvite = db.prepare('INSERT OR REPLACE INTO invites VALUES (?, ?, ?, ?, ?, ?)');
  const updateInvite = db.prepare('UPDATE invites SET version = ? WHERE id = ?');
  const deleteInvite = db.prepare('DELETE FROM invites WHERE id = ?');
  const deleteInvitesTo = db.prepare('DELETE FROM invites WHERE slug = ? AND email = ? RETURNING id').pluck();
  const purgeInvites = db.prepare('DELETE FROM invites WHERE expires_at <= ? RETURNING id').pluck();

  const insertMail = db.prepare('INSERT INTO mails VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const deleteMail = db.prepare('DELETE FROM mails WHERE event = ?');
  const deleteMailWith = db.prepare('DELETE FROM mails WHERE token = ?');
  const deleteMailsOf = db.prepare('DELETE FROM mails WHERE stream = ?');

  /** What each type does beside moving the version of its stream. */
  const effects: { [type in EventType]?: (event: AccountEvent) => void } = {
    'session.started': ({ header, slug, id, data, context, at }) => {
      const sid = textOf(data.sid);
      const expiresAt = timeOf(data.expiresAt);
      // A clock that was put back is behind the times of events: by those, what begins now would be over already.
      if (at < expiresAt) purgeSessions.run(at);
      if (sid === null) return;
      const values = [sid, slug, id, at, expiresAt, context.ip ?? null, context.userAgent ?? null];
      // A login that a change of the password overtook names the credential that was.
      insertSession.run(...values, header.stream, textOf(data.credential));
    },
    'session.refreshed': ({ slug, id, data, at }) => {
      updateSession.run(at, timeOf(data.expiresAt), textOf(data.sid), slug, id);
    },
    'session.revoked': ({ slug, id, data }) => {
      const sid = textOf(data.sid);
      if (sid === null) deleteSessions.run(slug, id, null);
      else deleteSession.run(sid, slug, id);
    },
    'password.changed': (event) => {
      const { header, slug, id, data } = event;
      setCredential.run(textOf(data.credential), header.stream);
      replaceReset(header.stream, null);
      deleteSessions.run(slug, id, textOf(data.keeps));
      if (textOf(data.reset) !== null) wait(event, { kind: 'passwordChanged', slug, id });
    },
    'password.reset.requested': (event) => {
      const { header, slug, id, data } = event;
      const token = textOf(data.reset);
      const expiresAt = timeOf(data.expiresAt);
      replaceReset(header.stream, token === null ? null : { token, email: textOf(data.email), expiresAt });
      if (token !== null) wait(event, { kind: 'passwordReset', slug, id, token, expiresAt });
    },
    'invite.created': (event) => {
      const { header, slug, id, data, at } = event;
      const email = textOf(data.email);
      const expiresAt = timeOf(data.expiresAt);
      if (at < expiresAt) for (const gone of purgeInvites.all(at)) deleteMailWith.run(gone);
      if (email === null) return;
      for (const replaced of deleteInvitesTo.all(slug, email)) deleteMailWith.run(replaced);
      insertInvite.run(id, slug, email, header.actor.id ?? '', expiresAt, header.version);
      wait(event, { kind: 'invitation', slug, email, token: id, expiresAt });
    },
    'invite.accepted': (event) => {
      deleteInvite.run(event.id);
      deleteMailWith.run(event.id);
      const account = textOf(event.data.account);
      if (account === null) return;
      const [slug, id] = splitStream(account);
      wait(event, { kind: 'welcome', slug, id });
    },
    'email.sent': ({ data }) => deleteMail.run(textOf(data.event)),
    'email.failed': ({ data }) => deleteMail.run(textOf(data.event)),
  };

  /** A token that is replaced or used up opens nothing any longer, so the mail that would bring it does not wait. */
  function replaceReset(stream: string, reset: Reset | null): void {
    deleteMailWith.run(selectReset.get(stream));
    setReset.run(reset?.token ?? null, reset?.email ?? null, reset?.expiresAt ?? null, stream);
  }

  function wait({ header, at }: AccountEvent, { kind, slug, id, email, token, expiresAt }: Mail): void {
    const who = [slug, id ?? null, email ?? null, token ?? null, expiresAt ?? null];
    insertMail.run(header.position, header.id, header.stream, kind, ...who, at);
  }

  /** An account ends with the document of its user. Most documents have none, which costs one look. */
  function endAccount(stream: string): void {
    const [slug, id] = splitStream(stream);
    const [reset] = deleteAccount.all(accountStream(slug, id));
    if (reset === undefined) return;
    deleteMailWith.run(reset);
    deleteSessions.run(slug, id, null);
  }

  /**
   * Forgets what streams have said. What has expired goes with it: an event that was erased may have been the one that ended it,
   * which a replay does not know any more.
   */
  function forget(document: string, data: JsonObject, at: number): void {
    endAccount(document);
    purgeSessions.run(at);
    for (const gone of purgeInvites.all(at)) deleteMailWith.run(gone);
    for (const { stream } of erasedStreams(data)) {
      deleteMailsOf.run(stream);
      const about = splitAccountStream(stream);
      if (about?.isInvite) deleteInvite.run(about.id);
    }
  }

  /** Applies one event; to be called for every event of the log, in order. */
  function apply({ header, data, context }: RecordedEvent): void {
    if (header.type === 'document.deleted') endAccount(header.stream);
    if (header.type === 'document.erased') forget(header.stream, data ?? {}, Date.parse(header.recordedAt));
    // Who logged in under a clock that was ahead would stay so for as long.
    if (header.stream === clockStream) deleteSessionsSince.run(Date.parse(header.recordedAt));
    const about = splitAccountStream(header.stream);
    if (!about) return;
    if (about.isInvite) updateInvite.run(header.version, about.id);
    else upsertAccount.run(header.stream, header.version);
    // What an erased payload said is not known: read as `{}`, it ends all that it may have ended and begins nothing.
    const at = Date.parse(header.recordedAt);
    effects[header.type]?.({ header, slug: about.slug, id: about.id, data: data ?? {}, context: context ?? {}, at });
  }

  return { apply };
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** Milliseconds since the epoch; what is no time is long over. */
function timeOf(value: Json | undefined): number {
  return typeof value === 'string' ? Date.parse(value) || 0 : 0;
}
