import { isSmtpUrl, readSender } from './addresses.ts';
import { fieldTypes } from './fields.ts';
import type { EmailOptions, MailKind, MailTemplate } from './model.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isEntry,
  isFunction,
  join,
  own,
  passes,
  type Rule,
  report,
  rules,
} from './problems.ts';
import { show } from './suggest.ts';

const mailKinds: readonly MailKind[] = ['invitation', 'welcome', 'passwordReset', 'passwordChanged'];
const mailParts = ['subject', 'text', 'html'] as const;

/** What the sender of all mail must be. */
export const senderRule: Rule<string> = {
  passes: (value): value is string => typeof value === 'string' && isSender(value),
  must: 'be an e-mail address, or "Name <address>"',
};

/** What an SMTP URL must be. It may hold a password, so nothing of it belongs into a message. */
export const smtpUrlMust =
  'be an SMTP URL such as smtp://user:password@mail.example.org:587 or smtps://…, with / ? # and % of a password written as %2F %3F %23 %25';

/** How mail goes out, as far as the configuration says; null when it says nothing. */
export function checkEmail(checking: Checking, input: unknown): EmailOptions | null {
  if (input === undefined || input === false) return null;
  if (!isEntry(input)) {
    report(checking, 'email', `must be false or an object, got ${showKind(input)}`);
    return null;
  }
  const entry = input;
  checkKeys(checking, 'email', entry, ['from', 'transport', 'templates'], 'email');
  const from = own(entry, 'from');
  const isSent = passes(checking, 'email.from', from, senderRule);
  return {
    ...(isSent ? { from } : {}),
    ...checkTransport(checking, 'email.transport', own(entry, 'transport')),
    templates: checkTemplates(checking, 'email.templates', own(entry, 'templates')),
  };
}

function checkTransport(checking: Checking, path: string, input: unknown): Pick<EmailOptions, 'transport'> {
  if (input === undefined) return {};
  if (typeof input === 'string' && isSmtpUrl(input)) return { transport: input };
  // Options may hold what is no plain data, such as a socket's own.
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { transport: input };
  report(checking, path, `must ${smtpUrlMust}; or an object of nodemailer's options; got ${showKind(input)}`);
  return {};
}

/** A text here is probably an SMTP URL with its password. */
function showKind(input: unknown): string {
  return typeof input === 'string' ? 'a text that is none' : show(input);
}

function checkTemplates(checking: Checking, path: string, input: unknown): EmailOptions['templates'] {
  const templates: EmailOptions['templates'] = {};
  if (!passes(checking, path, input, rules.entry)) return templates;
  checkKeys(checking, path, input, mailKinds, 'templates');
  for (const kind of mailKinds) {
    const template = own(input, kind);
    if (passes(checking, join(path, kind), template, rules.entry)) {
      templates[kind] = checkTemplate(checking, join(path, kind), template);
    }
  }
  return templates;
}

function checkTemplate(checking: Checking, path: string, entry: Entry): MailTemplate {
  const template: MailTemplate = {};
  checkKeys(checking, path, entry, mailParts, 'a template');
  for (const part of mailParts) {
    const make = own(entry, part);
    if (make === undefined) continue;
    if (isFunction<NonNullable<MailTemplate[typeof part]>>(make)) template[part] = make;
    else report(checking, join(path, part), `must be a function, got ${show(make)}`);
  }
  return template;
}

function isSender(text: string): boolean {
  const sender = readSender(text);
  if (!sender) return false;
  return fieldTypes.email.schema({ name: 'from', type: 'email' }).validate(sender.address).error === undefined;
}
