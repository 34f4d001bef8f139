import { maxEmailLength } from './addresses.ts';
import type { AccountUrls, AuthOptions, Collection, Field } from './model.ts';
import {
  at,
  checkKeys,
  type Entry,
  optionOf,
  passes,
  type Rule,
  readSwitch,
  report,
  rules,
  type Spot,
  warn,
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

/** The maximum is a hundred years, so that an expiry stays within the range of `Date`. */
const seconds = wholeNumber(1, 3_155_760_000, ' of seconds');
const secondsOfDay = 86_400;

/**
 * The form that hapi accepts: without a scheme, a port and "--". With any other form hapi throws when it sets the
 * cookie.
 */
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

/** The schema of the first field of every auth collection. */
const emailSchema = {
  name: 'email',
  type: 'email',
  required: true,
  unique: true,
  maxLength: maxEmailLength,
} as const satisfies FieldSchema;

/** The first field of every auth collection. */
export const accountEmailField: Field = { ...emailSchema, isAccountEmail: true };

/** Members that account routes read from their bodies. A field with such a name cannot be set through these routes. */
const ownMembers = ['token', 'setupToken'];

/** Checks the options of an auth collection; null if the documents are not accounts. */
export function checkAuth(input: Spot): AuthOptions | null {
  const spot = readSwitch(input, authKeys, 'auth');
  if (!spot) return null;
  const lockTime = optionOf(at(spot, 'lockTime'), seconds, 600);
  if (lockTime > secondsOfDay) {
    warn(at(spot, 'lockTime'), `${lockTime} is more than a day; these are seconds`);
  }
  return {
    tokenExpiration: optionOf(at(spot, 'tokenExpiration'), seconds, 7200),
    maxLoginAttempts: optionOf(at(spot, 'maxLoginAttempts'), wholeNumber(1), 5),
    lockTime,
    useAPIKey: optionOf(at(spot, 'useAPIKey'), rules.boolean, false),
    depth: optionOf(at(spot, 'depth'), wholeNumber(0, 10), 0),
    cookies: checkCookies(at(spot, 'cookies')),
  };
}

function checkCookies(input: Spot): Cookies | null {
  if (input.value === false) return null;
  const isGiven = passes(input, { ...rules.entry, must: 'be false or an object' });
  const spot: Spot<Entry> = isGiven ? input : { ...input, value: {} };
  checkKeys(spot, cookieKeys, 'cookies');
  const cookies: Cookies = {
    secure: optionOf(at(spot, 'secure'), rules.boolean, null),
    sameSite: checkSameSite(at(spot, 'sameSite')),
    domain: optionOf(at(spot, 'domain'), domain, null),
  };
  if (cookies.sameSite === 'None' && cookies.secure === false) {
    report(at(spot, 'secure'), 'must not be false with sameSite "None": browsers refuse such a cookie');
  }
  return cookies;
}

function checkSameSite(spot: Spot): Cookies['sameSite'] {
  const { value: input } = spot;
  if (input === undefined) return 'Lax';
  const found = sameSites.find((policy) => typeof input === 'string' && policy.toLowerCase() === input.toLowerCase());
  if (found === undefined) {
    report(spot, `must be one of ${showAll(sameSites)}, got ${show(input)}${didYouMean(input, sameSites)}`);
  }
  return found ?? 'Lax';
}

/** Checks the URLs of the author's own pages, to which mails link. */
export function checkUrls(spot: Spot, isAuth: boolean): AccountUrls {
  if (!passes(spot, rules.entry)) return {};
  if (!isAuth) report(spot, 'is only for auth collections; this one has no auth');
  checkKeys(spot, urlKeys, 'urls');
  const urls: AccountUrls = {};
  for (const key of urlKeys) {
    const url = optionOf(at(spot, key), pageUrl, null);
    if (url !== null) urls[key] = url;
  }
  return urls;
}

function hasToken(url: string): boolean {
  return new URL(url).searchParams.has('token');
}

/** The fields of an auth collection: the e-mail that every account has, then the declared ones. */
export function withEmail(spot: Spot, { schema, fields }: Fields): Fields {
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom?.toLowerCase() === 'email') {
      report(at(at(spot, name), 'renamedFrom'), `${show(renamedFrom)} is still a field here`);
    }
    if (ownMembers.includes(name)) {
      warn(at(spot, name), `cannot be set by a new user: "${name}" has another meaning in that request`);
    }
  }
  return {
    schema: [{ ...emailSchema }, ...schema],
    fields: [accountEmailField, ...fields],
  };
}

/**
 * The collection whose users may do everything unless a rule says otherwise: `__admins`, else the first auth
 * collection.
 */
export function adminCollectionOf(collections: readonly Collection[]): string | null {
  const slugs = collections.filter(({ auth }) => auth).map(({ slug }) => slug);
  return slugs.includes('__admins') ? '__admins' : (slugs[0] ?? null);
}

/**
 * Warns of collections that are open to the users of every auth collection. With several auth collections this is
 * rarely meant.
 */
export function warnOfMissingRules(spot: Spot, collections: readonly Collection[]): void {
  const users = collections.filter(({ auth }) => auth).map(({ slug }) => slug);
  if (users.length < 2) return;
  for (const { slug, auth, access } of collections) {
    const missing = (['read', 'create', 'update', 'delete'] as const).filter((operation) => !access[operation]);
    if (auth || missing.length === 0) continue;
    const message = `there is no rule for ${missing.join(', ')}, so every user of ${showAll(users)} may`;
    warn(at(at(spot, slug), 'access'), message);
  }
}
