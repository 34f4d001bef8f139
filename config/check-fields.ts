import { requireFieldAmong } from './check-admin.ts';
import { checkDefault } from './check-defaults.ts';
import { checkFieldAccess, checkFieldHooks } from './check-functions.ts';
import { ordered, readOptions } from './check-options.ts';
import { type FieldType, typeFacts } from './field-types.ts';
import { fieldTypeNames, fieldTypes } from './fields.ts';
import type { Field } from './model.ts';
import { fieldsInside, isNesting } from './nesting.ts';
import { otherWord } from './other-words.ts';
import {
  at,
  checkKeys,
  type Entry,
  entriesOf,
  isEntry,
  namePattern,
  optionOf,
  own,
  passes,
  type Rule,
  report,
  rules,
  type Spot,
  type TakenNames,
  take,
  warn,
} from './problems.ts';
import { dataFields, type FieldSchema } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

const anyOption = [...new Set(['type', ...Object.values(fieldTypes).flatMap(({ options }) => options)])];

const containsItself =
  'contains itself, so it would have no end: write the inner fields out, as deep as they go, or refer to documents of the ' +
  'same collection with a relationship';

/** The place of a list of fields. */
export type Place = {
  /** The slug of the collection; absent for a global. */
  collection?: string;
  /** True if the fields are directly in the document, beside the fields that the server adds. */
  isTop: boolean;
  /** True inside an array or blocks, at any depth: a value there has no column. */
  isInList: boolean;
  /** True inside a field that has a `read` rule. */
  isHidden?: boolean;
  /** Names that are refused here, with the reason. They are in lower case, because columns ignore case. */
  reserved: ReadonlyMap<string, string>;
};

/** The place of a list of fields, and the names in the list, including those inside its rows. */
type Level = { place: Place; siblings: TakenNames };
type Nested = { schema: Pick<FieldSchema, 'fields' | 'blocks'>; model: Pick<Field, 'fields' | 'blocks'> };
type CheckedFields = { schema: FieldSchema[]; fields: Field[] };

/** `and` and `or` combine filters, at every depth. */
const whereWords: [string, string][] = ['and', 'or'].map((word) => [word, 'is a word of filters']);

/**
 * Members of Object.prototype that openapi-typescript 7 fails on, because it looks fields up in a plain object. redocly
 * and spectral fail on the first one.
 */
const breaking: ReadonlySet<string> = new Set([
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  'valueOf',
]);
const breaks =
  'is a member of every JavaScript object: openapi-typescript and other readers of the OpenAPI document fail on it';

/** Checks a list of fields, and reports each problem. */
export function checkFields(spot: Spot, place: Place): CheckedFields {
  const siblings: TakenNames = new Map();
  const reserved = new Map([...whereWords, ...place.reserved]);
  const checked = checkList(spot, { place: { ...place, reserved }, siblings });
  checkRenames(spot, checked.fields, siblings);
  checkSources(spot, checked.fields);
  return checked;
}

function checkList(spot: Spot, level: Level): CheckedFields {
  const schema: FieldSchema[] = [];
  const fields: Field[] = [];
  if (!passes(spot, rules.list)) return { schema, fields };
  const { open } = spot.checking;
  if (open.has(spot.value)) {
    report(spot, containsItself);
    return { schema, fields };
  }
  open.add(spot.value);
  for (const item of entriesOf(spot, 'name')) {
    const checked = checkField(item, level);
    if (!checked) continue;
    schema.push(checked.schema);
    fields.push(...checked.fields);
  }
  open.delete(spot.value);
  return { schema, fields };
}

function checkField(spot: Spot<Entry>, level: Level) {
  const { problems } = spot.checking;
  const { place } = level;
  const type = checkType(at(spot, 'type'));
  if (type === undefined) {
    checkName(spot, level);
    checkKeys(spot, anyOption, 'a field');
    return undefined;
  }
  const problemsBefore = problems.length;
  const read = readOptions(spot, type);
  if (type === 'row') {
    const inner = checkList(at(spot, 'fields'), level);
    return { schema: ordered({ ...read, fields: inner.schema }), fields: inner.fields };
  }

  const name = checkName(spot, level);
  checkCombinations(spot, read, place);
  const ruled = checkFieldAccess(at(spot, 'access'));
  const isHidden = place.isHidden || ruled.access?.read !== undefined;
  const nested = checkNested(spot, read.type, { ...place, isHidden });
  const schema: FieldSchema = { ...read, ...nested.schema };
  const field: Field = { ...read, name: name ?? '', ...nested.model, ...ruled };
  if (schema.unique && isHidden && !(ruled.access?.create && ruled.access.update)) warnOfGuesses(spot);
  Object.assign(field, checkFieldHooks(at(spot, 'hooks')));
  checkReferences(spot, schema, place);
  checkSummary(spot, schema);
  // The schema of values can only be made from a valid field.
  if (problems.length === problemsBefore) checkDefault(spot, field, schema);
  if (name === undefined) return undefined;
  return { schema: ordered({ ...schema, name }), fields: [field] };
}

