import { checkAdmin, checkCollectionAdmin, checkGlobalAdmin, checkRichText } from './check-admin.ts';
import { adminCollectionOf, checkAuth, checkUrls, warnOfMissingRules, withEmail } from './check-auth.ts';
import { checkConditions } from './check-conditions.ts';
import { checkCors } from './check-cors.ts';
import { checkDrafts, draftsSchemaOf } from './check-drafts.ts';
import { checkEmail } from './check-email.ts';
import { checkFields, checkSlug, type Place, slugRule } from './check-fields.ts';
import {
  checkAccess,
  checkAudit,
  checkEraseRule,
  checkHooks,
  checkKeyRule,
  checkReleaseRule,
} from './check-functions.ts';
import { warnOfHookedFields } from './check-queryable.ts';
import { checkSecurityContact } from './check-security-contact.ts';
import { checkUpload, namesInUploads, schemaOf, withFile } from './check-upload.ts';
import { checkWebhooks } from './check-webhooks.ts';
import { counted } from './counted.ts';
import type { Collection, Global, Model, OpenApiInfo, RateLimit } from './model.ts';
import {
  at,
  type Checking,
  checkKeys,
  type Entry,
  entriesOf,
  isAskedFor,
  isEntry,
  join,
  optionOf,
  own,
  type Problem,
  passes,
  type Rule,
  report,
  rules,
  type Spot,
  type TakenNames,
  take,
  warn,
  wholeNumber,
} from './problems.ts';
import { rulesOf } from './rules.ts';
import { categoryOf, globalsCategory } from './schema.ts';
import { readOwnSort } from './sorting.ts';
import { show } from './suggest.ts';

export type { Problem } from './problems.ts';

/** The configuration is invalid. The message lists every problem, one per line. */
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
  'keys',
  'erase',
  'releases',
  'cors',
  'trustProxy',
  'rateLimit',
  'bcryptCost',
  'limits',
  'openapi',
  'webhooks',
  'admin',
  'richText',
  'securityContact',
];

const entryKeys: Record<Kind, readonly string[]> = {
  collection: [
    'slug',
    'renamedFrom',
    'labels',
    'fields',
    'auth',
    'upload',
    'drafts',
    'access',
    'hooks',
    'urls',
    'history',
    'requireReason',
    'queryable',
    'admin',
  ],
  global: ['slug', 'label', 'fields', 'drafts', 'access', 'hooks', 'admin'],
};

const reservedSlugs = ['globals', 'accounts', 'system'];
const defaultBodyBytes = 1_048_576;
const defaultBulkBodyBytes = 8 * 1_048_576;
const defaultRateLimit: RateLimit = { address: 300, email: 60 };
const defaultBcryptCost = 12;
/** Below this cost, passwords can be guessed too fast from stolen hashes. */
const soundBcryptCost = 10;

/**
 * Checks a whole configuration and returns its model. Two configurations with the same meaning give schemas with the
 * same JSON.
 *
 * @throws ConfigError naming every problem, not only the first.
 */
export function checkConfig(input: unknown): Model {
  const checking: Checking = { problems: [], warnings: [], collections: new Map(), sorts: [], open: new Set() };
  if (!isEntry(input)) throw new ConfigError([{ path: '', message: `must be an object, got ${showOther(input)}` }]);

  const spot: Spot<Entry> = { checking, path: '', value: input };
  checkKeys(spot, topKeys, 'the configuration');
  const written = [at(spot, 'collections'), at(spot, 'globals')] as const;
  checking.collections = collectionsBySlug(written[0].value);
  const collections = [...checkEntries(written[0], 'collection').map(checkCollection)];
  const globals = [...checkEntries(written[1], 'global').map(checkGlobal)];
  if (written.every(isEmpty)) report(written[0], 'at least one collection or global is needed');
  checkRenames(at(spot, 'collections'), collections);
  checkSorts(checking, collections);
  const settings = checkSettings(spot);
  const admin = checkAdmin(at(spot, 'admin'), collections);
  const audit = checkAudit(at(spot, 'audit'));
  const keys = checkKeyRule(at(spot, 'keys'));
  const erase = checkEraseRule(at(spot, 'erase'));
  const hasDrafts = [...collections, ...globals].some(({ drafts }) => drafts !== null);
  const releases = checkReleaseRule(at(spot, 'releases'), hasDrafts);
  const webhooks = checkWebhooks(at(spot, 'webhooks'), {
    collections: slugsOf(collections),
    globals: slugsOf(globals),
  });
  warnOfMissingRules(at(spot, 'collections'), collections);
  if (checking.problems.length > 0) throw new ConfigError(checking.problems);
  warnOfHookedFields(at(spot, 'collections'), collections);

  return {
    schema: { collections: collections.map(({ schema }) => schema), globals: globals.map(({ schema }) => schema) },
    rules: rulesOf({ collections, globals, audit, keys, erase, releases }),
    collections: new Map(collections.map((collection) => [collection.slug, collection])),
    globals: new Map(globals.map((global) => [global.slug, global])),
    ...settings,
    audit: audit.rule,
    keys: keys.rule,
    erase: erase.rule,
    releases: releases.rule,
    webhooks,
    admin,
    adminCollection: admin?.user ?? adminCollectionOf(collections),
    warnings: checking.warnings,
  };
}

