import { adminCollectionOf, checkAuth, checkUrls, warnOfMissingRules, withEmail } from './check-auth.ts';
import { checkCors } from './check-cors.ts';
import { checkEmail } from './check-email.ts';
import { checkFields, checkSlug, type Place } from './check-fields.ts';
import { checkAccess, checkAudit, checkHooks } from './check-functions.ts';
import { checkUpload, namesInUploads, schemaOf, withFile } from './check-upload.ts';
import { counted } from './counted.ts';
import type { Collection, Global, Model, OpenApiInfo, RateLimit } from './model.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isAskedFor,
  isEntry,
  itemPath,
  join,
  own,
  type Problem,
  passes,
  type Rule,
  readOption,
  report,
  rules,
  type Taken,
  wholeNumber,
} from './problems.ts';
import { rulesOf } from './rules.ts';
import { readOwnSort } from './sorting.ts';
import { show } from './suggest.ts';

export type { Problem } from './problems.ts';

/** A configuration that cannot be used. The message lists every problem, one a line. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const count = counted(problems.length, 'problem');
    const lines = problems.map(({ path, message }) => `  ${path === '' ? '' : `${path}: `}${message}`);
    super(`The configuration has ${count}:\n${lines.join('\n')}`);
    this.problems = problems;
  }
}

type Kind = 'collection' | 'global';

const topKeys = [
  'collections',
  'globals',
  'email',
  'publicSchema',
  'audit',
  'cors',
  'trustProxy',
  'rateLimit',
  'bcryptCost',
  'limits',
  'openapi',
];

const entryKeys: Record<Kind, readonly string[]> = {
  collection: ['slug', 'labels', 'fields', 'auth', 'upload', 'access', 'hooks', 'urls', 'history', 'requireReason'],
  global: ['slug', 'label', 'fields', 'access', 'hooks'],
};

const reservedSlugs = ['globals', 'accounts', 'system'];
const defaultBodyBytes = 1_048_576;
const defaultRateLimit: RateLimit = { address: 300, email: 60 };
const defaultBcryptCost = 12;
/** Below it, what is stolen is guessed too fast. */
const soundBcryptCost = 10;

/**
 * Checks a whole configuration and gives the model of it. Two configurations that mean the same give schemas of the
 * same JSON.
 *
 * @throws ConfigError naming every problem, not only the first.
 */
export function checkConfig(input: unknown): Model {
  const checking: Checking = { problems: [], warnings: [], collections: new Map(), sorts: [] };
  if (!isEntry(input)) throw new ConfigError([{ path: '', message: `must be an object, got ${whatIsNone(input)}` }]);

  checkKeys(checking, '', input, topKeys, 'the configuration');
  const written = own(input, 'collections');
  checking.collections = collectionsBySlug(written);
  const collections = checkEntries(checking, 'collections', written, 'collection', checkCollection);
  const globals = checkEntries(checking, 'globals', own(input, 'globals'), 'global', checkGlobal);
  if (isEmpty(written) && isEmpty(own(input, 'globals'))) {
    report(checking, 'collections', 'at least one collection or global is needed');
  }
  checkSorts(checking, collections);
  const settings = checkSettings(checking, input);
  const { rule: audit, description: auditWords } = checkAudit(checking, own(input, 'audit'));
  warnOfMissingRules(checking, collections);
  if (checking.problems.length > 0) throw new ConfigError(checking.problems);

  return {
    schema: { collections: collections.map(({ schema }) => schema), globals: globals.map(({ schema }) => schema) },
    rules: rulesOf({ collections, globals, audit, auditWords }),
    collections: new Map(collections.map((collection) => [collection.slug, collection])),
    globals: new Map(globals.map((global) => [global.slug, global])),
    ...settings,
    audit,
    adminCollection: adminCollectionOf(collections),
    warnings: checking.warnings,
  };
}

function whatIsNone(input: unknown): string {
  if (typeof input === 'function') return 'a function: export what it gives, export default defineConfig({ … })';
  if (input instanceof Promise) return 'a promise: write "await" before what gives it';
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return show(input);
  return 'an instance of a class: write a plain object';
}