function warnOfGuesses(spot: Spot): void {
  const message =
    'is unique and has a read rule, but a 409 tells every caller who may write the field which values exist; add rules for ' +
    'create and update';
  warn(spot, message);
}

function checkType(spot: Spot): FieldType | undefined {
  const { value: type } = spot;
  const known = fieldTypeNames.find((name) => name === type);
  if (known !== undefined) return known;
  const word = typeof type === 'string' ? otherWord('a type of field', type) : '';
  const got = type === undefined ? 'it is missing' : `got ${show(type)}${didYouMean(type, fieldTypeNames)}`;
  // If there is a hint, the message leaves the long list of types out, which would only hide the hint.
  const message = word
    ? `${show(type)} is not a type of field${word}`
    : `must be one of ${showAll(fieldTypeNames)}, ${got}`;
  report(spot, message);
  return undefined;
}

function checkName(spot: Spot<Entry>, { place, siblings }: Level) {
  const given = at(spot, 'name');
  if (given.value === undefined) report(given, 'is missing');
  if (!passes(given, rules.text)) return undefined;

  const { value: name } = given;
  const problem = nameProblem(name, place);
  if (problem) report(given, problem);
  if (breaking.has(name)) warn(spot, `${show(name)} ${breaks}`);
  take(given, siblings, name);
  return name;
}

function nameProblem(name: string, { reserved }: Place): string | undefined {
  const shown = show(name);
  if (name.length > 64) return `may have at most 64 characters, got ${name.length}`;
  if (!namePattern.test(name)) return `must be letters, digits and "_", not a digit first, got ${shown}`;
  if (name.startsWith('__')) return `must not begin with "__", got ${shown}`;
  const reason = reserved.get(name.toLowerCase());
  return reason && `${shown} is reserved: it ${reason}`;
}

/**
 * Reports problems that concern several options or the place: options that exclude each other, and options in the wrong
 * place.
 */
function checkCombinations(spot: Spot, field: FieldSchema, place: Place): void {
  const { type, min, max, minLength, maxLength, hasMany } = field;
  const isReference = type === 'relationship' || type === 'upload';
  const refuse = (option: string, message: string) => report(at(spot, option), message);

  if (min !== undefined && max !== undefined && min > max) refuse('min', `is above max: ${min} > ${max}`);
  if (minLength !== undefined && maxLength !== undefined && minLength > maxLength) {
    refuse('minLength', `is above maxLength: ${minLength} > ${maxLength}`);
  }
  for (const option of ['minLength', 'maxLength'] as const) {
    if (field[option] !== undefined && isReference && !hasMany) refuse(option, 'needs hasMany: true');
  }
  for (const option of ['unique', 'index'] as const) {
    if (field[option] && hasMany) refuse(option, 'cannot be used with hasMany: a list has no column');
    if (field[option] && place.isInList) refuse(option, 'cannot be used inside an array or blocks');
  }
  if (type === 'join' && (!place.isTop || place.collection === undefined)) {
    refuse('type', 'a join can only stand at the top level of a collection');
  }
}

function checkNested(spot: Spot, type: FieldType, place: Place): Nested {
  const { inside, isList = false } = typeFacts[type];
  if (!inside) return { schema: {}, model: {} };
  const inner: Place = { ...place, isTop: false, isInList: place.isInList || isList, reserved: new Map() };
  if (inside === 'blocks') return checkBlocks(at(spot, inside), inner);
  const { schema, fields } = checkFields(at(spot, inside), inner);
  return { schema: { fields: schema }, model: { fields } };
}

function checkBlocks(spot: Spot, place: Place): Nested {
  const schema: NonNullable<FieldSchema['blocks']> = [];
  const blocks: NonNullable<Field['blocks']> = [];
  if (!passes(spot, rules.list)) return { schema: {}, model: {} };
  if (spot.value.length === 0) report(spot, 'must not be empty');

  const slugs: TakenNames = new Map();
  const inner: Place = { ...place, reserved: new Map([['blocktype', 'tells which block an item is']]) };
  for (const item of entriesOf(spot, 'slug')) {
    checkKeys(item, ['slug', 'label', 'fields'], 'a block');
    const slug = checkSlug(at(item, 'slug'), slugs);
    const label = optionOf(at(item, 'label'), rules.text, undefined);
    const fields = at(item, 'fields');
    if (fields.value === undefined) report(fields, 'is missing');
    const checked = checkFields(fields, inner);
    if (slug === undefined) continue;
    schema.push({ slug, ...(label === undefined ? {} : { label }), fields: checked.schema });
    blocks.push({ slug, fields: checked.fields });
  }
  return { schema: { blocks: schema }, model: { blocks } };
}

