import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { AccountUrls, MailArgs, MailKind, MailReview, MailTemplate } from '../../../config/model.ts';
import { escapeHtml } from '../../platform/html.ts';
import type { TokenKind } from '../../ports.ts';
import { type AccountPage, accountPath, documentPath } from '../pages/links.ts';

/** A mail as text and as HTML, which say the same. The subject is one line. */
export type MailMessage = { subject: string; text: string; html: string };

/**
 * The values in the built-in texts. `until` is the time in words at which the link expires; null without a link.
 * `review` and `title`, that of a release, are null in other mails.
 */
type Facts = {
  email: string;
  site: string;
  until: string | null;
  review: ReviewWords | null;
  title: string | null;
};

/** A review in words: the document, who is behind the mail, and paragraphs of the note. */
type ReviewWords = { document: string; by: string; note: string[] };

type Form = {
  /** The page of the author that the mail links to; absent for the page of the document in the admin application. */
  page?: keyof AccountUrls;
  /** The page below the base URL that the mail links to if the author has none. */
  defaultPage?: AccountPage;
  /** The one-time token that its link carries. */
  token?: TokenKind;
  subject: (facts: Facts) => string;
  /** Paragraphs before and after the link, which stands under the words of `action`. */
  before: (facts: Facts) => string[];
  action: string;
  after: (facts: Facts) => string[];
};

const forms: Record<MailKind, Form> = {
  invitation: {
    page: 'acceptInvite',
    defaultPage: 'accept-invite',
    token: 'invite',
    subject: ({ site }) => `You are invited to ${site}`,
    before: ({ email, site }) => [
      `You are invited to ${site}. Choose a password, and you have an account under your address ${email}.`,
    ],
    action: 'Accept the invitation',
    after: ({ until }) => [
      `The link works once, until ${until}.`,
      'If you did not expect this message, you need not do anything.',
    ],
  },
  welcome: {
    page: 'login',
    subject: ({ site }) => `Welcome to ${site}`,
    before: ({ email, site }) => [
      `Welcome to ${site}. Your account is ready: log in with your address ${email} and the password that you have chosen.`,
    ],
    action: 'Log in',
    after: () => [],
  },
  passwordReset: {
    page: 'resetPassword',
    defaultPage: 'reset-password',
    token: 'reset',
    subject: ({ site }) => `Reset your password for ${site}`,
    before: ({ email, site }) => [`A new password was requested for the account ${email} at ${site}.`],
    action: 'Choose a new password',
    after: ({ until }) => [
      `The link works once, until ${until}. If you asked more than once, only the link in the newest message works.`,
      'If it was not you, you need not do anything: your password stays as it is.',
    ],
  },
  passwordChanged: {
    page: 'login',
    subject: ({ site }) => `Your password for ${site} was changed`,
    before: ({ email, site }) => [
      `The password of the account ${email} at ${site} was changed. All sessions of the account have ended.`,
    ],
    action: 'Log in',
    after: ({ site }) => [
      `If it was not you, another person may be reading your mail. Ask for a new password now, and tell the operators of ${site}.`,
    ],
  },
  releaseFailed: {
    page: 'login',
    subject: ({ title, site }) => `Not published at ${site}: ${title}`,
    before: ({ title, site }) => [
      `The release “${title}”, for which you had set the time, could not be published at ${site}. Nothing of it is public.`,
    ],
    action: 'Log in',
    after: () => ['The release says what is wrong. Once that is put right, set another time, or publish it by hand.'],
  },
  reviewRequested: {
    subject: ({ site }) => `A review is requested at ${site}`,
    before: ({ email, site, review }) => [
      `${review?.by} asks you (${email}) to review ${review?.document} at ${site} before it is published.`,
      ...(review?.note ?? []),
    ],
    action: 'Open the draft',
    after: () => [],
  },
  reviewRefused: {
    subject: ({ site }) => `A review was refused at ${site}`,
    before: ({ email, site, review }) => [
      `${review?.by} did not approve ${review?.document} at ${site}, for which you (${email}) had requested a review.`,
      ...(review?.note ?? []),
    ],
    action: 'Open the draft',
    after: () => [],
  },
};

/** The kind of the one-time token in the link of a mail; null without a token. */
export function tokenKindOf(kind: MailKind): TokenKind | null {
  return forms[kind].token ?? null;
}

/** The pages that mails of a collection link to: those of its author, else those below the address of the service. */
type Pages = {
  slug: string;
  urls: AccountUrls;
  baseUrl: string;
  site?: string | null;
  /** Whether the latter are pages of the admin application; default false. */
  isInAdmin?: boolean;
  /** The review that the mail is about. */
  review?: MailReview | null;
};