/** The collections as they are written, so that a relationship may point to one that comes later. */
function collectionsBySlug(input: unknown): Map<string, Entry> {
  const result = new Map<string, Entry>();
  if (!Array.isArray(input)) return result;
  for (const item of input) {
    const slug = isEntry(item) ? own(item, 'slug') : undefined;
    if (typeof slug === 'string') result.set(slug, item);
  }
  return result;
}

function checkEntries<T>(
  checking: Checking,
  path: string,
  input: unknown,
  kind: Kind,
  check: (checking: Checking, path: string, entry: Entry, slug: string) => T,
): T[] {
  const result: T[] = [];
  const slugs: Taken = new Map();
  if (!passes(checking, path, input, rules.list)) return result;
  for (const [index, given] of input.entries()) {
    const item = given ?? null;
    const at = itemPath(path, item, index, 'slug');
    if (!passes(checking, at, item, rules.entry)) continue;
    checkKeys(checking, at, item, entryKeys[kind], `a ${kind}`);
    const slug = checkSlug(checking, join(at, 'slug'), own(item, 'slug'), slugs);
    if (slug !== undefined && reservedSlugs.includes(slug.toLowerCase())) {
      report(checking, join(at, 'slug'), `${show(slug)} is reserved`);
    }
    if (own(item, 'fields') === undefined) report(checking, join(at, 'fields'), 'is missing');
    result.push(check(checking, at, item, slug ?? ''));
  }
  return result;
}

/** Of a collection that has problems of its own, not every field is known. */
function checkSorts(checking: Checking, collections: readonly Collection[]): void {
  const written = [...checking.problems];
  for (const { path, collection, sort } of checking.sorts) {
    const target = collections.find(({ slug }) => slug === collection);
    const isSound = !written.some((problem) => problem.path.startsWith(`${join('collections', collection)}.`));
    if (!target || !isSound) continue;
    for (const problem of readOwnSort(sort, target.fields).problems) report(checking, path, problem);
  }
}

function checkCollection(checking: Checking, path: string, entry: Entry, slug: string): Collection {
  const isAuth = isAskedFor(entry, 'auth');
  const reserved = new Map(serverFields);
  const isUpload = isAskedFor(entry, 'upload');
  if (isAuth) for (const name of ['email', 'password']) reserved.set(name, 'is added to auth collections');
  if (isUpload) for (const name of namesInUploads) reserved.set(name.toLowerCase(), 'is added to upload collections');
  if (isAuth && isUpload)
    report(checking, join(path, 'upload'), 'must not be set with auth: a document is a file or an account');
  const place: Place = { collection: slug, isTop: true, isInList: false, reserved };
  const written = checkFields(checking, join(path, 'fields'), own(entry, 'fields'), place);
  const upload = checkUpload(checking, join(path, 'upload'), own(entry, 'upload'));
  const withOwn = isAuth ? withEmail : isUpload ? withFile : null;
  const { schema, fields } = withOwn ? withOwn(checking, join(path, 'fields'), written) : written;
  const labels = checkLabels(checking, join(path, 'labels'), own(entry, 'labels'));
  const hasPublicHistory = readOption(checking, path, entry, 'history', publicOnly, false) !== false;
  const requiresReason = readOption(checking, path, entry, 'requireReason', rules.boolean, false);
  return {
    kind: 'collection',
    slug,
    fields,
    auth: checkAuth(checking, join(path, 'auth'), own(entry, 'auth')),
    upload,
    urls: checkUrls(checking, join(path, 'urls'), own(entry, 'urls'), isAuth),
    hasPublicHistory,
    requiresReason,
    ...checkAccess(checking, join(path, 'access'), own(entry, 'access'), 'collection'),
    hooks: checkHooks(checking, join(path, 'hooks'), own(entry, 'hooks'), 'collection'),
    schema: {
      slug,
      ...labels,
      fields: schema,
      ...(isAuth ? { auth: true } : {}),
      ...(upload ? { upload: schemaOf(upload) } : {}),
      ...(hasPublicHistory ? { history: 'public' } : {}),
      ...(requiresReason ? { requireReason: true } : {}),
    },
  };
}

