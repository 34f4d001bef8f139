import { checkDefault } from './check-defaults.ts';
import { checkFieldAccess, checkFieldHooks } from './check-functions.ts';
import { readOptions } from './check-options.ts';
import { type FieldType, typeFacts } from './field-types.ts';
import { fieldTypeNames, fieldTypes } from './fields.ts';
import type { Field } from './model.ts';
import { otherWord } from './other-words.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isEntry,
  itemPath,
  join,
  namePattern,
  own,
  passes,
  report,
  rules,
  type Taken,
  take,
} from './problems.ts';
import type { FieldSchema } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

const anyOption = [...new Set(['type', ...Object.values(fieldTypes).flatMap(({ options }) => options)])];

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

type Siblings = Taken;
type Nested = { schema: Pick<FieldSchema, 'fields' | 'blocks'>; model: Pick<Field, 'fields' | 'blocks'> };
type Checked = { schema: FieldSchema[]; fields: Field[] };

/** `and` and `or` are words of a where, at every depth. */
const whereWords: [string, string][] = ['and', 'or'].map((word) => [word, 'is a word of filters']);

/**
 * Names that openapi-typescript 7 fails on, all of Object.prototype: it looks fields up in a plain object. redocly and spectral
 * fail on the first.
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

/** The order of a field's keys, so that fields that mean the same give the same JSON. */
const order: readonly (keyof FieldSchema)[] = [
  'name',
  'type',
  'label',
  'required',
  'unique',
  'index',
  'defaultValue',
  'options',
  'relationTo',
  'hasMany',
  'min',
  'max',
  'integer',
  'minLength',
  'maxLength',
  'pattern',
  'fields',
  'blocks',
  'collection',
  'on',
  'limit',
  'sort',
  'renamedFrom',
  'admin',
];

/** Checks a list of fields; what is wrong with them is among the problems afterwards. */
export function checkFields(checking: Checking, path: string, input: unknown, place: Place): Checked {
  const siblings: Siblings = new Map();
  const reserved = new Map([...whereWords, ...place.reserved]);
  const checked = checkList(checking, path, input, { ...place, reserved }, siblings);
  checkRenames(checking, path, checked.fields, siblings);
  return checked;
}

function checkList(checking: Checking, path: string, input: unknown, place: Place, siblings: Siblings): Checked {
  const schema: FieldSchema[] = [];
  const fields: Field[] = [];
  if (!passes(checking, path, input, rules.list)) return { schema, fields };

  for (const [index, item] of input.entries()) {
    const checked = checkField(checking, itemPath(path, item, index, 'name'), item, place, siblings);
    if (!checked) continue;
    schema.push(checked.schema);
    fields.push(...checked.fields);
  }
  return { schema, fields };
}

function checkField(checking: Checking, path: string, input: unknown, place: Place, siblings: Siblings) {
  if (!isEntry(input)) {
    report(checking, path, `must be an object, got ${show(input)}`);
    return undefined;
  }
  const type = checkType(checking, join(path, 'type'), own(input, 'type'));
  if (type === undefined) {
    checkName(checking, path, input, place, siblings);
    checkKeys(checking, path, input, anyOption, 'a field');
    return undefined;
  }
  const problemsBefore = checking.problems.length;
  const read = readOptions(checking, path, input, type);
  if (type === 'row') {
    const inner = checkList(checking, join(path, 'fields'), own(input, 'fields'), place, siblings);
    return { schema: ordered({ ...read, fields: inner.schema }), fields: inner.fields };
  }

  const name = checkName(checking, path, input, place, siblings);
  checkCombinations(checking, path, read, place);
  const ruled = checkFieldAccess(checking, join(path, 'access'), own(input, 'access'));
  const isHidden = place.isHidden || ruled.access?.read !== undefined;
  const nested = checkNested(checking, path, input, read.type, { ...place, isHidden });
  const schema: FieldSchema = { ...read, ...nested.schema };
  const field: Field = { ...read, name: name ?? '', ...nested.model, ...ruled };
  if (schema.unique && isHidden && !(ruled.access?.create && ruled.access.update)) warnOfGuesses(checking, path);
  Object.assign(field, checkFieldHooks(checking, join(path, 'hooks'), own(input, 'hooks')));
  checkReferences(checking, path, schema, place);
  // The value's schema can only be made of a field that is right.
  if (checking.problems.length === problemsBefore) {
    checkDefault(checking, path, own(input, 'defaultValue'), field, schema);
  }
  if (name === undefined) return undefined;
  return { schema: ordered({ ...schema, name }), fields: [field] };
}

