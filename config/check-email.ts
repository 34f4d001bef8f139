import { isSmtpUrl, readSender } from './addresses.ts';
import { fieldTypes } from './fields.ts';
import type { EmailOptions, MailKind, MailTemplate } from './model.ts';
import {
  at,
  checkKeys,
  type Entry,
  isEntry,
  isFunction,
  optionOf,
  own,
  passes,
  type Rule,
  report,
  rules,
  type Spot,
} from './problems.ts';
import { show } from './suggest.ts';

const mailKinds: readonly MailKind[] = [
  'invitation',
  'welcome',
  'passwordReset',
  'passwordChanged',
  'reviewRequested',
  'reviewRefused',
  'releaseFailed',
];
const mailParts = ['subject', 'text', 'html'] as const;

/** The rule of the sender of all mail. */
export const senderRule: Rule<string> = {
  passes: (value): value is string => typeof value === 'string' && isSender(value),
  must: 'be an e-mail address, or "Name <address>"',
};

/**
 * The form of an SMTP URL, as the end of "must …". Messages never show a wrong URL, because it may contain a password.
 */
export const smtpUrlMust =
  'be an SMTP URL such as smtp://user:password@mail.example.org:587 or smtps://…, with / ? # and % of a password written as %2F %3F %23 %25';

/** Checks the options of mail; null if the configuration has none. */
export function checkEmail(spot: Spot): EmailOptions | null {
  const { value } = spot;
  if (value === undefined || value === false) return null;
  if (!isEntry(value)) {
    report(spot, `must be false or an object, got ${showKind(value)}`);
    return null;
  }
  checkKeys({ ...spot, value }, ['from', 'transport', 'templates'], 'email');
  const from = optionOf(at(spot, 'from'), senderRule, null);
  return {
    ...(from === null ? {} : { from }),
    ...checkTransport(at(spot, 'transport')),
    templates: checkTemplates(at(spot, 'templates')),
  };
}

function checkTransport(spot: Spot): Pick<EmailOptions, 'transport'> {
  const { value: input } = spot;
  if (input === undefined) return {};
  if (typeof input === 'string' && isSmtpUrl(input)) return { transport: input };
  // The options of nodemailer may hold more than plain data, for example a socket.
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) return { transport: input };
  report(spot, `must ${smtpUrlMust}; or an object of nodemailer's options; got ${showKind(input)}`);
  return {};
}

/** Does not show a text: it is probably an SMTP URL with a password. */
function showKind(input: unknown): string {
  return typeof input === 'string' ? 'a text of another form' : show(input);
}

function checkTemplates(spot: Spot): EmailOptions['templates'] {
  const templates: EmailOptions['templates'] = {};
  if (!passes(spot, rules.entry)) return templates;
  checkKeys(spot, mailKinds, 'templates');
  for (const kind of mailKinds) {
    const template = at(spot, kind);
    if (passes(template, rules.entry)) templates[kind] = checkTemplate(template);
  }
  return templates;
}

function checkTemplate(spot: Spot<Entry>): MailTemplate {
  const template: MailTemplate = {};
  checkKeys(spot, mailParts, 'a template');
  for (const part of mailParts) {
    const make = own(spot.value, part);
    if (make === undefined) continue;
    if (isFunction<NonNullable<MailTemplate[typeof part]>>(make)) template[part] = make;
    else report(at(spot, part), `must be a function, got ${show(make)}`);
  }
  return template;
}

function isSender(text: string): boolean {
  const sender = readSender(text);
  if (!sender) return false;
  return fieldTypes.email.schema({ name: 'from', type: 'email' }).validate(sender.address).error === undefined;
}