const publicOnly: Rule<'public'> = { passes: (value) => value === 'public', must: "be 'public', or left out" };

function checkGlobal(checking: Checking, path: string, entry: Entry, slug: string): Global {
  const place: Place = { isTop: true, isInList: false, reserved: serverFields };
  const { schema, fields } = checkFields(checking, join(path, 'fields'), own(entry, 'fields'), place);
  const label = own(entry, 'label');
  const isLabelled = passes(checking, join(path, 'label'), label, rules.text);
  return {
    kind: 'global',
    slug,
    fields,
    ...checkAccess(checking, join(path, 'access'), own(entry, 'access'), 'global'),
    hooks: checkHooks(checking, join(path, 'hooks'), own(entry, 'hooks'), 'global'),
    schema: { slug, ...(isLabelled ? { label } : {}), fields: schema },
  };
}

const serverFields: ReadonlyMap<string, string> = new Map(
  ['id', 'createdat', 'updatedat'].map((name) => [name, 'is assigned by the server']),
);

function checkLabels(checking: Checking, path: string, input: unknown) {
  if (!passes(checking, path, input, rules.entry)) return {};
  checkKeys(checking, path, input, ['singular', 'plural'], 'labels');
  const [singular, plural] = ['singular', 'plural'].map((key) => {
    const value = own(input, key);
    if (value === undefined) report(checking, join(path, key), 'is missing');
    return passes(checking, join(path, key), value, rules.text) ? value : '';
  });
  return { labels: { singular: singular ?? '', plural: plural ?? '' } };
}

function checkSettings(checking: Checking, input: Entry) {
  const limits = own(input, 'limits');
  const areLimits = passes(checking, 'limits', limits, rules.entry);
  if (areLimits) checkKeys(checking, 'limits', limits, ['body'], 'limits');
  const bytes = wholeNumber(1, undefined, ' of bytes');
  return {
    cors: checkCors(checking, own(input, 'cors')),
    publicSchema: readOption(checking, '', input, 'publicSchema', rules.boolean, false),
    trustProxy: readOption(checking, '', input, 'trustProxy', rules.boolean, false),
    limits: {
      body: readOption(checking, 'limits', areLimits ? limits : {}, 'body', bytes, defaultBodyBytes),
    },
    email: checkEmail(checking, own(input, 'email')),
    rateLimit: checkRateLimit(checking, own(input, 'rateLimit')),
    bcryptCost: checkBcryptCost(checking, input),
    openapi: checkOpenApi(checking, own(input, 'openapi')),
  };
}

function checkRateLimit(checking: Checking, input: unknown): RateLimit | null {
  if (input === false) return null;
  if (!passes(checking, 'rateLimit', input, { ...rules.entry, must: 'be false or an object' })) return defaultRateLimit;
  const calls = wholeNumber(1, undefined, ' of calls in a minute');
  checkKeys(checking, 'rateLimit', input, ['address', 'email'], 'rateLimit');
  return {
    address: readOption(checking, 'rateLimit', input, 'address', calls, defaultRateLimit.address),
    email: readOption(checking, 'rateLimit', input, 'email', calls, defaultRateLimit.email),
  };
}

function checkBcryptCost(checking: Checking, input: Entry): number {
  const cost = readOption(checking, '', input, 'bcryptCost', wholeNumber(4, 20), defaultBcryptCost);
  if (cost < soundBcryptCost) {
    checking.warnings.push(`bcryptCost: ${cost} is for tests; passwords need ${soundBcryptCost} or more`);
  }
  return cost;
}

function checkOpenApi(checking: Checking, input: unknown): OpenApiInfo {
  if (!passes(checking, 'openapi', input, rules.entry)) return {};
  const names = ['title', 'version', 'description'] as const;
  checkKeys(checking, 'openapi', input, names, 'openapi');
  const given = names.filter((name) => passes(checking, join('openapi', name), own(input, name), rules.text));
  return Object.fromEntries(given.map((name) => [name, own(input, name)]));
}

function isEmpty(input: unknown): boolean {
  return input === undefined || (Array.isArray(input) && input.length === 0);
}
