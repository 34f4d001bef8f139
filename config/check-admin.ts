import { type FieldType, isList } from './field-types.ts';
import { fieldTypeNames, jsonProblem } from './fields.ts';
import type { AdminOptions, Collection, Field } from './model.ts';
import { fieldsOfObject, isNesting } from './nesting.ts';
import {
  at,
  checkKeys,
  isEntry,
  join,
  optionOf,
  passes,
  type Rule,
  report,
  rules,
  type Spot,
  wholeNumber,
} from './problems.ts';
import {
  type CollectionAdmin,
  type GlobalAdmin,
  type Json,
  type JsonObject,
  type RichTextFeature,
  type RichTextOptions,
  richTextFeatures,
} from './schema.ts';
import { ownFields } from './sorting.ts';
import { didYouMean, show, showAll } from './suggest.ts';
import { searchProblem, titleProblem } from './text-fields.ts';

type Rules = { readonly [key: string]: Rule<Json> };

const defaultTitle = 'Annals';

/** Checks the options of the admin application as a whole; null if it is turned off. */
export function checkAdmin(spot: Spot, collections: readonly Collection[]): AdminOptions | null {
  if (spot.value === false) return null;
  if (!passes(spot, { ...rules.entry, must: 'be false or an object' })) {
    return { title: defaultTitle, logo: null, user: null };
  }
  checkKeys(spot, ['title', 'logo', 'user'], 'admin');
  return {
    title: optionOf(at(spot, 'title'), rules.text, defaultTitle),
    logo: optionOf(at(spot, 'logo'), picture, null),
    user: optionOf(at(spot, 'user'), accountsOf(collections), null),
  };
}

function accountsOf(collections: readonly Collection[]): Rule<string> {
  const slugs = collections.filter(({ auth }) => auth).map(({ slug }) => slug);
  return {
    passes: (value): value is string => slugs.some((slug) => slug === value),
    must: slugs.length > 0 ? `be an auth collection (${showAll(slugs)})` : 'be left out: there is no auth collection',
    words: slugs,
  };
}

const picture: Rule<string> = {
  passes: (value): value is string =>
    typeof value === 'string' && (isWebAddress(value) || /^\/(?![/\\])\S*$/.test(value)),
  must: 'be an http or https URL, or a path that begins with "/"',
};

/**
 * The host goes into the Content-Security-Policy, in which `;` would begin another directive and `*` would match every
 * name.
 */
const plainHost = /^(?:[\w.-]+|\[[\da-f:]+\])$/i;

function isWebAddress(value: string): boolean {
  return /^https?:\/\/[^\s/]\S*$/i.test(value) && URL.canParse(value) && plainHost.test(new URL(value).hostname);
}

const preview: Rule<string> = {
  passes: (value): value is string => {
    if (typeof value !== 'string' || !value.includes('{token}')) return false;
    const address = value.replaceAll('{token}', 'token');
    return isWebAddress(address) && !/[{}]/.test(address);
  },
  must: 'be an http or https URL with {token} in it, such as "https://site.example/preview?token={token}"',
};

const globalRules: Rules = { group: rules.text, description: rules.text, hidden: rules.boolean, preview };

/** Checks the hints to the admin application about a global; returns the `admin` member of its schema. */
export function checkGlobalAdmin(spot: Spot): { admin?: GlobalAdmin } {
  return wrapped(readHints(spot, globalRules, 'admin of a global'));
}

const columns: Rule<string[]> = {
  passes: (value): value is string[] =>
    Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string'),
  must: 'be a list of fields',
};

/** The maximum number of fields that a search looks into: each is a column of its index. */
const mostSearchFields = 20;

const someTexts: Rule<string[]> = {
  passes: (value): value is string[] =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= mostSearchFields &&
    value.every((one) => rules.text.passes(one)),
  must: `be a list of 1 to ${mostSearchFields} fields`,
};

const collectionRules: Rules = {
  useAsTitle: rules.text,
  searchFields: someTexts,
  ...globalRules,
  icon: rules.text,
  pageSize: wholeNumber(1, 100),
  defaultSort: rules.text,
  defaultColumns: columns,
};

/** A collection whose fields are checked; `path` is its place in the configuration. */
type CheckedCollection = { path: string; slug: string; fields: readonly Field[] };

/** Checks the hints to the admin application about a collection; returns the `admin` member of its schema. */
export function checkCollectionAdmin(
  spot: Spot,
  { path, slug, fields }: CheckedCollection,
): { admin?: CollectionAdmin } {
  const admin: CollectionAdmin = readHints(spot, collectionRules, 'admin of a collection');
  const { defaultSort, defaultColumns = [], useAsTitle, searchFields = [] } = admin;
  if (defaultSort !== undefined) {
    spot.checking.sorts.push({ spot: at(spot, 'defaultSort'), collection: slug, sort: defaultSort });
  }
  // If there are problems among the fields, not every field is known.
  if (spot.checking.problems.some((problem) => problem.path.startsWith(join(path, 'fields')))) return wrapped(admin);
  if (useAsTitle !== undefined) tell(at(spot, 'useAsTitle'), titleProblem(useAsTitle, fields));
  checkPaths(at(spot, 'searchFields'), searchFields, (one) => searchProblem(one, fields));
  checkPaths(at(spot, 'defaultColumns'), defaultColumns, (one) => columnProblem(one, fields));
  return wrapped(admin);
}