function slugsOf(entries: readonly { slug: string }[]): string[] {
  return entries.map(({ slug }) => slug);
}

function showOther(input: unknown): string {
  if (typeof input === 'function') return 'a function: export its result, export default defineConfig({ … })';
  if (input instanceof Promise) return 'a promise: write "await" before the call';
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return show(input);
  return 'an instance of a class: write a plain object';
}

/** The collections as they are written, so that a relationship may point to a collection that comes later. */
function collectionsBySlug(input: unknown): Map<string, Entry> {
  const result = new Map<string, Entry>();
  if (!Array.isArray(input)) return result;
  for (const item of input) {
    const slug = isEntry(item) ? own(item, 'slug') : undefined;
    if (typeof slug === 'string') result.set(slug, item);
  }
  return result;
}

/** A collection or global before it is checked; the slug is empty if there is no valid one. */
type RawEntry = { entry: Spot<Entry>; slug: string };

function* checkEntries(spot: Spot, kind: Kind): Generator<RawEntry, undefined> {
  const slugs: TakenNames = new Map();
  if (!passes(spot, rules.list)) return undefined;
  for (const entry of entriesOf(spot, 'slug')) {
    checkKeys(entry, entryKeys[kind], `a ${kind}`);
    const given = at(entry, 'slug');
    const slug = checkSlug(given, slugs);
    if (slug !== undefined && reservedSlugs.includes(slug.toLowerCase())) report(given, `${show(slug)} is reserved`);
    if (own(entry.value, 'fields') === undefined) report(at(entry, 'fields'), 'is missing');
    yield { entry, slug: slug ?? '' };
  }
  return undefined;
}

/** Checks `renamedFrom`: at any time a slug names the documents of only one collection. */
function checkRenames(spot: Spot, collections: readonly Collection[]): void {
  const slugs = new Set(collections.map(({ slug }) => slug.toLowerCase()));
  const taken: TakenNames = new Map();
  for (const { slug, schema } of collections) {
    const { renamedFrom } = schema;
    if (renamedFrom === undefined) continue;
    const given = { ...spot, path: join(join(spot.path, slug), 'renamedFrom') };
    if (slugs.has(renamedFrom.toLowerCase())) report(given, `${show(renamedFrom)} is still a collection here`);
    else take(given, taken, renamedFrom);
  }
}

/**
 * Checks the sorts that were gathered. If a collection has problems itself, not every one of its fields is known, and
 * sorts by them are skipped.
 */
function checkSorts(checking: Checking, collections: readonly Collection[]): void {
  const written = [...checking.problems];
  for (const { spot, collection, sort } of checking.sorts) {
    const target = collections.find(({ slug }) => slug === collection);
    const isSound = !written.some((problem) => problem.path.startsWith(`${join('collections', collection)}.`));
    if (!target || !isSound) continue;
    for (const problem of readOwnSort(sort, target.fields).problems) report(spot, problem);
  }
}

function checkCollection({ entry: spot, slug }: RawEntry): Collection {
  const isAuth = isAskedFor(spot.value, 'auth');
  const reserved = new Map(serverFields);
  const isUpload = isAskedFor(spot.value, 'upload');
  if (isAuth) for (const name of ['email', 'password']) reserved.set(name, 'is added to auth collections');
  if (isUpload) for (const name of namesInUploads) reserved.set(name.toLowerCase(), 'is added to upload collections');
  if (isAuth && isUpload) report(at(spot, 'upload'), 'must not be set with auth: a document is a file or an account');
  const place: Place = { collection: slug, isTop: true, isInList: false, reserved };
  const written = checkFields(at(spot, 'fields'), place);
  const upload = checkUpload(at(spot, 'upload'));
  const withOwn = isAuth ? withEmail : isUpload ? withFile : null;
  const { schema, fields } = withOwn ? withOwn(at(spot, 'fields'), written) : written;
  const renamedFrom = optionOf(at(spot, 'renamedFrom'), slugRule, undefined);
  const labels = checkLabels(at(spot, 'labels'));
  const hasPublicHistory = optionOf(at(spot, 'history'), publicOnly, false) !== false;
  const requiresReason = optionOf(at(spot, 'requireReason'), rules.boolean, false);
  const isQueryable = optionOf(at(spot, 'queryable'), rules.boolean, false);
  const admin = checkCollectionAdmin(at(spot, 'admin'), { path: spot.path, slug, fields });
  checkConditions(spot.checking, spot.path, schema);
  const drafts = checkDrafts(at(spot, 'drafts'), { path: spot.path, kind: 'collection', isAuth, isUpload, fields });
  const holder = { kind: 'collection', hasDrafts: drafts !== null } as const;
  return {
    kind: 'collection',
    slug,
    category: categoryOf({ slug }),
    fields,
    auth: checkAuth(at(spot, 'auth')),
    upload,
    drafts,
    urls: checkUrls(at(spot, 'urls'), isAuth),
    hasPublicHistory,
    requiresReason,
    isQueryable,
    ...checkAccess(at(spot, 'access'), holder),
    hooks: checkHooks(at(spot, 'hooks'), holder),
    schema: {
      slug,
      ...(renamedFrom === undefined ? {} : { renamedFrom }),
      ...labels,
      fields: schema,
      ...(isAuth ? { auth: true } : {}),
      ...(upload ? { upload: schemaOf(upload) } : {}),
      ...draftsSchemaOf(drafts),
      ...(hasPublicHistory ? { history: 'public' } : {}),
      ...(requiresReason ? { requireReason: true } : {}),
      ...admin,
    },
  };
}

