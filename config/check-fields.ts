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
  type Taken,
  take,
  warn,
} from './problems.ts';
import { dataFields, type FieldSchema } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

const anyOption = [...new Set(['type', ...Object.values(fieldTypes).flatMap(({ options }) => options)])];

const containsItself =
  'is the list that it stands in, so it would have no end: write the inner fields out, as deep as they go, or point to documents ' +
  'of the same collection by a relationship';

/** Where a list of fields stands. */
export type Place = {
  /** The slug of the collection; absent in a global. */
  collection?: string;
  /** Directly in the document, where the server's own fields stand too. */
  isTop: boolean;
  /** Somewhere inside an array or blocks, where a value has no column. */
  isInList: boolean;
  /** Inside a field that is not for every reader. */
  isHidden?: boolean;
  /** Names that are refused here, in lower case since columns do not tell it apart, with the reason. */
  reserved: ReadonlyMap<string, string>;
};

/** The names of a list of fields, those inside its rows too, beside the place of the list. */
type Level = { place: Place; siblings: Taken };
type Nested = { schema: Pick<FieldSchema, 'fields' | 'blocks'>; model: Pick<Field, 'fields' | 'blocks'> };
type Checked = { schema: FieldSchema[]; fields: Field[] };

/** `and` and `or` are words of a where, at every depth. */
const whereWords: [string, string][] = ['and', 'or'].map((word) => [word, 'is a word of filters']);

/**
 * Names that openapi-typescript 7 fails on, all of Object.prototype: it looks fields up in a plain object. redocly and
 * spectral fail on the first.
 */
const breaking: ReadonlySet<string> = new Set([
  'hasOwnProperty',
  'isPrototypeOf',
  'propertyIsEnumerable',
  'toLocaleString',
  'valueOf',
]);
const breaks =
  'is a name that every object of JavaScript has: openapi-typescript and other readers of the OpenAPI document fail on it';

/** Checks a list of fields; what is wrong with them is among the problems afterwards. */
export function checkFields(spot: Spot, place: Place): Checked {
  const siblings: Taken = new Map();
  const reserved = new Map([...whereWords, ...place.reserved]);
  const checked = checkList(spot, { place: { ...place, reserved }, siblings });
  checkRenames(spot, checked.fields, siblings);
  checkSources(spot, checked.fields);
  return checked;
}

function checkList(spot: Spot, level: Level): Checked {
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
  // The value's schema can only be made of a field that is right.
  if (problems.length === problemsBefore) checkDefault(spot, field, schema);
  if (name === undefined) return undefined;
  return { schema: ordered({ ...schema, name }), fields: [field] };
}

function warnOfGuesses(spot: Spot): void {
  const message =
    'is unique and not for every reader, and a 409 tells callers who may write it which values there are; rules for create and ' +
    'update say who may';
  warn(spot, message);
}

function checkType(spot: Spot): FieldType | undefined {
  const { value: type } = spot;
  const known = fieldTypeNames.find((name) => name === type);
  if (known !== undefined) return known;
  const word = typeof type === 'string' ? otherWord('a type of field', type) : '';
  const got = type === undefined ? 'it is missing' : `got ${show(type)}${didYouMean(type, fieldTypeNames)}`;
  // The word is told: the list would only hide it.
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

/** Refuses what single options cannot tell: pairs that exclude each other, and options in the wrong place. */
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

  const slugs: Taken = new Map();
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

/** Checks a slug of a collection, a global or a block: the names of paths, streams and tables. */
export function checkSlug(spot: Spot, taken: Taken): string | undefined {
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

/** The field that a folded item of a list is called by stands in the item. */
function checkSummary(spot: Spot, schema: FieldSchema): void {
  // Of another type it is refused already.
  if (!isNesting(schema)) return;
  const names = new Set(dataFields(fieldsInside(schema)).map(({ name }) => name));
  requireFieldAmong(at(at(spot, 'admin'), 'summary'), schema.admin?.summary, [...names]);
}

/** The field that a slug is made from stands beside it. */
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

/** Looks at the other collection as it was written, since it may not have been checked yet. */
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

function checkRenames(spot: Spot, fields: readonly Field[], siblings: Taken): void {
  const taken: Taken = new Map();
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom === undefined) continue;
    const given = at(at(spot, name), 'renamedFrom');
    if (siblings.has(renamedFrom.toLowerCase())) report(given, `${show(renamedFrom)} is still a field here`);
    else take(given, taken, renamedFrom);
  }
}