function checkPaths(spot: Spot, paths: readonly string[], problemOf: (path: string) => string | null): void {
  for (const [index, path] of paths.entries()) {
    tell(at(spot, index), paths.indexOf(path) < index ? `${show(path)} is named twice` : problemOf(path));
  }
}

function tell(spot: Spot, problem: string | null): void {
  if (problem !== null) report(spot, problem);
}

/** The reason why a dotted path through objects leads to no field; null if it leads to one. */
function columnProblem(column: string, fields: readonly Field[]): string | null {
  let level: readonly Field[] = [...ownFields, ...fields];
  for (const name of column.split('.')) {
    const field = level.find((one) => one.name === name);
    const names = level.map((one) => one.name);
    if (!field)
      return `${show(name)} in ${show(column)} is not a field${didYouMean(name, names)}; allowed: ${showAll(names)}`;
    level = fieldsOfObject(field) ?? [];
  }
  return null;
}

/** The rule of a hint about a field, and the field types that take it; without `types`, all of them. */
type FieldHint = { rule: Rule<Json>; types?: readonly FieldType[] };

const positions = ['main', 'side'] as const;
const widths = ['quarter', 'third', 'half', 'two-thirds', 'three-quarters', 'full'] as const;
const displays = ['color', 'slug'] as const;

const listsOfObjects = fieldTypeNames.filter((type) => isNesting({ type }) && isList({ type }));

const fieldHints: { readonly [key: string]: FieldHint } = {
  description: { rule: rules.text },
  hidden: { rule: rules.boolean },
  readOnly: { rule: rules.boolean },
  placeholder: { rule: rules.text },
  condition: {
    rule: {
      passes: (value): value is JsonObject => isEntry(value) && !jsonProblem(value),
      must: 'be a where object of JSON values',
    },
  },
  position: { rule: oneOf(positions) },
  width: { rule: oneOf(widths) },
  tab: { rule: rules.text },
  rows: { rule: wholeNumber(1, 100), types: ['textarea', 'richText', 'json'] },
  step: {
    rule: {
      passes: (value): value is number => Number.isFinite(value) && Number(value) > 0,
      must: 'be a number above 0',
    },
    types: ['number'],
  },
  language: { rule: rules.text, types: ['textarea', 'json'] },
  displayAs: { rule: oneOf(displays), types: ['text'] },
  from: { rule: rules.text, types: ['text'] },
  summary: { rule: rules.text, types: listsOfObjects },
};

/** Checks the hints to the admin application about a field; returns the `admin` member of its schema. */
export function checkFieldAdmin(spot: Spot, type: FieldType): { admin?: JsonObject } {
  const hints = Object.fromEntries(Object.entries(fieldHints).map(([key, { rule }]) => [key, rule]));
  const read = readHints(spot, hints, 'admin');
  for (const [key, { types }] of Object.entries(fieldHints)) {
    if (!types || !Object.hasOwn(read, key) || types.includes(type)) continue;
    report(at(spot, key), `is not for ${show(type)}; the types that take it: ${showAll(types)}`);
  }
  if (read.from !== undefined && read.displayAs !== 'slug') report(at(spot, 'from'), 'needs displayAs: "slug"');
  return wrapped(read);
}

/** Reports a problem if a hint names a field that is not among `names`. */
export function requireFieldAmong(spot: Omit<Spot, 'value'>, name: unknown, names: readonly string[]): void {
  if (typeof name !== 'string' || names.includes(name)) return;
  const allowed = names.length > 0 ? `; allowed: ${showAll(names)}` : '; there are no others';
  report(spot, `${show(name)} is not a field here${didYouMean(name, names)}${allowed}`);
}

/** Checks the features of the rich text editor; returns an empty object if the editor has all of them. */
export function checkRichText(spot: Spot): { richText?: RichTextOptions } {
  if (!passes(spot, rules.entry)) return {};
  checkKeys(spot, ['features'], 'richText');
  const list = at(spot, 'features');
  if (list.value === undefined) report(list, 'is missing');
  if (!passes(list, rules.list)) return {};
  const features: RichTextFeature[] = [];
  for (const index of list.value.keys()) {
    const place = at(list, index);
    if (!passes(place, oneOf(richTextFeatures))) continue;
    if (features.includes(place.value)) report(place, `${show(place.value)} is named twice`);
    features.push(place.value);
  }
  return { richText: { features } };
}

function oneOf<T extends string>(words: readonly T[]): Rule<T> {
  return {
    passes: (value): value is T => words.some((word) => word === value),
    must: `be one of ${showAll(words)}`,
    words,
  };
}

/** The valid hints, in the order of the rules. */
function readHints(spot: Spot, hints: Rules, what: string): JsonObject {
  if (!passes(spot, rules.entry)) return {};
  checkKeys(spot, Object.keys(hints), what);
  const read: JsonObject = {};
  for (const [key, rule] of Object.entries(hints)) {
    const given = at(spot, key);
    if (passes(given, rule) && given.value !== false) read[key] = given.value;
  }
  return read;
}

/** Leaves `admin` out if there is no hint, so that schemas with the same meaning give the same JSON. */
function wrapped<T extends JsonObject>(admin: T): { admin?: T } {
  return Object.keys(admin).length > 0 ? { admin } : {};
}
