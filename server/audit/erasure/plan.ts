import { normalEmail } from '../../../config/addresses.ts';
import { DomainError, inBody, invalidFields } from '../../../config/errors.ts';
import type { Model } from '../../../config/model.ts';
import { isObject, type JsonObject, memberOf } from '../../../config/schema.ts';
import { didYouMean, show } from '../../../config/suggest.ts';
import { decideNothing } from '../../../events/facts/accounts.ts';
import { accountStream, documentStream, inviteStream, setupStream } from '../../../events/facts/catalogue.ts';
import { type ErasedStream, staysErased } from '../../../events/facts/erasures.ts';
import type { Change, RecordedEvent } from '../../../events/facts/log.ts';
import { filesIn } from '../../../events/facts/named-files.ts';
import type { App } from '../../app.ts';

/** The extent of an erasure before it is recorded. */
export type ErasurePlan = {
  change: Change;
  otherStreams: Change[];
  erases: string[];
  streams: ErasedStream[];
  /** Of these streams, payloads that are there: of the document, of the account, and how many invitations. */
  counts: { versions: number; accountEvents: number; invitations: number };
  /** Every address that the account had or was sent to. */
  emails: string[];
  /** The credentials of its passwords in the vault. */
  credentials: string[];
  /** SHA-256 of the stored files that the document named. */
  files: string[];
};

/** First segments of stream names that are not collections. */
const reserved: Record<string, string> = {
  globals:
    'a global cannot be erased: it is not about a person. Empty its fields, or erase the documents that it is about',
  accounts: 'an account is erased with the document of its user: collection names the collection of users',
  system: 'what the log says of itself cannot be erased',
};

/**
 * Works out from the log which streams are about a document, whether it exists, is deleted, or its collection is no
 * longer configured.
 *
 * @throws DomainError `validation_failed` if the slug is not a collection's, `not_found` for an unknown document,
 * `conflict` for   an erased one.
 */
export function planErasure(app: Pick<App, 'events' | 'model' | 'names'>, slug: string, id: string): ErasurePlan {
  const { events, model, names } = app;
  if (Object.hasOwn(reserved, slug) || slug.includes('/')) throw wrongCollection(model, slug);
  const category = names.categoryFor(slug);
  const stream = documentStream(category, id);
  const document = events.stream(stream);
  if (document.length === 0) throw notFound(model, slug, id);

  const account = events.stream(accountStream(category, id));
  const invitations = events.streamsUnder(inviteStream(category, ''));
  const isAccount = account.length > 0 || invitations.length > 0;
  // Elsewhere a field of this name is a field like others.
  const emails = emailsIn(isAccount ? [...document, ...account] : []);
  const invites = invitations.map((name) => events.stream(name)).filter((invite) => isAbout(invite, stream, emails));
  const setups = events.stream(setupStream(category));
  const setup = setups.slice(0, setups.findLastIndex(({ data }) => data?.account === stream) + 1);

  const taken = [document, account, setup, ...invites].filter((recorded) => recorded.some(isLeft));
  const streams = taken.map(spanOf);
  if (streams.length === 0) throw new DomainError('erased', `${slug}/${id} was erased already: nothing of it is left`);
  const data: JsonObject = { streams };
  return {
    change: { ...decideNothing(stream, document.length), events: [{ type: 'document.erased', data }] },
    // The streams must not change between this look and the erasure.
    otherStreams: [decideNothing(accountStream(category, id), account.length), ...invites.map(unchanged)],
    erases: streams.map((one) => one.stream),
    streams,
    counts: {
      versions: document.filter(isLeft).length,
      accountEvents: [...account, ...setup].filter(isLeft).length,
      invitations: invites.filter((invite) => invite.some(isLeft)).length,
    },
    emails: [...emails],
    credentials: account.flatMap(({ data }) => (typeof data?.credential === 'string' ? [data.credential] : [])),
    files: [...new Set(document.filter(isLeft).flatMap(({ data }) => [...filesIn(data ?? {})]))],
  };
}

function isLeft({ header, data }: RecordedEvent): boolean {
  return data !== null && !staysErased(header.type);
}

function spanOf(recorded: readonly RecordedEvent[]): ErasedStream {
  const { stream, version } = (recorded.at(-1) as RecordedEvent).header;
  return { stream, versions: version };
}

function unchanged(recorded: readonly RecordedEvent[]): Change {
  const { stream, versions } = spanOf(recorded);
  return decideNothing(stream, versions);
}

/** All e-mail addresses of a document and its account, normalized. */
function emailsIn(recorded: readonly RecordedEvent[]): Set<string> {
  const emails = recorded
    .flatMap(({ data }) => (data ? [data, data.set, data.document] : []))
    .filter(isObject)
    .map((holder) => memberOf(holder, 'email'))
    .filter((email) => typeof email === 'string');
  return new Set(emails.filter((email) => email !== '').map(normalEmail));
}

/** An invitation is about the account that it became; an open one is about the owner of its address. */
function isAbout(invite: readonly RecordedEvent[], account: string, emails: ReadonlySet<string>): boolean {
  const accepted = invite.find(({ header }) => header.type === 'invite.accepted');
  if (accepted) return accepted.data?.account === account;
  return invite.some(({ data }) => typeof data?.email === 'string' && emails.has(normalEmail(data.email)));
}

function wrongCollection({ collections }: Model, slug: string): DomainError {
  const message =
    reserved[slug] ?? `collection must be the slug of one, got ${show(slug)}${didYouMean(slug, collections.keys())}`;
  return invalidFields([{ ...inBody('collection', 'not_allowed'), message }]);
}

function notFound({ collections }: Model, slug: string, id: string): DomainError {
  if (collections.has(slug)) return new DomainError('not_found', `there never was a document ${show(id)} in ${slug}`);
  const hint = didYouMean(slug, collections.keys());
  return new DomainError('not_found', `the log knows no document ${show(id)} of a collection ${show(slug)}${hint}`);
}
