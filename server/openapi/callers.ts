import type { AuthOptions, Collection, Global, Model } from '../../config/model.ts';
import { anyField } from '../../config/traits.ts';
import { decidingRight, type Right } from '../access/rules.ts';
import { cookieName } from '../callers/cookies.ts';
import type { ApiSchema } from './fields.ts';
import { type DescribedAnswers, json, refusals, refusalsForNow } from './responses.ts';

/** The callers that a route admits. */
export type AdmittedCallers =
  /** For everybody: no credential is looked at. `isCounted`: calls per minute are bounded. */
  | { kind: 'anybody'; isCounted?: true }
  /** Those that a rule of the configuration admits, or the default rule. */
  | { kind: 'admitted'; target: Collection | Global; right: Right }
  /** Those with any credential. */
  | { kind: 'known'; orAnybody: boolean }
  /** Those of users: of the collection `of`, or of any. */
  | { kind: 'user'; of?: string }
  /**
   * Those whom the audit rule lets look into the history. `refusesKeys`: not an API key where accounts are closed to
   * it. `refusesForeign`: not a cookie that comes from a page elsewhere, though it is a GET.
   */
  | { kind: 'auditor'; refusesKeys?: true; refusesForeign?: true }
  /** Callers that may erase. */
  | { kind: 'eraser' }
  /** Those who manage API keys. */
  | { kind: 'manager' }
  /** Those who may use releases. */
  | { kind: 'releaser' };

/** Credentials by the names of their security schemes, any of which is enough; `{}`: without a credential. */
type Security = Record<string, string[]>[];

/** The credentials there are, as security schemes. Only users have others than a key. */
export function schemesOf(model: Model, site: string | null): Record<string, ApiSchema> {
  const accounts = accountsOf(model);
  const key = { type: 'apiKey', in: 'header', name: 'x-api-key', description: keyText };
  const ofSite =
    site === null ? {} : { site: { type: 'apiKey', in: 'header', name: 'x-site-id', description: siteText(site) } };
  if (accounts.length === 0) return { apiKey: key, ...ofSite };
  const cookies = accounts
    .filter(({ auth }) => auth.cookies)
    .map(({ slug }) => [schemeOf(slug), cookie(slug, cookieName(site, slug))] as const);
  return {
    apiKey: { ...key, description: `${keyText} On accounts, a key alone counts only if the configuration allows it.` },
    bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: bearerText },
    ...Object.fromEntries(cookies),
    ...ofSite,
  };
}

/** Beside each credential, the site that it is one of; a token names that by itself. */
export function withSite(security: Security): Security {
  const alternatives = security.length === 0 ? [{}] : security;
  return alternatives.map((one) => ('bearer' in one ? one : { ...one, site: [] }));
}

/** The credentials that a route needs. */
export function securityOf(model: Model, caller: AdmittedCallers): Security {
  switch (caller.kind) {
    case 'anybody':
      return [];
    case 'known':
      return [{ apiKey: [] }, ...usersOf(model), ...(caller.orAnybody ? [{}] : [])];
    case 'user':
      return usersOf(model, caller.of === undefined ? undefined : [caller.of]);
    case 'auditor':
      // As with every rule: only it knows whether it lets everybody in.
      if (model.audit) return [{ apiKey: [] }, ...usersOf(model), {}];
      return [{ apiKey: [] }, ...usersOf(model, adminsOf(model))];
    case 'eraser':
      return [{ apiKey: [] }, ...(model.erase ? usersOf(model) : usersOf(model, adminsOf(model)))];
    case 'manager':
      // Users of the collection of that name alone, and not of another admin collection.
      return [{ apiKey: [] }, ...(model.keys ? usersOf(model) : usersOf(model, managersOf(model)))];
    case 'releaser':
      return [{ apiKey: [] }, ...(model.releases ? usersOf(model) : usersOf(model, adminsOf(model)))];
    case 'admitted': {
      const { target, right } = caller;
      const key = isAccount(target) && !target.auth.useAPIKey ? [] : [{ apiKey: [] }];
      // A rule may let everybody in; whether it does, only it knows.
      if (target.access[decidingRight(target, right)]) return [...key, ...usersOf(model), {}];
      return [...key, ...usersOf(model, isAccount(target) ? admittedWithoutRule(model, target, right) : undefined)];
    }
  }
}

