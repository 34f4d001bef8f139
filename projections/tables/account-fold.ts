import { isObject, type Json, type JsonObject } from '../../config/schema.ts';
import type { AccountRef } from '../../events/facts/accounts.ts';
import {
  accountStream,
  clockStream,
  type EventType,
  releaseIdOf,
  splitAccountStream,
  splitStream,
} from '../../events/facts/catalogue.ts';
import type { Context, Header } from '../../events/facts/envelope.ts';
import { erasedStreams } from '../../events/facts/erasures.ts';
import type { RecordedEvent } from '../../events/facts/log.ts';
import type { Sqlite } from '../../storage/sqlite.ts';
import { type AccountRows, openAccountTables } from './account-rows.ts';

/** The tables about accounts, whatever the schema. */
export const accountTables = ['accounts', 'sessions', 'invites', 'mails'] as const;

/**
 * Makes the account tables in an empty file, with their indexes: the tables stay small, so a bulk load can have the
 * indexes from the start.
 */
export function createAccountTables(db: Sqlite): void {
  db.exec(`
    CREATE TABLE accounts (
      stream TEXT PRIMARY KEY, version INTEGER NOT NULL, credential TEXT, reset TEXT, reset_email TEXT,
      reset_expires_at INTEGER, last_login_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX accounts_reset ON accounts (reset) WHERE reset IS NOT NULL;
    CREATE TABLE sessions (
      sid TEXT PRIMARY KEY, category TEXT NOT NULL, id TEXT NOT NULL, started_at INTEGER NOT NULL, refreshed_at INTEGER,
      expires_at INTEGER NOT NULL, ip TEXT, user_agent TEXT
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sessions_account ON sessions (category, id);
    CREATE INDEX sessions_expiry ON sessions (expires_at);
    CREATE TABLE invites (
      id TEXT PRIMARY KEY, category TEXT NOT NULL, email TEXT NOT NULL, inviter TEXT NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, version INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX invites_email ON invites (category, email);
    CREATE INDEX invites_expiry ON invites (expires_at);
    CREATE TABLE mails (
      position INTEGER NOT NULL, event TEXT NOT NULL, stream TEXT NOT NULL, kind TEXT NOT NULL, category TEXT NOT NULL,
      id TEXT, email TEXT, token TEXT, expires_at INTEGER, since INTEGER NOT NULL, about TEXT,
      PRIMARY KEY (position, stream)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX mails_event ON mails (event, stream);
    CREATE INDEX mails_token ON mails (token);
    CREATE INDEX mails_about ON mails (about) WHERE about IS NOT NULL;
  `);
}

/**
 * An event of a stream about accounts. `category` and `id` are from the name of the stream; `at` is when it was
 * recorded, in milliseconds since the epoch.
 */
type AccountEvent = AccountRef & { header: Header; data: JsonObject; context: Context; at: number };

export type AccountFold = ReturnType<typeof openAccountFold>;

/**
 * Folds events into the tables about accounts, one by one. Like the other folds it is pure: the times of events decide
 * what has expired, and nothing outside of the log decides who is logged in.
 */
export function openAccountFold(db: Sqlite) {
  const rows = openAccountTables(db);
  const effects = effectsOn(rows);
  const releases = effectsOfReleases(rows);

  /** Applies one event. Must be called for every event of the log, in order. */
  function apply({ header, data, context }: RecordedEvent): void {
    const at = Date.parse(header.recordedAt);
    if (header.type === 'document.deleted') endAccount(rows, header.stream);
    if (header.type === 'document.erased') forget(rows, { stream: header.stream, data: data ?? {}, at });
    // A login under a clock that was ahead would last longer by that lead.
    if (header.stream === clockStream) rows.sessions.endSince(at);
    if (releaseIdOf(header.stream) !== null) releases[header.type]?.({ header, data: data ?? {}, at });
    if (endsReviewMails.has(header.type)) rows.mails.removeAbout(header.stream);
    if (header.type === 'review.requested' || header.type === 'review.refused') addReviewMails(rows, header, data);
    const about = splitAccountStream(header.stream);
    if (!about) return;
    if (about.isInvite) rows.invites.move(about.id, header.version);
    else rows.accounts.move(header.stream, header.version);
    // The payload of an erased event is not known. Read as `{}`, the event ends all that it may have ended, and begins
    // nothing.
    effects[header.type]?.({
      header,
      category: about.category,
      id: about.id,
      data: data ?? {},
      context: context ?? {},
      at,
    });
  }

  return { apply };
}