/** The page that a mail links to, with the token and the site in its query; null without a page. */
export function linkOf(
  kind: MailKind,
  { slug, urls, baseUrl, site = null, isInAdmin = false, review = null }: Pages,
  token: string | null,
): string | null {
  const { page, defaultPage } = forms[kind];
  const path = review ? isInAdmin && documentPath(review) : defaultPage && accountPath(defaultPage, slug, isInAdmin);
  const address = (page && urls[page]) ?? (path ? `${baseUrl}${path}` : undefined);
  if (address === undefined) return null;
  const url = new URL(address);
  if (token !== null) url.searchParams.set('token', token);
  if (site !== null) url.searchParams.set('site', site);
  return url.href;
}

/** A message to be written; `baseUrl` names the site if the message links to no page. */
type Order = {
  kind: MailKind;
  args: MailArgs;
  baseUrl: string;
  template: MailTemplate | undefined;
  log: Logger;
  /** How long a template may take. */
  templateSeconds?: number;
};

/**
 * Writes a message: each part by the author's template, else with the built-in text. A template that throws, takes too
 * long or gives no text is logged, and the built-in part is sent: the recipient waits for this mail.
 */
export async function writeMessage(order: Order): Promise<MailMessage> {
  const { kind, args, baseUrl, template, log, templateSeconds = 10 } = order;
  const own = ownMessage(kind, args, baseUrl);

  async function part(name: keyof MailMessage): Promise<string> {
    const make = template?.[name];
    if (!make) return own[name];
    try {
      const text = await inTime(async () => make(args), templateSeconds);
      if (typeof text !== 'string' || text.trim() === '') throw new Error('it gave no text');
      return text;
    } catch (err) {
      log.error({ err, mail: kind, part: name }, 'a mail template failed; the built-in text is sent in its place');
      return own[name];
    }
  }

  return { subject: oneLine(await part('subject')), text: await part('text'), html: await part('html') };
}

async function inTime<T>(make: () => Promise<T>, seconds: number): Promise<T> {
  const isOver = new AbortController();
  try {
    const late = wait(seconds * 1000, null, { signal: isOver.signal, ref: false }).then(() => {
      throw new Error(`it took longer than ${seconds} seconds`);
    });
    return await Promise.race([make(), late]);
  } finally {
    isOver.abort();
  }
}

/** A header is one line: line breaks become a space. */
function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

function ownMessage(kind: MailKind, args: MailArgs, baseUrl: string): MailMessage {
  const { email, url, expiresAt, review, release } = args;
  const { subject, before, action, after } = forms[kind];
  // Recipients know the site by its pages, which may have another host than the service.
  const site = new URL(url ?? baseUrl).host;
  const facts: Facts = {
    email,
    site,
    until: expiresAt && inWords(expiresAt),
    review: review && reviewInWords(review),
    title: release?.title ?? null,
  };
  const words = { subject: subject(facts), before: ['Hello,', ...before(facts)], action, after: after(facts) };
  return { subject: words.subject, text: asText(words, url), html: asHtml(words, url) };
}

function reviewInWords({ collection, global, version, note, by }: MailReview): ReviewWords {
  const document = global === null ? `a document of ${collection}` : `the global ${global}`;
  const name = typeof by?.email === 'string' ? by.email : 'An editor';
  const paragraphs = note === null ? [] : note.split(/\s*\n\s*\n\s*/).filter((one) => one.trim() !== '');
  return { document: `${document} (version ${version})`, by: name, note: paragraphs };
}

let clock: Intl.DateTimeFormat | undefined;

function inWords(time: Date): string {
  // Created with the first mail: it takes ten milliseconds, which each start would pay.
  clock ??= new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${clock.format(time)} UTC`;
}

type Words = { subject: string; before: string[]; action: string; after: string[] };

function asText({ before, action, after }: Words, url: string | null): string {
  const link = url === null ? [] : [`${action}:\n${url}`];
  return `${[...before, ...link, ...after].join('\n\n')}\n`;
}

function asHtml({ subject, before, action, after }: Words, url: string | null): string {
  const paragraph = (text: string) => `<p>${escapeHtml(text)}</p>`;
  const href = url === null ? '' : escapeHtml(url);
  const link = url === null ? [] : [`<p><a href="${href}"><b>${escapeHtml(action)}</b></a><br>${href}</p>`];
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(subject)}</title></head>
<body style="font: 16px/1.5 sans-serif; max-width: 36em; overflow-wrap: anywhere">
${[...before.map(paragraph), ...link, ...after.map(paragraph)].join('\n')}
</body>
</html>
`;
}