const publicOnly: Rule<'public'> = { passes: (value) => value === 'public', must: "be 'public', or left out" };

function checkGlobal({ entry: spot, slug }: RawEntry): Global {
  const place: Place = { isTop: true, isInList: false, reserved: serverFields };
  const { schema, fields } = checkFields(at(spot, 'fields'), place);
  checkConditions(spot.checking, spot.path, schema);
  const label = optionOf(at(spot, 'label'), rules.text, undefined);
  const drafts = checkDrafts(at(spot, 'drafts'), { path: spot.path, kind: 'global', fields });
  const holder = { kind: 'global', hasDrafts: drafts !== null } as const;
  return {
    kind: 'global',
    slug,
    category: globalsCategory,
    fields,
    drafts,
    ...checkAccess(at(spot, 'access'), holder),
    hooks: checkHooks(at(spot, 'hooks'), holder),
    schema: {
      slug,
      ...(label === undefined ? {} : { label }),
      fields: schema,
      ...draftsSchemaOf(drafts),
      ...checkGlobalAdmin(at(spot, 'admin')),
    },
  };
}

const serverFields: ReadonlyMap<string, string> = new Map(
  ['id', 'createdat', 'updatedat'].map((name) => [name, 'is assigned by the server']),
);

function checkLabels(spot: Spot) {
  if (!passes(spot, rules.entry)) return {};
  checkKeys(spot, ['singular', 'plural'], 'labels');
  const [singular, plural] = ['singular', 'plural'].map((key) => {
    const given = at(spot, key);
    if (given.value === undefined) report(given, 'is missing');
    return optionOf(given, rules.text, '');
  });
  return { labels: { singular: singular ?? '', plural: plural ?? '' } };
}

function checkSettings(spot: Spot<Entry>) {
  const limits = at(spot, 'limits');
  if (passes(limits, rules.entry)) checkKeys(limits, ['body', 'bulkBody'], 'limits');
  const bytes = wholeNumber(1, undefined, ' of bytes');
  return {
    cors: checkCors(at(spot, 'cors')),
    publicSchema: optionOf(at(spot, 'publicSchema'), rules.boolean, false),
    trustProxy: optionOf(at(spot, 'trustProxy'), rules.boolean, false),
    limits: {
      body: optionOf(at(limits, 'body'), bytes, defaultBodyBytes),
      bulkBody: optionOf(at(limits, 'bulkBody'), bytes, defaultBulkBodyBytes),
    },
    email: checkEmail(at(spot, 'email')),
    rateLimit: checkRateLimit(at(spot, 'rateLimit')),
    bcryptCost: checkBcryptCost(at(spot, 'bcryptCost')),
    openapi: checkOpenApi(at(spot, 'openapi')),
    ...checkRichText(at(spot, 'richText')),
    securityContact: checkSecurityContact(at(spot, 'securityContact')),
  };
}

function checkRateLimit(spot: Spot): RateLimit | null {
  if (spot.value === false) return null;
  if (!passes(spot, { ...rules.entry, must: 'be false or an object' })) return defaultRateLimit;
  const calls = wholeNumber(1, undefined, ' of calls in a minute');
  checkKeys(spot, ['address', 'email'], 'rateLimit');
  return {
    address: optionOf(at(spot, 'address'), calls, defaultRateLimit.address),
    email: optionOf(at(spot, 'email'), calls, defaultRateLimit.email),
  };
}

function checkBcryptCost(spot: Spot): number {
  const cost = optionOf(spot, wholeNumber(4, 20), defaultBcryptCost);
  if (cost < soundBcryptCost) warn(spot, `${cost} is for tests; passwords need ${soundBcryptCost} or more`);
  return cost;
}

function checkOpenApi(spot: Spot): OpenApiInfo {
  if (!passes(spot, rules.entry)) return {};
  const names = ['title', 'version', 'description'] as const;
  checkKeys(spot, names, 'openapi');
  const given = names.map((name) => [name, optionOf(at(spot, name), rules.text, undefined)] as const);
  return Object.fromEntries(given.filter(([, text]) => text !== undefined));
}

function isEmpty({ value }: Spot): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}