/** The effects of each type of event, beside moving the version of its stream. */
function effectsOn({ accounts, sessions, invites, mails }: AccountRows): {
  [type in EventType]?: (event: AccountEvent) => void;
} {
  return {
    'session.started': ({ header, category, id, data, context, at }) => {
      const sid = textOf(data.sid);
      const expiresAt = timeOf(data.expiresAt);
      // After the clock was put back, times of events may be later than now: by them, a session that begins now would
      // be over already.
      if (at < expiresAt) sessions.purge(at);
      accounts.setLogin(header.stream, at);
      if (sid === null) return;
      const from = { ip: context.ip ?? null, userAgent: context.userAgent ?? null };
      sessions.start({ sid, category, id, startedAt: at, expiresAt, ...from }, header.stream, textOf(data.credential));
    },
    'session.refreshed': ({ category, id, data, at }) => {
      sessions.refresh({ category, id }, textOf(data.sid), { at, expiresAt: timeOf(data.expiresAt) });
    },
    'session.revoked': ({ category, id, data }) => {
      const sid = textOf(data.sid);
      if (sid === null) sessions.endAll({ category, id });
      else sessions.end({ category, id }, sid);
    },
    'password.changed': (event) => {
      const { header, category, id, data } = event;
      accounts.setCredential(header.stream, textOf(data.credential));
      mails.removeWith([accounts.replaceReset(header.stream, null)]);
      sessions.endAll({ category, id }, textOf(data.keeps));
      if (textOf(data.reset) !== null) mails.add({ ...requestOf(event), kind: 'passwordChanged', category, id });
    },
    'password.reset.requested': (event) => {
      const { header, category, id, data } = event;
      const token = textOf(data.reset);
      const expiresAt = timeOf(data.expiresAt);
      const reset = token === null ? null : { token, email: textOf(data.email), expiresAt };
      mails.removeWith([accounts.replaceReset(header.stream, reset)]);
      if (token !== null) mails.add({ ...requestOf(event), kind: 'passwordReset', category, id, token, expiresAt });
    },
    'invite.created': (event) => {
      const { header, category, id, data, at } = event;
      const email = textOf(data.email);
      const expiresAt = timeOf(data.expiresAt);
      if (at < expiresAt) mails.removeWith(invites.purge(at));
      if (email === null) return;
      const { version, actor } = header;
      mails.removeWith(
        invites.add({ id, category, email, inviter: actor.id ?? '', createdAt: at, expiresAt, version }),
      );
      mails.add({ ...requestOf(event), kind: 'invitation', category, email, token: id, expiresAt });
    },
    'invite.accepted': (event) => {
      invites.remove(event.id);
      mails.removeWith([event.id]);
      const account = textOf(event.data.account);
      if (account === null) return;
      const [category, id] = splitStream(account);
      mails.add({ ...requestOf(event), kind: 'welcome', category, id });
    },
    'invite.withdrawn': ({ id }) => {
      invites.remove(id);
      mails.removeWith([id]);
    },
    ...endsOfMails(mails),
  };
}

function endsOfMails(mails: AccountRows['mails']) {
  return {
    'email.sent': ({ header, data }: Pick<AccountEvent, 'header' | 'data'>) =>
      mails.remove(textOf(data.event), header.stream),
    'email.failed': ({ header, data }: Pick<AccountEvent, 'header' | 'data'>) =>
      mails.remove(textOf(data.event), header.stream),
  };
}

/** The mails about releases: to the user who had planned one that could not be published. */
function effectsOfReleases({ mails }: AccountRows): {
  [type in EventType]?: (event: Pick<AccountEvent, 'header' | 'data' | 'at'>) => void;
} {
  return {
    'release.failed': (event) => {
      const planner = isObject(event.data.scheduledBy) ? event.data.scheduledBy : {};
      if (planner.type !== 'user') return;
      const [category, id] = splitStream(String(planner.id));
      mails.add({ ...requestOf(event), kind: 'releaseFailed', category, id });
    },
    ...endsOfMails(mails),
  };
}

/** The events after which the mails about a review of their document that still wait are not sent any more. */
const endsReviewMails: ReadonlySet<string> = new Set<EventType>([
  'review.requested',
  'review.refused',
  'review.withdrawn',
  'document.published',
  'global.published',
  'document.draft.discarded',
  'global.draft.discarded',
  'document.deleted',
  'document.erased',
]);

/**
 * Adds a mail for each person whom an event about a review names. Its end is recorded in the stream of their account:
 * an event in the stream of the document would be a version of it.
 */
function addReviewMails({ mails }: AccountRows, header: Header, data: JsonObject | null): void {
  const kind = header.type === 'review.requested' ? 'reviewRequested' : 'reviewRefused';
  const to = Array.isArray(data?.to) ? data.to : [];
  for (const person of new Set(to)) {
    const name = textOf(person);
    if (!name?.includes('/')) continue;
    const [category, id] = splitStream(name);
    const { position, id: event, stream: about, recordedAt } = header;
    const stream = accountStream(category, id);
    mails.add({ position, event, stream, about, kind, category, id, since: Date.parse(recordedAt) });
  }
}

/** The event that asks for a mail. */
function requestOf({ header, at }: Pick<AccountEvent, 'header' | 'at'>) {
  return { position: header.position, event: header.id, stream: header.stream, since: at };
}

/** Ends the account of a deleted user document. Most documents have no account, which costs one look-up. */
function endAccount({ accounts, sessions, mails }: AccountRows, document: string): void {
  const reset = accounts.end(document);
  if (reset === undefined) return;
  const [category, id] = splitStream(document);
  mails.removeWith([reset]);
  sessions.endAll({ category, id });
}

/**
 * Forgets the streams that an event has erased, and what has expired: an erased event may have ended it, and a replay
 * does not know that any more.
 */
function forget(
  rows: AccountRows,
  { stream: document, data, at }: { stream: string; data: JsonObject; at: number },
): void {
  endAccount(rows, document);
  rows.sessions.purge(at);
  rows.mails.removeWith(rows.invites.purge(at));
  for (const { stream } of erasedStreams(data)) {
    rows.mails.removeOf(stream);
    const about = splitAccountStream(stream);
    if (about?.isInvite) rows.invites.remove(about.id);
  }
}

function textOf(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** Milliseconds since the epoch; a text that is not a time is long over. */
function timeOf(value: Json | undefined): number {
  return typeof value === 'string' ? Date.parse(value) || 0 : 0;
}
