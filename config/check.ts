import { checkFields, checkSlug, type Place } from './check-fields.ts';
import { checkAccess, checkHooks } from './check-functions.ts';
import type { Collection, Global, Model } from './model.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isEntry,
  itemPath,
  join,
  own,
  type Problem,
  passes,
  report,
  rules,
  type Taken,
} from './problems.ts';
import { show } from './suggest.ts';

export type { Problem } from './problems.ts';

/** A configuration that cannot be used. The message lists every problem, one a line. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly problems: readonly Problem[];

  constructor(problems: readonly Problem[]) {
    const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`;
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
];

const entryKeys: Record<Kind, readonly string[]> = {
  collection: ['slug', 'labels', 'fields', 'auth', 'upload', 'access', 'hooks', 'urls', 'history', 'requireReason'],
  global: ['slug', 'label', 'fields', 'access', 'hooks'],
};

/** Keys whose feature is still to be built: set, they are refused. To bring one, take it out here. */
const unavailable: Record<'top' | Kind, readonly string[]> = {
  top: ['email', 'audit', 'cors', 'rateLimit', 'bcryptCost'],
  collection: ['auth', 'upload', 'urls', 'history', 'requireReason'],
  global: [],
};

const reservedSlugs = ['globals', 'accounts', 'system'];
const defaultBodyBytes = 1_048_576;

/**
 * Checks a whole configuration and gives the model of it. Two configurations that mean the same give schemas of the
 * same JSON.
 *
 * @throws ConfigError naming every problem, not only the first.
 */
export function checkConfig(input: unknown): Model {
  const checking: Checking = { problems: [], warnings: [], collections: new Map() };
  if (!isEntry(input)) throw new ConfigError([{ path: '', message: `must be an object, got ${show(input)}` }]);

  checkKeys(checking, '', input, topKeys, 'the configuration');
  checkAvailable(checking, '', input, 'top');
  const written = own(input, 'collections');
  checking.collections = collectionsBySlug(written);
  const collections = checkEntries(checking, 'collections', written, 'collection', checkCollection);
  const globals = checkEntries(checking, 'globals', own(input, 'globals'), 'global', checkGlobal);
  if (isEmpty(written) && isEmpty(own(input, 'globals'))) {
    report(checking, 'collections', 'at least one collection or global is needed');
  }
  const settings = checkSettings(checking, input);
  if (checking.problems.length > 0) throw new ConfigError(checking.problems);

  return {
    schema: { collections: collections.map(({ schema }) => schema), globals: globals.map(({ schema }) => schema) },
    collections: new Map(collections.map((collection) => [collection.slug, collection])),
    globals: new Map(globals.map((global) => [global.slug, global])),
    ...settings,
    adminCollection: null,
    email: null,
    rateLimit: { address: 300, email: 60 },
    bcryptCost: 12,
    warnings: checking.warnings,
  };
}

function checkAvailable(checking: Checking, path: string, entry: Entry, what: 'top' | Kind): void {
  for (const key of unavailable[what]) {
    const value = own(entry, key);
    if (value !== undefined && value !== false) report(checking, join(path, key), 'is not available yet');
  }
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
  for (const [index, item] of (input as unknown[]).entries()) {
    const at = itemPath(path, item, index, 'slug');
    if (!passes(checking, at, item ?? null, rules.entry)) continue;
    const entry = item as Entry;
    checkKeys(checking, at, entry, entryKeys[kind], `a ${kind}`);
    checkAvailable(checking, at, entry, kind);
    const slug = checkSlug(checking, join(at, 'slug'), own(entry, 'slug'), slugs);
    if (slug !== undefined && reservedSlugs.includes(slug.toLowerCase())) {
      report(checking, join(at, 'slug'), `${show(slug)} is reserved`);
    }
    if (own(entry, 'fields') === undefined) report(checking, join(at, 'fields'), 'is missing');
    result.push(check(checking, at, entry, slug ?? ''));
  }
  return result;
}

function checkCollection(checking: Checking, path: string, entry: Entry, slug: string): Collection {
  const reserved = new Map(serverFields);
  if (own(entry, 'auth')) for (const name of ['email', 'password']) reserved.set(name, 'is added to auth collections');
  const place: Place = { collection: slug, isTop: true, isInList: false, reserved };
  const { schema, fields } = checkFields(checking, join(path, 'fields'), own(entry, 'fields'), place);
  return {
    kind: 'collection',
    slug,
    fields,
    auth: null,
    urls: {},
    access: checkAccess(checking, join(path, 'access'), own(entry, 'access'), 'collection'),
    hooks: checkHooks(checking, join(path, 'hooks'), own(entry, 'hooks'), 'collection'),
    schema: { slug, ...checkLabels(checking, join(path, 'labels'), own(entry, 'labels')), fields: schema },
  };
}

function checkGlobal(checking: Checking, path: string, entry: Entry, slug: string): Global {
  const place: Place = { isTop: true, isInList: false, reserved: serverFields };
  const { schema, fields } = checkFields(checking, join(path, 'fields'), own(entry, 'fields'), place);
  const label = own(entry, 'label');
  const isLabelled = passes(checking, join(path, 'label'), label, rules.text);
  return {
    kind: 'global',
    slug,
    fields,
    access: checkAccess(checking, join(path, 'access'), own(entry, 'access'), 'global'),
    hooks: checkHooks(checking, join(path, 'hooks'), own(entry, 'hooks'), 'global'),
    schema: { slug, ...(isLabelled ? { label: label as string } : {}), fields: schema },
  };
}

const serverFields: ReadonlyMap<string, string> = new Map(
  ['id', 'createdat', 'updatedat'].map((name) => [name, 'is assigned by the server']),
);

function checkLabels(checking: Checking, path: string, input: unknown) {
  if (!passes(checking, path, input, rules.entry)) return {};
  const entry = input as Entry;
  checkKeys(checking, path, entry, ['singular', 'plural'], 'labels');
  const [singular, plural] = ['singular', 'plural'].map((key) => {
    const value = own(entry, key);
    if (value === undefined) report(checking, join(path, key), 'is missing');
    return passes(checking, join(path, key), value, rules.text) ? (value as string) : '';
  });
  return { labels: { singular: singular ?? '', plural: plural ?? '' } };
}

function checkSettings(checking: Checking, input: Entry) {
  const limits = own(input, 'limits');
  const areLimits = passes(checking, 'limits', limits, rules.entry);
  const body = areLimits ? own(limits as Entry, 'body') : undefined;
  if (areLimits) checkKeys(checking, 'limits', limits as Entry, ['body'], 'limits');
  const isBytes = passes(checking, 'limits.body', body, {
    passes: (value) => Number.isSafeInteger(value) && Number(value) > 0,
    must: 'be a whole number of bytes above 0',
  });
  for (const key of ['publicSchema', 'trustProxy']) passes(checking, key, own(input, key), rules.boolean);
  return {
    publicSchema: own(input, 'publicSchema') === true,
    trustProxy: own(input, 'trustProxy') === true,
    limits: { body: isBytes ? (body as number) : defaultBodyBytes },
  };
}

function isEmpty(input: unknown): boolean {
  return input === undefined || (Array.isArray(input) && input.length === 0);
}
