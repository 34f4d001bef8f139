import { maxEmailLength } from './addresses.ts';
import type { AccountUrls, AuthOptions, Collection, Field } from './model.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isEntry,
  join,
  own,
  passes,
  type Rule,
  readOption,
  readSwitch,
  report,
  rules,
  wholeNumber,
} from './problems.ts';
import type { FieldSchema } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';
import type { Fields } from './uploads.ts';

type Cookies = NonNullable<AuthOptions['cookies']>;

const authKeys = ['tokenExpiration', 'maxLoginAttempts', 'lockTime', 'useAPIKey', 'depth', 'cookies'] as const;
const cookieKeys = ['secure', 'sameSite', 'domain'] as const;
const urlKeys = ['acceptInvite', 'resetPassword', 'login'] as const;
const sameSites: readonly Cookies['sameSite'][] = ['Lax', 'Strict', 'None'];

/** A hundred years: times beyond those of `Date` would be none. */
const seconds = wholeNumber(1, 3_155_760_000, ' of seconds');
const secondsOfDay = 86_400;

/** As hapi takes it, which throws at any other when it sets the cookie: no scheme or port, no "--". */
const domain: Rule<string> = {
  passes: (value): value is string => typeof value === 'string' && value.length <= 255 && domainPattern.test(value),
  must: 'be a domain such as "example.org"',
};
const domainPattern = /^(?!.*[a-z\d-]{64})\.?[a-z\d]+(?:-[a-z\d]+)*(?:\.[a-z\d]+(?:-[a-z\d]+)*)*$/i;

const pageUrl: Rule<string> = {
  passes: (value): value is string =>
    typeof value === 'string' && /^https?:\/\/[^\s/]\S*$/i.test(value) && URL.canParse(value) && !hasToken(value),
  must: 'be an absolute http or https URL without a parameter "token"',
};

/** What every auth collection has first, as plain data. */
const emailSchema = {
  name: 'email',
  type: 'email',
  required: true,
  unique: true,
  maxLength: maxEmailLength,
} as const satisfies FieldSchema;

/** What every auth collection has first. */
export const accountEmailField: Field = { ...emailSchema, isAccountEmail: true };

/** Names of the service's own in the bodies of account routes: a field of that name cannot be given there. */
const ownMembers = ['token', 'setupToken'];

/** The options of an auth collection; null where the documents are no accounts. */
export function checkAuth(checking: Checking, path: string, input: unknown): AuthOptions | null {
  const entry = readSwitch(checking, path, input, authKeys, 'auth');
  if (!entry) return null;
  const lockTime = readOption(checking, path, entry, 'lockTime', seconds, 600);
  if (lockTime > secondsOfDay) {
    checking.warnings.push(`${join(path, 'lockTime')}: ${lockTime} is more than a day; these are seconds`);
  }
  return {
    tokenExpiration: readOption(checking, path, entry, 'tokenExpiration', seconds, 7200),
    maxLoginAttempts: readOption(checking, path, entry, 'maxLoginAttempts', wholeNumber(1), 5),
    lockTime,
    useAPIKey: readOption(checking, path, entry, 'useAPIKey', rules.boolean, false),
    depth: readOption(checking, path, entry, 'depth', wholeNumber(0, 10), 0),
    cookies: checkCookies(checking, join(path, 'cookies'), own(entry, 'cookies')),
  };
}

function checkCookies(checking: Checking, path: string, input: unknown): Cookies | null {
  if (input === false) return null;
  const entry: Entry = isEntry(input) ? input : {};
  passes(checking, path, input, { ...rules.entry, must: 'be false or an object' });
  checkKeys(checking, path, entry, cookieKeys, 'cookies');
  const cookies: Cookies = {
    secure: readOption(checking, path, entry, 'secure', rules.boolean, null),
    sameSite: checkSameSite(checking, join(path, 'sameSite'), own(entry, 'sameSite')),
    domain: readOption(checking, path, entry, 'domain', domain, null),
  };
  if (cookies.sameSite === 'None' && cookies.secure === false) {
    report(checking, join(path, 'secure'), 'must not be false with sameSite "None": browsers refuse such a cookie');
  }
  return cookies;
}

function checkSameSite(checking: Checking, path: string, input: unknown): Cookies['sameSite'] {
  if (input === undefined) return 'Lax';
  const found = sameSites.find((policy) => typeof input === 'string' && policy.toLowerCase() === input.toLowerCase());
  if (found === undefined) {
    report(checking, path, `must be one of ${showAll(sameSites)}, got ${show(input)}${didYouMean(input, sameSites)}`);
  }
  return found ?? 'Lax';
}

/** The pages of the author's own that mails link to. */
export function checkUrls(checking: Checking, path: string, input: unknown, isAuth: boolean): AccountUrls {
  if (!passes(checking, path, input, rules.entry)) return {};
  if (!isAuth) report(checking, path, 'is only for auth collections; this one has no auth');
  checkKeys(checking, path, input, urlKeys, 'urls');
  const urls: AccountUrls = {};
  for (const key of urlKeys) {
    const url = readOption(checking, path, input, key, pageUrl, null);
    if (url !== null) urls[key] = url;
  }
  return urls;
}

function hasToken(url: string): boolean {
  return new URL(url).searchParams.has('token');
}

/** The fields of an auth collection: its own after the e-mail that every one has. */
export function withEmail(checking: Checking, path: string, { schema, fields }: Fields): Fields {
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom?.toLowerCase() === 'email') {
      report(checking, join(join(path, name), 'renamedFrom'), `${show(renamedFrom)} is still a field here`);
    }
    if (ownMembers.includes(name)) {
      checking.warnings.push(`${join(path, name)}: cannot be given by a new user, whose "${name}" is something else`);
    }
  }
  return {
    schema: [{ ...emailSchema }, ...schema],
    fields: [accountEmailField, ...fields],
  };
}

/** The collection whose users may do everything where no rule says otherwise: `__admins`, else the first with accounts. */
export function adminCollectionOf(collections: readonly Collection[]): string | null {
  const slugs = collections.filter(({ auth }) => auth).map(({ slug }) => slug);
  return slugs.includes('__admins') ? '__admins' : (slugs[0] ?? null);
}

/** Warns of collections that are open to the users of every auth collection, which few mean when there are several. */
export function warnOfMissingRules(checking: Checking, collections: readonly Collection[]): void {
  const users = collections.filter(({ auth }) => auth).map(({ slug }) => slug);
  if (users.length < 2) return;
  for (const { slug, auth, access } of collections) {
    const missing = (['read', 'create', 'update', 'delete'] as const).filter((operation) => !access[operation]);
    if (auth || missing.length === 0) continue;
    const path = join(join('collections', slug), 'access');
    const message = `there is no rule for ${missing.join(', ')}, so every user of ${showAll(users)} may`;
    checking.warnings.push(`${path}: ${message}`);
  }
}