const slugPattern = /^[A-Za-z_][A-Za-z0-9_-]*$/;

/** The rule of an option that names a slug of another configuration. */
export const slugRule: Rule<string> = {
  passes: (value): value is string => typeof value === 'string' && value.length <= 64 && slugPattern.test(value),
  must: 'be a slug',
};

/** Checks a slug of a collection, a global or a block. Paths, streams and tables are named by slugs. */
export function checkSlug(spot: Spot, taken: TakenNames): string | undefined {
  if (spot.value === undefined) report(spot, 'is missing');
  if (!passes(spot, rules.text)) return undefined;
  const { value: slug } = spot;
  if (slug.length > 64) report(spot, 'may have at most 64 characters');
  else if (!slugPattern.test(slug)) {
    report(spot, `must be letters, digits, "_" and "-", a letter or "_" first, got ${show(slug)}`);
  } else if (slug === '__proto__') report(spot, '"__proto__" is reserved');
  take(spot, taken, slug);
  return slug;
}

function checkReferences(spot: Spot, field: FieldSchema, place: Place): void {
  const { type, relationTo, collection, on, sort } = field;
  const pointsTo = findTarget(at(spot, 'relationTo'), relationTo);
  if (pointsTo && type === 'upload' && !own(pointsTo, 'upload')) {
    report(at(spot, 'relationTo'), `${show(relationTo)} is not an upload collection`);
  }
  const joined = findTarget(at(spot, 'collection'), collection);
  if (joined && on !== undefined && place.collection !== undefined) checkJoin(at(spot, 'on'), joined, place.collection);
  if (joined && collection !== undefined && sort !== undefined) {
    spot.checking.sorts.push({ spot: at(spot, 'sort'), collection, sort });
  }
}

/** Checks `admin.summary`: the field that names a collapsed item must be a field of the item. */
function checkSummary(spot: Spot, schema: FieldSchema): void {
  // For other types, `summary` is refused already.
  if (!isNesting(schema)) return;
  const names = new Set(dataFields(fieldsInside(schema)).map(({ name }) => name));
  requireFieldAmong(at(at(spot, 'admin'), 'summary'), schema.admin?.summary, [...names]);
}

/** Checks `admin.from`: a slug can only be made from a field beside it. */
function checkSources(spot: Spot, fields: readonly Field[]): void {
  for (const { name, admin } of fields) {
    const others = fields.map((field) => field.name).filter((other) => other !== name);
    requireFieldAmong(at(at(at(spot, name), 'admin'), 'from'), admin?.from, others);
  }
}

function findTarget(spot: Spot, slug: string | undefined): Entry | undefined {
  const { collections } = spot.checking;
  const target = slug === undefined ? undefined : collections.get(slug);
  if (slug !== undefined && !target) report(spot, `no collection ${show(slug)}${didYouMean(slug, collections.keys())}`);
  return target;
}

/**
 * Checks the field `on` of a join. It reads the other collection as it is written, because that may not have been
 * checked yet.
 */
function checkJoin(spot: Spot, target: Entry, here: string): void {
  const { value: on } = spot;
  const pointers = topFields(own(target, 'fields')).filter((field) => {
    const type = own(field, 'type');
    return (type === 'relationship' || type === 'upload') && own(field, 'relationTo') === here;
  });
  const names = pointers.map((field) => String(own(field, 'name')));
  if (names.includes(String(on))) return;
  const hint = didYouMean(on, names) || (names.length > 0 ? `; such fields are ${showAll(names)}` : '; it has none');
  const collection = show(own(target, 'slug'));
  report(spot, `${show(on)} is not a top-level relationship of ${collection} to ${show(here)}${hint}`);
}

function topFields(input: unknown): Entry[] {
  if (!Array.isArray(input)) return [];
  return input
    .filter(isEntry)
    .flatMap((field) => (own(field, 'type') === 'row' ? topFields(own(field, 'fields')) : [field]));
}

function checkRenames(spot: Spot, fields: readonly Field[], siblings: TakenNames): void {
  const taken: TakenNames = new Map();
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom === undefined) continue;
    const given = at(at(spot, name), 'renamedFrom');
    if (siblings.has(renamedFrom.toLowerCase())) report(given, `${show(renamedFrom)} is still a field here`);
    else take(given, taken, renamedFrom);
  }
}
