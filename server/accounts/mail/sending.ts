import type { Logger } from 'pino';
import type { MailKind, Model, User } from '../../../config/model.ts';
import type { Category } from '../../../config/schema.ts';
import type { NewEvent } from '../../../events/facts/log.ts';
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
  /** Makes the text of a one-time token from its id. */
  token: (kind: TokenKind, category: Category, id: string) => string | Promise<string>;
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
  const { model, baseUrl, site = null, userOf, token, mailer, log } = parts;
  const { kind, category, expiresAt, event } = mail;
  const collection = [...model.collections.values()].find((one) => one.category === category);
  const user = !collection || mail.id === null ? null : await userOf(collection.slug, mail.id);
  const email = kind === 'invitation' ? mail.email : user?.email;
  if (!collection || typeof email !== 'string') throw new Undeliverable('the account is gone');

  const { slug } = collection;
  const pages = { slug, urls: collection.urls, baseUrl, site, isInAdmin: worksInAdmin(model, slug) };
  const url = linkOf(kind, pages, await tokenOf(kind, mail, token));
  const args = { collection: slug, email, user, url, expiresAt: expiresAt === null ? null : new Date(expiresAt) };
  const message = await writeMessage({ kind, args, baseUrl, template: model.email?.templates[kind], log });
  await mailer.send({ ...message, kind, event, to: email });
}

async function tokenOf(kind: MailKind, { category, token: id }: WaitingMail, make: MailParts['token']) {
  const tokenKind = tokenKindOf(kind);
  if (tokenKind === null) return null;
  if (id === null) throw new Error(`a mail "${kind}" without the id of its token`);
  return make(tokenKind, category, id);
}