/** The refusals for missing rights, and for too many calls. */
export function refusalsOf(model: Model, caller: AdmittedCallers, isWrite: boolean): DescribedAnswers {
  if (caller.kind === 'anybody') return caller.isCounted && model.rateLimit ? refusalsForNow([429]) : {};
  const comesByCookie = accountsOf(model).some(({ auth }) => auth.cookies);
  if (caller.kind === 'auditor' || caller.kind === 'eraser') return refusalsOfAudit(model, caller, comesByCookie);
  const reasons = [
    ...(isWrite && comesByCookie ? [foreign] : []),
    ...(caller.kind === 'admitted' && mayBeForbidden(model, caller) ? ['a rule refused'] : []),
    ...(caller.kind === 'manager' ? ['the caller does not manage keys'] : []),
    ...(caller.kind === 'releaser'
      ? ['the caller may not do this with releases, or not publish a document of one']
      : []),
    // Where all is public, a key sees what everybody does.
    ...(caller.kind === 'admitted' || (caller.kind === 'known' && !caller.orAnybody) ? [outside] : []),
  ];
  return { ...refusals([401]), ...(reasons.length > 0 ? { 403: json(sentenceOf(reasons), 'Error') } : {}) };
}

function sentenceOf(reasons: readonly string[]): string {
  const text = reasons.join(', or ');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/**
 * Without a rule, users of the admin collection may see headers, and API keys all but those that were made with less.
 */
function refusalsOfAudit(
  model: Model,
  caller: Extract<AdmittedCallers, { kind: 'auditor' | 'eraser' }>,
  comesByCookie: boolean,
): DescribedAnswers {
  const isEraser = caller.kind === 'eraser';
  const reasons = [
    isEraser ? 'the API key does not have the right' : 'the caller lacks the scope',
    ...(isEraser
      ? [model.erase ? 'the rule refused' : 'the user may not delete the document, or may not read all of it']
      : []),
    // Without an audit rule, the rules for reading are asked.
    ...(!isEraser && caller.refusesKeys && !model.audit ? ['the caller may not read it today'] : []),
    ...(isEraser || caller.refusesKeys ? ['the accounts of the collection are closed to API keys'] : []),
    ...(comesByCookie && (isEraser || caller.refusesForeign)
      ? ['a request with a cookie came from another origin']
      : []),
  ];
  return { ...refusals([401]), 403: json(sentenceOf(reasons), 'Error') };
}

/** A collection of accounts. */
export type AuthCollection = Collection & { auth: AuthOptions };

/** Without a rule no credential is refused, and a key may write every field; but not all that a user may not. */
function mayBeForbidden(model: Model, { target, right }: { target: Collection | Global; right: Right }): boolean {
  if (target.access[decidingRight(target, right)] || isAccount(target)) return true;
  if (accountsOf(model).length === 0 || (right !== 'create' && right !== 'update')) return false;
  return anyField(target.fields, ({ access }) => Boolean(access?.[right]));
}

/** The collections whose users are let in where an auth collection has no rule. */
function admittedWithoutRule(model: Model, { slug }: AuthCollection, right: Right): string[] {
  const admins = adminsOf(model);
  return right === 'read' || right === 'update' ? [slug, ...admins] : admins;
}

function managersOf({ collections }: Model): string[] {
  return collections.get('__admins')?.auth ? ['__admins'] : [];
}

function adminsOf({ adminCollection }: Model): string[] {
  return adminCollection === null ? [] : [adminCollection];
}

function usersOf(model: Model, slugs?: readonly string[]): Security {
  const accounts = accountsOf(model);
  if (accounts.length === 0) return [];
  const cookies = accounts.filter(({ slug, auth }) => auth.cookies && (slugs?.includes(slug) ?? true));
  return [{ bearer: [] }, ...cookies.map(({ slug }) => ({ [schemeOf(slug)]: [] }))];
}

function accountsOf({ collections }: Model): AuthCollection[] {
  return [...collections.values()].filter(isAccount);
}

function isAccount(target: Collection | Global): target is AuthCollection {
  return target.kind === 'collection' && target.auth !== null;
}

/** With a dot, as the names of schemas. */
function schemeOf(slug: string): string {
  return `cookie.${slug}`;
}

const outside = 'the scopes of the API key do not include the operation';
const foreign = 'a write with a cookie came from another origin';
const keyText = 'An API key: trusted code, limited to its scopes if it has any.';
function siteText(site: string): string {
  return (
    `The site of this server: \`${site}\`. A token names its site itself, so a request with a token does not need this ` +
    'header.'
  );
}

const bearerText =
  'The token of a user, from a login. If an API key is sent too, both must be valid, and the rights are those of the ' +
  'user.';

function cookie(slug: string, name: string): ApiSchema {
  return {
    type: 'apiKey',
    in: 'cookie',
    name,
    description:
      `The token of a user of ${slug}, which a login sets in browsers. It is used only if the request has neither an API key ` +
      'nor an `Authorization` header. Of several such cookies, the one of the collection of the route is used, else the one ' +
      'of the admin collection. A write needs an `Origin` or `Sec-Fetch-Site` header that says that it comes from the same ' +
      'origin.',
  };
}
