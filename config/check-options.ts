import type { FieldType } from './field-types.ts';
import { type FieldOption, fieldTypes, jsonProblem, typesThatTake } from './fields.ts';
import { otherWord } from './other-words.ts';
import { readPattern } from './patterns/pattern.ts';
import {
  type Checking,
  checkKeys,
  type Entry,
  isEntry,
  join,
  namePattern,
  own,
  passes,
  type Rule,
  report,
  rules,
  wholeNumber,
} from './problems.ts';
import type { FieldSchema, Json, JsonObject } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** A field without what is read elsewhere: its name and what is inside it. */
export type PlainField = Omit<FieldSchema, 'name' | 'fields' | 'blocks'>;

const adminKeys = ['description', 'hidden', 'readOnly', 'placeholder', 'condition'] as const;

const flags = ['required', 'unique', 'index', 'hasMany', 'integer'] as const;

/** Options that are copied as they are when they pass. */
const plainRules: { [option in FieldOption]?: Rule } = {
  label: rules.text,
  relationTo: rules.text,
  min: rules.number,
  max: rules.number,
  minLength: rules.count,
  maxLength: rules.count,
  collection: rules.text,
  on: rules.text,
  limit: wholeNumber(1),
  sort: rules.text,
  renamedFrom: {
    passes: (value): value is string => typeof value === 'string' && namePattern.test(value),
    must: 'be a field name',
  },
  ...Object.fromEntries(flags.map((flag) => [flag, rules.boolean])),
};

/** The options that stand for themselves. Those that hold fields and functions are read by others. */
export function readOptions(checking: Checking, path: string, input: Entry, type: FieldType): PlainField {
  const kind = fieldTypes[type];
  const read: Record<string, unknown> = { type };
  for (const key of Object.keys(input)) {
    if (kind.options.some((option) => option === key)) continue;
    const takers = typesThatTake(key);
    const message =
      takers.length > 0
        ? `is not an option of ${show(type)}; the types that take it: ${showAll(takers)}`
        : `is not an option of ${show(type)}${otherWord('a field', key) || didYouMean(key, kind.options)}`;
    report(checking, join(path, key), message);
  }
  for (const option of kind.options) {
    const value = own(input, option);
    if (option === 'relationTo' && Array.isArray(value)) {
      report(checking, join(path, option), `must be one slug, got ${show(value)}; write a field for each collection`);
      continue;
    }
    const rule = plainRules[option];
    if (rule && passes(checking, join(path, option), value, rule) && value !== false) read[option] = value;
  }
  for (const option of kind.needs ?? []) {
    if (own(input, option) === undefined) report(checking, join(path, option), `is missing; ${show(type)} needs it`);
  }
  Object.assign(read, checkChoices(checking, join(path, 'options'), type, own(input, 'options')));
  Object.assign(read, checkPattern(checking, join(path, 'pattern'), type, input));
  Object.assign(read, checkAdmin(checking, join(path, 'admin'), own(input, 'admin')));
  return read as PlainField;
}

function checkChoices(checking: Checking, path: string, type: FieldType, input: unknown) {
  if (!fieldTypes[type].options.includes('options') || !passes(checking, path, input, rules.list)) return {};
  const options: { label: string; value: string }[] = [];
  for (const [index, item] of input.entries()) {
    const itemPath = join(path, index);
    const option: unknown = typeof item === 'string' ? { value: item } : item;
    if (!isEntry(option)) {
      report(checking, itemPath, `must be a text or { label, value }, got ${show(item)}`);
      continue;
    }
    checkKeys(checking, itemPath, option, ['label', 'value'], 'an option');
    const value = own(option, 'value');
    const label = own(option, 'label') ?? value;
    if (value === undefined) report(checking, join(itemPath, 'value'), 'is missing');
    if (!passes(checking, join(itemPath, 'value'), value, rules.text)) continue;
    if (!passes(checking, join(itemPath, 'label'), label, rules.text)) continue;
    const isTaken = options.some((earlier) => earlier.value === value);
    if (isTaken) report(checking, itemPath, `${show(value)} is declared twice`);
    options.push({ label, value });
  }
  if (input.length === 0) report(checking, path, 'must not be empty');
  return { options };
}

/** Of steps that a value may cost: beyond, they take a thread for seconds. */
const maxSteps = 100_000_000;
/** What a body may hold, if the configuration says nothing else. */
const bodyLength = 1024 * 1024;

const warnings = {
  backtracks:
    ', so it is matched by trying one way after the other, which may hold up a thread: bound the values by maxLength',
  ways: (ways: number) =>
    `each character of a long value may cost ${ways} steps, so that one as long as a body may take a thread for seconds: ` +
    'bound the values by maxLength',
  isExponential:
    'some values take most engines exponential time, as in "(a+)+"; the service matches it in linear time, clients that ' +
    'check by its OpenAPI document may not',
};

function checkPattern(checking: Checking, path: string, type: FieldType, field: Entry) {
  const input = own(field, 'pattern');
  const maxLength = own(field, 'maxLength');
  const longest = typeof maxLength === 'number' ? maxLength : bodyLength;
  if (!fieldTypes[type].options.includes('pattern') || !passes(checking, path, input, rules.text)) return {};
  try {
    const { backtracks, ways, isExponential } = readPattern(input);
    if (backtracks !== null) checking.warnings.push(`${path}: ${backtracks}${warnings.backtracks}`);
    if (ways * longest > maxSteps) checking.warnings.push(`${path}: ${warnings.ways(ways)}`);
    if (isExponential()) checking.warnings.push(`${path}: ${warnings.isExponential}`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report(checking, path, `is no regular expression with the flag "u": ${why}`);
  }
  return { pattern: input };
}

function checkAdmin(checking: Checking, path: string, input: unknown) {
  if (!passes(checking, path, input, rules.entry)) return {};
  const admin: JsonObject = {};
  checkKeys(checking, path, input, adminKeys, 'admin');
  const adminRules: Record<(typeof adminKeys)[number], Rule<Json>> = {
    description: rules.text,
    hidden: rules.boolean,
    readOnly: rules.boolean,
    placeholder: rules.text,
    condition: {
      passes: (value): value is JsonObject => isEntry(value) && !jsonProblem(value),
      must: 'be a where object of JSON values',
    },
  };
  for (const key of adminKeys) {
    const value = own(input, key);
    if (passes(checking, join(path, key), value, adminRules[key]) && value !== false) admin[key] = value;
  }
  return Object.keys(admin).length > 0 ? { admin } : {};
}
