import type { Logger } from 'pino';
import type { MailArgs, MailKind, MailReview, Model, User } from '../../../config/model.ts';
import type { Category } from '../../../config/schema.ts';
import { releaseIdOf, splitStream } from '../../../events/facts/catalogue.ts';
import type { NewEvent, RecordedEvent } from '../../../events/facts/log.ts';
import type { WaitingMail } from '../../../projections/tables/accounts.ts';
import type { TokenKind } from '../../ports.ts';
import { worksInAdmin } from '../pages/links.ts';
import { linkOf, tokenKindOf, writeMessage } from './messages.ts';
import { type Mailer, Undeliverable } from './transport.ts';

/** The parts of a service by which a mail is written and sent. */
export type MailParts = {
  model: Model;
  /** The address of links for which the author has no page; without a slash at the end. */
  baseUrl: string;
  /** The site that links name; null if the process has only one. */
  site?: string | null;
  /** The raw document of a user; null if it was deleted. */
  userOf: (slug: string, id: string) => User | null | Promise<User | null>;
  /** The title of a release; null if it is not known. */
  titleOf?: (release: string) => string | null;
  /** Makes the text of a one-time token from its id. */
  token: (kind: TokenKind, category: Category, id: string) => string | Promise<string>;
  /** The event at a position of the log; null past its end. */
  eventAt: (position: number) => RecordedEvent | null;
  mailer: Mailer;
  log: Logger;
};

/** A mail without a link that expires is news for this long. */
const newsMilliseconds = 3 * 24 * 60 * 60 * 1000;

/** The time after which a mail is not sent any more, in milliseconds since the epoch. */
export function deadlineOf({ expiresAt, since }: WaitingMail): number {
  return expiresAt ?? since + newsMilliseconds;
}

/**
 * Sends a mail, unless its time is over.
 *
 * @returns the event to record: that it was sent, or that it never will be.
 * @throws Error if a retry may succeed.
 */
export async function sendMail(parts: MailParts, mail: WaitingMail, now: number): Promise<NewEvent> {
  const about = { mail: mail.kind, event: mail.event };
  try {
    if (now >= deadlineOf(mail)) throw new Undeliverable('gave up');
    await send(parts, mail);
    return { type: 'email.sent', data: about };
  } catch (error) {
    if (!(error instanceof Undeliverable)) throw error;
    const reason = error.message;
    parts.log.error({ ...about, err: error.cause }, `mail not sent: ${reason}`);
    return { type: 'email.failed', data: { ...about, reason } };
  }
}

async function send(parts: MailParts, mail: WaitingMail): Promise<void> {
  const { model, baseUrl, site = null, userOf, titleOf, token, mailer, log } = parts;
  const { kind, category, expiresAt, event } = mail;
  const collection = collectionOf(model, category);
  const user = !collection || mail.id === null ? null : await userOf(collection.slug, mail.id);
  const email = kind === 'invitation' ? mail.email : user?.email;
  if (!collection || typeof email !== 'string') throw new Undeliverable('the account is gone');

  const { slug } = collection;
  const review = await reviewOf(parts, mail);
  const pages = { slug, urls: collection.urls, baseUrl, site, isInAdmin: worksInAdmin(model, slug), review };
  const url = linkOf(kind, pages, await tokenOf(kind, mail, token));
  const releaseId = releaseIdOf(mail.stream);
  const release = releaseId === null ? null : { id: releaseId, title: titleOf?.(releaseId) ?? releaseId };
  const expires = expiresAt === null ? null : new Date(expiresAt);
  const args: MailArgs = { collection: slug, email, user, url, expiresAt: expires, review, release };
  const message = await writeMessage({ kind, args, baseUrl, template: model.email?.templates[kind], log });
  // An event may ask for several mails, and a receiver drops a mail with an id that it has.
  const messageId = review ? `${event}.${mail.id}` : event;
  await mailer.send({ ...message, kind, event, messageId, to: email });
}

/** The review that a mail is about; null for other mails. @throws Undeliverable if nothing is left of it. */
async function reviewOf(parts: MailParts, { about, position }: WaitingMail): Promise<MailReview | null> {
  if (about === null) return null;
  const { model, userOf, eventAt } = parts;
  const event = eventAt(position);
  const [category, id] = splitStream(about);
  const collection = collectionOf(model, category)?.slug ?? null;
  const global = collection === null && model.globals.has(id) ? id : null;
  if (!event?.data || (collection === null && global === null)) throw new Undeliverable('the document is gone');
  const { version, note } = event.data;
  const { actor } = event.header;
  const [of, userId] = splitStream(actor.type === 'user' ? (actor.id ?? '') : '');
  const slug = collectionOf(model, of)?.slug;
  return {
    collection,
    global,
    id: global === null ? id : null,
    version: Number(version),
    note: typeof note === 'string' ? note : null,
    by: slug === undefined ? null : await userOf(slug, userId),
  };
}

function collectionOf({ collections }: Model, category: Category) {
  return [...collections.values()].find((one) => one.category === category);
}

async function tokenOf(kind: MailKind, { category, token: id }: WaitingMail, make: MailParts['token']) {
  const tokenKind = tokenKindOf(kind);
  if (tokenKind === null) return null;
  if (id === null) throw new Error(`a mail "${kind}" without the id of its token`);
  return make(tokenKind, category, id);
}