function warnOfGuesses(checking: Checking, path: string): void {
  checking.warnings.push(
    `${path}: is unique and not for every reader, and a 409 tells whoever may write it which values there are; ` +
      'rules for create and update say who may',
  );
}

function checkType(checking: Checking, path: string, type: unknown): FieldType | undefined {
  const known = fieldTypeNames.find((name) => name === type);
  if (known !== undefined) return known;
  const word = typeof type === 'string' ? otherWord('a type of field', type) : '';
  const got = type === undefined ? 'it is missing' : `got ${show(type)}${didYouMean(type, fieldTypeNames)}`;
  // The word is told: the list would only hide it.
  const message = word
    ? `${show(type)} is no type of field${word}`
    : `must be one of ${showAll(fieldTypeNames)}, ${got}`;
  report(checking, path, message);
  return undefined;
}

function checkName(checking: Checking, path: string, input: Entry, place: Place, siblings: Siblings) {
  const name = own(input, 'name');
  const namePath = join(path, 'name');
  if (name === undefined) report(checking, namePath, 'is missing');
  if (!passes(checking, namePath, name, rules.text)) return undefined;

  const problem = nameProblem(name, place);
  if (problem) report(checking, namePath, problem);
  if (breaking.has(name)) checking.warnings.push(`${path}: ${show(name)} ${breaks}`);
  take(checking, namePath, siblings, name);
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

/** What single options cannot tell: pairs that exclude each other, and options in the wrong place. */
function checkCombinations(checking: Checking, path: string, field: FieldSchema, place: Place): void {
  const { type, min, max, minLength, maxLength, hasMany } = field;
  const isReference = type === 'relationship' || type === 'upload';
  const refuse = (option: string, message: string) => report(checking, join(path, option), message);

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

function checkNested(checking: Checking, path: string, input: Entry, type: FieldType, place: Place): Nested {
  const { inside, isList = false } = typeFacts[type];
  if (!inside) return { schema: {}, model: {} };
  const inner: Place = { ...place, isTop: false, isInList: place.isInList || isList, reserved: new Map() };
  if (inside === 'blocks') return checkBlocks(checking, join(path, inside), own(input, inside), inner);
  const { schema, fields } = checkFields(checking, join(path, inside), own(input, inside), inner);
  return { schema: { fields: schema }, model: { fields } };
}

function checkBlocks(checking: Checking, path: string, input: unknown, place: Place): Nested {
  const schema: NonNullable<FieldSchema['blocks']> = [];
  const blocks: NonNullable<Field['blocks']> = [];
  if (!passes(checking, path, input, rules.list)) return { schema: {}, model: {} };
  if (input.length === 0) report(checking, path, 'must not be empty');

  const slugs: Taken = new Map();
  const inner: Place = { ...place, reserved: new Map([['blocktype', 'tells which block an item is']]) };
  for (const [index, given] of input.entries()) {
    const item = given ?? null;
    const at = itemPath(path, item, index, 'slug');
    if (!passes(checking, at, item, rules.entry)) continue;
    checkKeys(checking, at, item, ['slug', 'label', 'fields'], 'a block');
    const slug = checkSlug(checking, join(at, 'slug'), own(item, 'slug'), slugs);
    const label = own(item, 'label');
    const isLabelled = passes(checking, join(at, 'label'), label, rules.text);
    if (own(item, 'fields') === undefined) report(checking, join(at, 'fields'), 'is missing');
    const checked = checkFields(checking, join(at, 'fields'), own(item, 'fields'), inner);
    if (slug === undefined) continue;
    schema.push({ slug, ...(isLabelled ? { label } : {}), fields: checked.schema });
    blocks.push({ slug, fields: checked.fields });
  }
  return { schema: { blocks: schema }, model: { blocks } };
}

/** Checks a slug of a collection, a global or a block: the names of paths, streams and tables. */
export function checkSlug(checking: Checking, path: string, input: unknown, taken: Taken): string | undefined {
  if (input === undefined) report(checking, path, 'is missing');
  if (!passes(checking, path, input, rules.text)) return undefined;
  if (input.length > 64) report(checking, path, 'may have at most 64 characters');
  else if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(input)) {
    report(checking, path, `must be letters, digits, "_" and "-", a letter or "_" first, got ${show(input)}`);
  } else if (input === '__proto__') report(checking, path, '"__proto__" is reserved');
  take(checking, path, taken, input);
  return input;
}

function checkReferences(checking: Checking, path: string, field: FieldSchema, place: Place): void {
  const { type, relationTo, collection, on, sort } = field;
  const pointsTo = findTarget(checking, join(path, 'relationTo'), relationTo);
  if (pointsTo && type === 'upload' && !own(pointsTo, 'upload')) {
    report(checking, join(path, 'relationTo'), `${show(relationTo)} is not an upload collection`);
  }
  const joined = findTarget(checking, join(path, 'collection'), collection);
  if (joined && collection !== undefined && on !== undefined && place.collection !== undefined) {
    checkJoin(checking, join(path, 'on'), joined, collection, on, place.collection);
  }
  if (joined && collection !== undefined && sort !== undefined) {
    checking.sorts.push({ path: join(path, 'sort'), collection, sort });
  }
}

function findTarget(checking: Checking, path: string, slug: string | undefined): Entry | undefined {
  const target = slug === undefined ? undefined : checking.collections.get(slug);
  if (slug !== undefined && !target) {
    report(checking, path, `no collection ${show(slug)}${didYouMean(slug, checking.collections.keys())}`);
  }
  return target;
}

/** Looks at the other collection as it was written, since it may not have been checked yet. */
function checkJoin(checking: Checking, path: string, target: Entry, collection: string, on: string, here: string) {
  const pointers = topFields(own(target, 'fields')).filter((field) => {
    const type = own(field, 'type');
    return (type === 'relationship' || type === 'upload') && own(field, 'relationTo') === here;
  });
  const names = pointers.map((field) => String(own(field, 'name')));
  if (names.includes(on)) return;
  const hint = didYouMean(on, names) || (names.length > 0 ? `; such fields are ${showAll(names)}` : '; it has none');
  report(checking, path, `${show(on)} is no top-level relationship of ${show(collection)} to ${show(here)}${hint}`);
}

function topFields(input: unknown): Entry[] {
  if (!Array.isArray(input)) return [];
  return input
    .filter(isEntry)
    .flatMap((field) => (own(field, 'type') === 'row' ? topFields(own(field, 'fields')) : [field]));
}

function checkRenames(checking: Checking, path: string, fields: readonly Field[], siblings: Siblings): void {
  const taken: Taken = new Map();
  for (const { name, renamedFrom } of fields) {
    if (renamedFrom === undefined) continue;
    const at = join(join(path, name), 'renamedFrom');
    if (siblings.has(renamedFrom.toLowerCase())) report(checking, at, `${show(renamedFrom)} is still a field here`);
    else take(checking, at, taken, renamedFrom);
  }
}

function ordered(field: FieldSchema): FieldSchema {
  const result: Record<string, unknown> = {};
  for (const key of order) if (field[key] !== undefined) result[key] = field[key];
  return result as FieldSchema;
}
