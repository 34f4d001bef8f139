import { DomainError, type FieldError } from '../config/errors.ts';
import { affinityOf, readDate, readDatetime, readTime } from '../config/fields.ts';
import type { Field } from '../config/model.ts';
import { type FieldType, isList } from '../config/schema.ts';
import { didYouMean, show, showAll } from '../config/suggest.ts';
import type { Tables } from '../projections/tables.ts';
import {
  type Bound,
  type Leaf,
  type Operator,
  operatorNames,
  type SortKey,
  type Step,
  type ValueKind,
  type Where,
} from '../projections/where.ts';

/** What a caller may look through: the fields of a collection it may read, and which of its documents. */
export type Reach = {
  tables: Tables;
  /** The fields that this caller may filter and sort by. */
  fields: readonly Field[];
  /** The reach of another collection; null when the caller may see nothing of it. */
  related: (slug: string) => Promise<{ reach: Reach; filter: Where | null } | null>;
};

const maxLevels = 20;
const maxConditions = 200;
const maxHops = 5;
const maxErrors = 50;

/** A filter as it came: nested objects, lists of alternatives, values. */
type Raw = unknown;

/**
 * Reads the `where` of a query (contract, section 4.9; also as JSON), against what the caller may see.
 *
 * @throws DomainError `invalid` naming every wrong part.
 */
export async function readWhere(query: Record<string, unknown>, reach: Reach): Promise<Where | null> {
  const raw = rawWhere(query);
  if (raw === undefined) return null;
  return readWhereObject(raw as object, reach);
}

/**
 * Reads a filter that is an object already, such as an access rule returns.
 *
 * @throws DomainError `invalid` naming every wrong part.
 */
export async function readWhereObject(raw: object, reach: Reach): Promise<Where> {
  const reading: Reading = { errors: [], conditions: 0 };
  const where = await readLevel(raw, reach, 'where', 1, reading);
  refuse(reading.errors);
  return where;
}

/** True for the query parameters that {@link readWhere} reads. */
export function isWhereParameter(name: string): boolean {
  return name === 'where' || name.startsWith('where[');
}

type Reading = { errors: FieldError[]; conditions: number };

/** The bracket notation as the object it stands for. */
function rawWhere(query: Record<string, unknown>): Raw {
  const names = Object.keys(query).filter(isWhereParameter);
  if (names.length === 0) return undefined;
  if (names.includes('where')) {
    if (names.length > 1) throw invalid('where', 'where must be given either as JSON or in brackets, not both');
    return parseJson(query.where);
  }
  const root: Record<string, Raw> = Object.create(null);
  for (const name of names) {
    const path = [...name.matchAll(/\[([^[\]]*)\]/g)].map(([, key]) => key as string);
    if (name !== `where${path.map((key) => `[${key}]`).join('')}`)
      throw invalid(name, `${name.slice(0, 100)} is not of the form where[field][operator]`);
    put(root, path, query[name], name);
  }
  return root;
}

function parseJson(text: unknown): Raw {
  if (typeof text !== 'string') throw invalid('where', 'where must be given once');
  try {
    return JSON.parse(text);
  } catch {
    throw invalid('where', `where must be JSON, or in brackets like where[field][operator]=value, got ${show(text)}`);
  }
}

function put(root: Record<string, Raw>, path: readonly string[], value: unknown, name: string): void {
  if (path.length > maxLevels * 2 + 2) throw invalid('where', `where must be at most ${maxLevels} levels deep`);
  let object = root;
  for (const key of path.slice(0, -1)) {
    const inside = object[key] ?? Object.create(null);
    if (typeof inside !== 'object' || inside === null || Array.isArray(inside))
      throw invalid(name, `${name.slice(0, 100)} contradicts another parameter`);
    object[key] = inside;
    object = inside as Record<string, Raw>;
  }
  const last = path.at(-1) as string;
  if (object[last] !== undefined) throw invalid(name, `${name.slice(0, 100)} contradicts another parameter`);
  object[last] = value;
}

async function readLevel(raw: Raw, reach: Reach, at: string, level: number, reading: Reading): Promise<Where> {
  if (level > maxLevels) throw invalid('where', `where must be at most ${maxLevels} levels deep`);
  if (!isObject(raw)) {
    fail(reading, at, `must be an object of fields, got ${show(raw)}`);
    return { and: [] };
  }
  const parts: Where[] = [];
  for (const [key, value] of Object.entries(raw)) {
    const inside = `${at}[${key.slice(0, 100)}]`;
    if (key === 'and' || key === 'or') parts.push(await readBranches(key, value, reach, inside, level, reading));
    else parts.push(...(await readField(key, value, reach, inside, reading)));
  }
  return { and: parts };
}

