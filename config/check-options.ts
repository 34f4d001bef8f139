import { checkFieldAdmin, checkRichText } from './check-admin.ts';
import type { FieldType } from './field-types.ts';
import { type FieldOption, fieldTypes, typesThatTake } from './fields.ts';
import { otherWord } from './other-words.ts';
import { readPattern } from './patterns/pattern.ts';
import {
  at,
  checkKeys,
  type Entry,
  isEntry,
  namePattern,
  own,
  passes,
  type Rule,
  report,
  rules,
  type Spot,
  warn,
  wholeNumber,
} from './problems.ts';
import type { FieldSchema } from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** A field without its name and its inner fields, which are read elsewhere. */
type PlainField = Omit<FieldSchema, 'name' | 'fields' | 'blocks'>;

const flags = ['required', 'unique', 'index', 'queryable', 'hasMany', 'integer'] as const;

/** Options that are copied unchanged if they are valid. */
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

/** Checks the options that are plain values. Options that hold fields or functions are read elsewhere. */
export function readOptions(spot: Spot<Entry>, type: FieldType): PlainField {
  const kind = fieldTypes[type];
  const read: Record<string, unknown> = { type };
  for (const key of Object.keys(spot.value)) {
    if (kind.options.some((option) => option === key)) continue;
    const takers = typesThatTake(key);
    const message =
      takers.length > 0
        ? `is not an option of ${show(type)}; the types that take it: ${showAll(takers)}`
        : `is not an option of ${show(type)}${otherWord('a field', key) || didYouMean(key, kind.options)}`;
    report(at(spot, key), message);
  }
  for (const option of kind.options) {
    const given = at(spot, option);
    if (option === 'relationTo' && Array.isArray(given.value)) {
      report(given, `must be one slug, got ${show(given.value)}; write a field for each collection`);
      continue;
    }
    const rule = plainRules[option];
    if (rule && passes(given, rule) && given.value !== false) read[option] = given.value;
  }
  for (const option of kind.needs ?? []) {
    if (own(spot.value, option) === undefined) report(at(spot, option), `is missing; ${show(type)} needs it`);
  }
  if (kind.options.includes('options')) Object.assign(read, checkChoices(at(spot, 'options')));
  if (kind.options.includes('pattern')) Object.assign(read, checkPattern(spot));
  if (kind.options.includes('richText')) Object.assign(read, checkRichText(at(spot, 'richText')));
  Object.assign(read, checkFieldAdmin(at(spot, 'admin'), type));
  return read as PlainField;
}

function checkChoices(spot: Spot) {
  if (!passes(spot, rules.list)) return {};
  const options: { label: string; value: string }[] = [];
  for (const [index, item] of spot.value.entries()) {
    const option: unknown = typeof item === 'string' ? { value: item } : item;
    if (!isEntry(option)) {
      report(at(spot, index), `must be a text or { label, value }, got ${show(item)}`);
      continue;
    }
    const given = { ...at(spot, index), value: option };
    checkKeys(given, ['label', 'value'], 'an option');
    const value = at(given, 'value');
    const label = own(option, 'label') === undefined ? value : at(given, 'label');
    if (value.value === undefined) report(value, 'is missing');
    if (!passes(value, rules.text) || !passes(label, rules.text)) continue;
    const isTaken = options.some((earlier) => earlier.value === value.value);
    if (isTaken) report(given, `${show(value.value)} is declared twice`);
    options.push({ label: label.value, value: value.value });
  }
  if (spot.value.length === 0) report(spot, 'must not be empty');
  return { options };
}

/** The number of steps that a value may cost; more keep a thread busy for seconds. */
const maxSteps = 100_000_000;
/** The default limit of a body, in bytes. */
const bodyLength = 1024 * 1024;

const warnings = {
  backtracks: ', so it is matched by backtracking, which may block a thread: limit the values with maxLength',
  ways: (ways: number) =>
    `each character of a long value may cost ${ways} steps, so a value as long as a body may block a thread for seconds: ` +
    'limit the values with maxLength',
  isExponential:
    'some values take most engines exponential time, as with "(a+)+"; the service matches in linear time, but ' +
    'clients that validate with its OpenAPI document may not',
};

const backtracking =
  ', so it can be matched only by backtracking, and one value may block a thread for seconds; rewrite it, or set ' +
  'allowBacktracking: true and a maxLength';

/**
 * The source of a RegExp, as the option takes it, and the flags that are lost: patterns are matched with the flag "u"
 * only.
 */
function sourceOf({ source, flags }: RegExp): string {
  const lost = flags.replaceAll(/[dguvy]/g, '');
  return `${show(source)}${lost === '' ? '' : `, which is matched without the ${lost.length > 1 ? 'flags' : 'flag'} ${show(lost)}`}`;
}

function checkPattern(field: Spot<Entry>) {
  const spot = at(field, 'pattern');
  const allowing = at(field, 'allowBacktracking');
  const isAllowed = passes(allowing, rules.boolean) && allowing.value;
  if (spot.value === undefined && isAllowed) report(allowing, 'needs a pattern beside it');
  if (spot.value instanceof RegExp) {
    report(spot, `must be a text, got a RegExp; write its source, ${sourceOf(spot.value)}`);
    return {};
  }
  if (!passes(spot, rules.text)) return {};
  const maxLength = own(field.value, 'maxLength');
  const longest = typeof maxLength === 'number' ? maxLength : bodyLength;
  const { value: pattern } = spot;
  try {
    const { backtracks, ways, isExponential } = readPattern(pattern);
    if (backtracks === null && isAllowed) warn(allowing, 'is not needed: the pattern is matched without backtracking');
    if (backtracks !== null && isAllowed) warn(spot, backtracks + warnings.backtracks);
    if (backtracks !== null && !isAllowed) report(spot, backtracks + backtracking);
    if (ways * longest > maxSteps) warn(spot, warnings.ways(ways));
    if (isExponential()) warn(spot, warnings.isExponential);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    report(spot, `is not a regular expression with the flag "u": ${why}`);
  }
  return { pattern };
}

/** The order of a field's keys, so that fields with the same meaning give the same JSON. */
const order: readonly (keyof FieldSchema)[] = [
  'name',
  'type',
  'label',
  'required',
  'unique',
  'index',
  'queryable',
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
  'richText',
  'renamedFrom',
  'admin',
];

/** A field with its keys in that fixed order. */
export function ordered(field: FieldSchema): FieldSchema {
  const result: Record<string, unknown> = {};
  for (const key of order) if (field[key] !== undefined) result[key] = field[key];
  return result as FieldSchema;
}