async function readBranches(
  word: 'and' | 'or',
  raw: Raw,
  reach: Reach,
  at: string,
  level: number,
  reading: Reading,
): Promise<Where> {
  const branches = listOf(raw);
  if (!branches || branches.length === 0) {
    fail(reading, at, `must be a list of conditions, like where[${word}][0][field][operator]=value, got ${show(raw)}`);
    return { and: [] };
  }
  const parts: Where[] = [];
  for (const [index, branch] of branches.entries()) {
    parts.push(await readLevel(branch, reach, `${at}[${index}]`, level + 1, reading));
  }
  return word === 'and' ? { and: parts } : { or: parts };
}

/** A list, or in brackets an object whose keys are whole numbers. */
function listOf(raw: Raw): Raw[] | null {
  if (Array.isArray(raw)) return raw;
  if (!isObject(raw)) return null;
  const entries = Object.entries(raw);
  if (!entries.every(([key]) => /^\d{1,9}$/.test(key))) return null;
  return entries.sort(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
}

async function readField(name: string, raw: Raw, reach: Reach, at: string, reading: Reading): Promise<Where[]> {
  const found = await resolvePath(name, reach);
  if (typeof found === 'string') {
    fail(reading, at, found);
    return [];
  }
  if (!isObject(raw) || Object.keys(raw).length === 0) {
    fail(reading, at, `needs an operator, like ${at}[equals]=value; operators: ${showAll(operatorsFor(found))}`);
    return [];
  }
  const parts: Where[] = [];
  for (const [word, value] of Object.entries(raw)) {
    reading.conditions += 1;
    if (reading.conditions > maxConditions)
      throw invalid('where', `where must have at most ${maxConditions} conditions`);
    const part = readCondition(found, word, value, `${at}[${word.slice(0, 100)}]`, reading);
    if (part) parts.push(part);
  }
  return parts;
}

/** A path that was found: how to get there, and the field that is there. */
type Found = { steps: Step[]; leaf: Leaf; field: Pick<Field, 'type' | 'hasMany' | 'options'> };

function readCondition(found: Found, word: string, raw: Raw, at: string, reading: Reading): Where | null {
  const allowed = operatorsFor(found);
  if (!(allowed as readonly string[]).includes(word)) {
    const known = (operatorNames as readonly string[]).includes(word);
    const what = known
      ? `is not for a field of type ${found.field.type}`
      : `is not an operator${didYouMean(word, allowed)}`;
    fail(reading, at, `${what}; allowed here: ${showAll(allowed)}`);
    return null;
  }
  const operator = word as Operator;
  const values = readValues(found, operator, raw);
  if (typeof values === 'string') {
    fail(reading, at, values);
    return null;
  }
  return { steps: found.steps, leaf: found.leaf, operator, values };
}

/** The operators that a field can carry. */
function operatorsFor({ leaf, field }: Found): readonly Operator[] {
  if (leaf.kind === 'json') return ['exists'];
  if (leaf.kind === 'list') return ['contains', 'in', 'not_in', 'exists'];
  const always = ['equals', 'not_equals', 'in', 'not_in', 'exists'] as const;
  const isOrdered = leaf.kind === 'number' || ['date', 'datetime', 'time'].includes(field.type);
  if (isOrdered) return [...always, 'greater_than', 'less_than', 'greater_than_equal', 'less_than_equal'];
  return leaf.kind === 'text' ? [...always, 'like'] : always;
}

function readValues(found: Found, operator: Operator, raw: Raw): Bound[] | string {
  if (operator === 'exists') {
    if (raw === true || raw === 'true') return [1];
    return raw === false || raw === 'false' ? [0] : `must be true or false, got ${show(raw)}`;
  }
  if (operator === 'in' || operator === 'not_in') {
    const list = Array.isArray(raw) ? raw : typeof raw === 'string' ? raw.split(',') : [raw];
    if (list.length > maxConditions) return `must be at most ${maxConditions} values, got ${list.length}`;
    return collect(list.map((one) => readValue(found, one, true)));
  }
  if (Array.isArray(raw)) return 'must be given once';
  const takesNull = operator === 'equals' || operator === 'not_equals';
  return collect([operator === 'like' ? readText(raw) : readValue(found, raw, takesNull)]);
}

type Read = { value: Bound } | { problem: string };

function collect(read: readonly Read[]): Bound[] | string {
  const values: Bound[] = [];
  for (const one of read) {
    if ('problem' in one) return one.problem;
    values.push(one.value);
  }
  return values;
}

function readText(raw: Raw): Read {
  const isText = typeof raw === 'string' && raw.isWellFormed() && !raw.includes('\0');
  return isText ? { value: raw } : { problem: `must be a text, got ${show(raw)}` };
}

/** Reads a value by the type of its field; text from the query, or typed from JSON. */
function readValue({ leaf, field }: Found, raw: Raw, takesNull: boolean): Read {
  if (raw === null || raw === 'null') return takesNull ? { value: null } : { problem: 'must not be null; use exists' };
  if (field.type === 'number') return readNumber(raw);
  if (field.type === 'boolean') return readBoolean(raw);
  const read = readText(raw);
  if ('problem' in read) return read;
  const text = String(read.value);
  const form = forms[field.type];
  const formed = form ? form.read(text) : text;
  if (formed === undefined) return { problem: `must be ${form?.what}, got ${show(raw)}` };
  const options = field.options?.map(({ value }) => value);
  if (options && !options.includes(formed)) {
    return { problem: `must be one of ${showAll(options)}, got ${show(raw)}${didYouMean(formed, options)}` };
  }
  // The server's own times are kept as milliseconds.
  return { value: leaf.kind === 'number' ? Date.parse(formed) : formed };
}

/** The types whose values are texts of a form. A date alone is the first moment of its day, in UTC. */
const forms: { [type in FieldType]?: { read: (text: string) => string | undefined; what: string } } = {
  date: { read: readDate, what: 'a calendar date like "2024-02-29"' },
  time: { read: readTime, what: 'a time like "23:59"' },
  datetime: {
    read: (text) => readDatetime(readDate(text) === undefined ? text : `${text}T00:00:00Z`),
    what: 'a date, or a date and time with a zone like "2024-02-29T12:30:00Z"',
  },
};

function readNumber(raw: Raw): Read {
  const number = typeof raw === 'string' && raw.trim() !== '' ? Number(raw) : raw;
  const isNumber = typeof number === 'number' && Number.isFinite(number);
  return isNumber ? { value: number } : { problem: `must be a number, got ${show(raw)}` };
}

function readBoolean(raw: Raw): Read {
  if (raw === true || raw === 'true') return { value: 1 };
  return raw === false || raw === 'false' ? { value: 0 } : { problem: `must be true or false, got ${show(raw)}` };
}

/** The server's own fields as fields. */
const ownFields: readonly Field[] = [
  { name: 'id', type: 'text' },
  { name: 'createdAt', type: 'datetime' },
  { name: 'updatedAt', type: 'datetime' },
];

/** Follows a dotted path through objects, lists and relationships; a text says why it leads nowhere. */
async function resolvePath(path: string, reach: Reach): Promise<Found | string> {
  const names = path.split('.');
  const steps: Step[] = [];
  let level: Level = { fields: [...ownFields, ...reach.fields], reach, isTop: true };
  let hops = 0;
  for (const [index, name] of names.entries()) {
    const field = level.fields.find((one) => one.name === name);
    if (!field || field.type === 'join') return unknownField(names.slice(0, index), name, level.fields);
    if (index === names.length - 1) return { steps, leaf: leafOf(field, level.isTop), field };
    if (field.relationTo) hops += 1;
    if (hops > maxHops) return `must not go through more than ${maxHops} relationships`;
    const next = await enter(field, level.reach, names.slice(index + 1));
    if (!next) return unknownField(names.slice(0, index + 1), names[index + 1] ?? '', []);
    steps.push(next.step);
    level = next.level;
  }
  return unknownField([], path, level.fields);
}

/** The fields that a path can go on to, and from which collection. */
type Level = { fields: readonly Field[]; reach: Reach; isTop: boolean };

/** @param rest the names of the path after `field`. */
async function enter(
  field: Field,
  reach: Reach,
  rest: readonly string[],
): Promise<{ step: Step; level: Level } | null> {
  const { name, type } = field;
  if (field.relationTo) {
    const related = await reach.related(field.relationTo);
    if (!related) return null;
    const step: Step = {
      kind: 'related',
      name,
      isList: isList(field),
      tables: related.reach.tables,
      filter: related.filter,
    };
    return { step, level: { fields: [...ownFields, ...related.reach.fields], reach: related.reach, isTop: true } };
  }
  if (type === 'object')
    return { step: { kind: 'member', name }, level: { fields: field.fields ?? [], reach, isTop: false } };
  if (type === 'array')
    return {
      step: { kind: 'items', name, blockTypes: null },
      level: { fields: field.fields ?? [], reach, isTop: false },
    };
  if (type !== 'blocks') return null;
  const blocks = blocksWith(field, rest);
  const fields = (blocks ?? field.blocks ?? []).flatMap((block) => block.fields);
  return {
    step: { kind: 'items', name, blockTypes: blocks?.map(({ slug }) => slug) ?? null },
    level: { fields: [blockType(field), ...fields], reach, isTop: false },
  };
}

/**
 * The types of block that a path leads into: those where this caller may follow it, and where it ends at the same type of
 * field as in the first of them. Null when it leads into none, or is about every block.
 */
function blocksWith({ blocks = [] }: Field, rest: readonly string[]): Field['blocks'] | null {
  if (rest[0] === 'blockType') return null;
  const ends = blocks.map((block) => endOf(block.fields, rest));
  const end = ends.find((one) => one !== null);
  return end === undefined ? null : blocks.filter((_, index) => ends[index] === end);
}

/** What a path comes by, as a text to compare; null when it leads nowhere. */
function endOf(fields: readonly Field[], [name, ...rest]: readonly string[]): string | null {
  const field = fields.find((one) => one.name === name);
  if (!field) return null;
  const own = [field.type, field.hasMany === true, field.relationTo].join(' ');
  if (rest.length === 0 || field.relationTo) return own;
  if (field.blocks && rest[0] === 'blockType') return own;
  const inside = field.blocks ?? [{ slug: '', fields: field.fields ?? [] }];
  const ends = inside.map((one) => `${one.slug} ${endOf(one.fields, rest)}`);
  return ends.every((one) => one.endsWith(' null')) ? null : [own, ...ends].join(' > ');
}

function blockType({ blocks = [] }: Field): Field {
  const options = blocks.map(({ slug }) => ({ label: slug, value: slug }));
  return { name: 'blockType', type: 'select', options };
}

function leafOf(field: Field, isTop: boolean): Leaf {
  return { name: field.name, kind: isTop && /^(created|updated)At$/.test(field.name) ? 'number' : kindOf(field) };
}

function kindOf(field: Field): ValueKind {
  if (field.type === 'multiSelect' || (field.relationTo && isList(field))) return 'list';
  switch (affinityOf(field)) {
    case 'TEXT':
      return 'text';
    case 'REAL':
      return 'number';
    case 'INTEGER':
      return 'boolean';
    default:
      return 'json';
  }
}

/** A field that the caller may not read is one that does not exist. */
function unknownField(before: readonly string[], name: string, fields: readonly Field[]): string {
  // Blocks may have fields of one name.
  const names = [...new Set(fields.filter(({ type }) => type !== 'join').map((field) => field.name))];
  const where = before.length > 0 ? ` of ${show(before.join('.'))}` : '';
  const allowed = names.length > 0 ? `; allowed: ${showAll(names)}` : '';
  return `${show(name)} is not a field${where} to filter or sort by${didYouMean(name, names)}${allowed}`;
}

/**
 * Reads a `sort` (contract, section 4.8): several paths, separated by commas, `-` for descending.
 *
 * @returns the keys, and what is wrong with them.
 */
export async function readSort(text: string, reach: Reach): Promise<{ keys: SortKey[]; problems: string[] }> {
  const keys: SortKey[] = [];
  const problems: string[] = [];
  for (const term of text.split(',').slice(0, maxSortKeys + 1)) {
    const isDescending = term.startsWith('-');
    const found = await resolvePath(isDescending ? term.slice(1) : term, reach);
    if (typeof found === 'string') problems.push(`sort: ${found}`);
    else if (isManyValued(found)) problems.push(`sort: ${show(term)} has no single value to sort by`);
    else keys.push({ steps: found.steps, leaf: found.leaf, isDescending });
  }
  if (keys.length > maxSortKeys) problems.push(`sort must have at most ${maxSortKeys} fields`);
  return { keys, problems };
}

const maxSortKeys = 10;

function isManyValued({ steps, leaf }: Found): boolean {
  const hasMany = steps.some((step) => step.kind === 'items' || (step.kind === 'related' && step.isList));
  return hasMany || leaf.kind === 'list' || leaf.kind === 'json';
}

function isObject(raw: Raw): raw is Record<string, Raw> {
  return typeof raw === 'object' && raw !== null && !Array.isArray(raw);
}

function fail({ errors }: Reading, field: string, message: string): void {
  if (errors.length < maxErrors) errors.push({ field, message: `${field}: ${message}` });
}

function invalid(field: string, message: string): DomainError {
  return new DomainError('invalid', message, [{ field: field.slice(0, 100), message }]);
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new DomainError('invalid', errors.map(({ message }) => message).join('; '), errors);
}
