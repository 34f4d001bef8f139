import type Joi from 'joi';
import { hasEncodedWord, isPlainText, normalEmail } from './addresses.ts';
import { counted } from './counted.ts';
import { originalOf } from './draft-fields.ts';
import type { Problem } from './errors.ts';
import type { FieldType } from './field-types.ts';
import { mustError } from './invalid-body.ts';
import { joi } from './joi.ts';
import type { Field } from './model.ts';
import { readPattern } from './patterns/pattern.ts';
import type { FieldSchema } from './schema.ts';
import { readDate, readDatetime, readTime } from './times.ts';

/** An option that at least one field type takes. */
export type FieldOption = keyof FieldSchema | 'access' | 'hooks' | 'allowBacktracking';

type FieldKind = {
  /** The options that the type takes. */
  options: readonly FieldOption[];
  /** The options that are mandatory for the type, beside `name`. */
  needs?: readonly FieldOption[];
  /** The schema of a given value. It never converts types; `config/invalid-body.ts` makes the messages. */
  schema: (field: Field) => Joi.Schema;
};

/**
 * Create: missing fields take their defaults, and `required` fields must be there. Update: only the given fields are
 * checked.
 */
export type WriteMode = 'create' | 'update';

/** Preferences for every schema made here. With `abortEarly: true` added, a check stops at the first wrong value. */
export const validation: Joi.ValidationOptions = {
  abortEarly: false,
  convert: false,
  // The messages are made later from code and context, only for reported errors.
  errors: { render: false, label: false, stack: false },
};

const stored = [
  'name',
  'type',
  'label',
  'required',
  'defaultValue',
  'access',
  'hooks',
  'admin',
  'renamedFrom',
  'queryable',
] as const;
const keys = ['unique', 'index'] as const;
const lengths = ['minLength', 'maxLength'] as const;
const single = [...stored, ...keys] as const;
const texts = [...stored, ...keys, ...lengths, 'pattern', 'allowBacktracking'] as const;
const maxJsonDepth = 100;

const referenceKind: FieldKind = {
  options: [...single, ...lengths, 'relationTo', 'hasMany'],
  needs: ['relationTo'],
  schema: reference,
};

/**
 * The options of each field type, and the schema of its values. Its other properties are in `config/field-types.ts`.
 */
export const fieldTypes: Record<FieldType, FieldKind> = {
  text: { options: texts, schema: (field) => text(field) },
  textarea: { options: texts, schema: (field) => text(field) },
  richText: { options: [...stored, 'richText'], schema: json },
  email: {
    options: texts,
    schema: (field) => text(field, named(field.isAccountEmail ? accountEmail() : email(), 'be an e-mail address')),
  },
  url: { options: texts, schema: (field) => text(field, form(readUrl, 'be an absolute http or https URL')) },
  number: { options: [...single, 'min', 'max', 'integer'], schema: number },
  boolean: { options: [...stored, 'index'], schema: () => joi().boolean() },
  date: { options: single, schema: () => form(readDate, 'be a calendar date like "2024-02-29"') },
  datetime: {
    options: single,
    schema: () => form(readDatetime, 'be a date and time with a zone like "2024-02-29T12:30:00Z"'),
  },
  time: { options: single, schema: () => form(readTime, 'be a time like "23:59" or "23:59:59"') },
  select: { options: [...single, 'options'], needs: ['options'], schema: oneOf },
  radio: { options: [...single, 'options'], needs: ['options'], schema: oneOf },
  multiSelect: {
    options: [...stored, ...lengths, 'options'],
    needs: ['options'],
    schema: (field) => list(field, oneOf(field)).unique(),
  },
  relationship: referenceKind,
  upload: referenceKind,
  object: { options: [...stored, 'fields'], needs: ['fields'], schema: ({ fields = [] }) => objectSchema(fields) },
  array: {
    options: [...stored, ...lengths, 'fields'],
    needs: ['fields'],
    schema: (field) => list(field, objectSchema(field.fields ?? [])),
  },
  blocks: {
    options: [...stored, ...lengths, 'blocks'],
    needs: ['blocks'],
    schema: (field) => list(field, block(field.blocks ?? [])),
  },
  json: { options: stored, schema: json },
  join: {
    options: ['name', 'type', 'label', 'access', 'hooks', 'admin', 'collection', 'on', 'limit', 'sort'],
    needs: ['collection', 'on'],
    schema: () => joi().any(),
  },
  row: { options: ['type', 'label', 'fields', 'admin'], needs: ['fields'], schema: () => joi().any() },
};

/** Every field type, in the order of the documentation. */
export const fieldTypeNames = Object.keys(fieldTypes) as FieldType[];

/** The types that take an option, for the message to an author who gave the option to another type. */
export function typesThatTake(option: string): FieldType[] {
  return fieldTypeNames.filter((type) => fieldTypes[type].options.some((one) => one === option));
}

/**
 * The joi schema of an object with these fields. It refuses unknown keys and does not check joins.
 *
 * @param others the schemas of keys that are not fields, and the keys that a hint may name to every caller.
 */
export function objectSchema(
  fields: readonly Field[],
  mode: WriteMode = 'create',
  others: { members: Readonly<Record<string, Joi.Schema>>; words?: readonly string[] } = { members: {} },
): Joi.ObjectSchema {
  const { members, words = [] } = others;
  // Rights are to the fields of the configuration.
  const allowed = fields.filter(({ type }) => type !== 'join').map(originalOf);
  const ofFields = fields.map((field) => [field.name, member(field, mode)] as const);
  return joi()
    .object({ ...members, ...Object.fromEntries(ofFields) })
    .error((reports) => {
      for (const report of reports) {
        // The report of an inner object has the fields of that object already.
        if (report.code !== 'object.unknown' || report.local.allowed) continue;
        Object.assign(report.local, { allowed, words });
      }
      return reports;
    });
}

/** The reason why a value is not valid JSON, as the end of "must …"; undefined if it is valid. */
export function jsonProblem(value: unknown, depth = 0): Problem | undefined {
  if (typeof value === 'string') return isClean(value) ? undefined : unclean;
  // JSON.parse reads 1e400 as Infinity, which JSON cannot represent.
  if (typeof value === 'number')
    return Number.isFinite(value) ? undefined : { code: 'type', problem: 'hold only finite numbers' };
  if (value === null || typeof value === 'boolean') return undefined;
  if (!isPlain(value)) return { code: 'type', problem: 'hold only JSON values' };
  if (depth === maxJsonDepth)
    return { code: 'too_deep', problem: `be nested at most ${maxJsonDepth} levels deep`, limit: maxJsonDepth };
  if (!Array.isArray(value) && !Object.keys(value).every(isClean)) return unclean;
  for (const item of Object.values(value)) {
    const problem = jsonProblem(item, depth + 1);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The schema of a field as a member of an object: `null` is an empty value, a missing value takes the default. */
function member(field: Field, mode: WriteMode): Joi.Schema {
  const { required, makeDefault } = field;
  let schema = fieldTypes[field.type].schema(field);
  if (!required) schema = schema.allow(null);
  else if (mode === 'create' && !makeDefault) schema = schema.required();
  if (mode === 'create' && makeDefault) schema = schema.default(() => makeDefault());
  // joi reads value[key], so a missing `constructor` reads as the inherited function, which counts as missing.
  return Object.hasOwn(Object.prototype, field.name) ? schema.empty(joi().function()) : schema;
}

function text(field: Field, base = joi().string()): Joi.StringSchema {
  const { required, minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern } = field;
  const matches = pattern === undefined ? undefined : matcherFor(field, pattern);
  const counts = field.minLength !== undefined || field.maxLength !== undefined;
  return (required ? base : base.min(0)).custom((value: string, helpers) => {
    if (!isClean(value)) return mustError(helpers, { code: 'unsafe_characters', problem: cleanText });
    if (counts) {
      const length = characters(value);
      if (length < minLength)
        return mustError(helpers, {
          code: 'min_length',
          problem: `have at least ${counted(minLength, 'character')}`,
          limit: minLength,
        });
      if (length > maxLength)
        return mustError(helpers, {
          code: 'max_length',
          problem: `have at most ${counted(maxLength, 'character')}`,
          limit: maxLength,
        });
    }
    // The pattern comes after the length, so that maxLength limits the values that a slow pattern runs on.
    if (matches && !matches(value))
      return mustError(helpers, { code: 'pattern', problem: `match the pattern ${pattern}` });
    return value;
  });
}

/**
 * One matcher for each field, shared by the schemas for create and update, because a matcher caches what it learns of
 * its pattern.
 */
const matchers = new WeakMap<Field, (value: string) => boolean>();

function matcherFor(field: Field, pattern: string): (value: string) => boolean {
  const matches = matchers.get(field) ?? readPattern(pattern).matches;
  matchers.set(field, matches);
  return matches;
}

/** The schema of a text with a special form. `read` returns the text to store, or undefined if the form is wrong. */
function form(read: (value: string) => string | undefined, must: string): Joi.StringSchema {
  const schema = joi().string().min(0);
  return named(schema, must).custom(
    (value: string, helpers) => read(value) ?? mustError(helpers, { code: 'format', problem: must }),
  );
}

/** Adds to the error for a value that is not a text which kind of text it must be. */
function named(schema: Joi.StringSchema, must: string): Joi.StringSchema {
  return schema.error((reports) => {
    for (const report of reports) if (report.code === 'string.base') report.local.must = must;
    return reports;
  });
}

function email(): Joi.StringSchema {
  // Any top-level domain is allowed: joi's list becomes outdated, and intranets have domains of their own.
  return joi().string().email({ tlds: false }).custom(refuseEncodedWord);
}

function refuseEncodedWord(value: string, helpers: Joi.CustomHelpers<string>): string | Joi.ErrorReport {
  const must = 'be an e-mail address, and no encoded word (RFC 2047)';
  return hasEncodedWord(value) ? mustError(helpers, { code: 'format', problem: must }) : value;
}

/**
 * The e-mail of an account appears in mail headers and identifies the account, so it is normalised and has no invisible
 * characters.
 */
function accountEmail(): Joi.StringSchema {
  return joi()
    .string()
    .custom((value: string, helpers) => {
      const normal = normalEmail(value);
      return isPlainText(normal) ? normal : helpers.error('string.email');
    })
    .email({ tlds: false, ignoreLength: true })
    .custom(refuseEncodedWord);
}

function readUrl(value: string): string | undefined {
  // The WHATWG parser is lenient, for example about spaces around the URL or a missing "//". A filter would not find
  // such a value again under its normal form.
  return /^https?:\/\/[^\s/]\S*$/i.test(value) && URL.canParse(value) ? value : undefined;
}

function number({ min, max, integer }: Field): Joi.NumberSchema {
  let schema = joi().number();
  if (integer) schema = schema.integer();
  if (min !== undefined) schema = schema.min(min);
  if (max !== undefined) schema = schema.max(max);
  return schema;
}

function oneOf({ options = [] }: Field): Joi.Schema {
  return oneOfWords(options.map(({ value }) => value));
}

/**
 * As `Joi.valid`, but faster for wrong values: `Joi.valid` copies all words for each of them, which takes a second for
 * many words and a long list.
 */
function oneOfWords(valids: readonly string[]): Joi.Schema {
  const known: ReadonlySet<unknown> = new Set(valids);
  return joi()
    .any()
    .custom((value, helpers) => (known.has(value) ? value : helpers.error('any.only', { valids })));
}

function reference(field: Field): Joi.Schema {
  const id = named(joi().string(), 'be the id of a document').custom((value: string, helpers) =>
    isClean(value) ? value : mustError(helpers, { code: 'unsafe_characters', problem: cleanText }),
  );
  return field.hasMany ? list(field, id) : id;
}

/** A list that is not required may be empty whatever its minLength, because answers show a missing list as []. */
function list(field: Field, item: Joi.Schema): Joi.ArraySchema {
  const { required, minLength = 0, maxLength = Number.POSITIVE_INFINITY } = field;
  return joi()
    .array()
    .custom((value: unknown[], helpers) => {
      if (value.length === 0 && required) return mustError(helpers, { code: 'required', problem: 'not be empty' });
      if (value.length === 0) return value;
      if (value.length < minLength)
        return mustError(helpers, {
          code: 'min_items',
          problem: `have at least ${counted(minLength, 'item')}`,
          limit: minLength,
        });
      if (value.length > maxLength)
        return mustError(helpers, {
          code: 'max_items',
          problem: `have at most ${counted(maxLength, 'item')}`,
          limit: maxLength,
        });
      return value;
    })
    .items(item);
}

function block(blocks: { slug: string; fields: Field[] }[]): Joi.Schema {
  const blockType = oneOfWords(blocks.map(({ slug }) => slug)).required();
  const others = { members: { blockType } };
  // biome-ignore lint/suspicious/noThenProperty: joi's name for what a case leads to
  const cases = blocks.map(({ slug, fields }) => ({ is: slug, then: objectSchema(fields, 'create', others) }));
  // Only wrong items reach `otherwise`, which reports what is wrong with them.
  const otherwise = joi().object({ blockType }).unknown();
  return joi().alternatives().conditional(joi().ref('.blockType'), { switch: cases, otherwise });
}

function json(): Joi.Schema {
  const schema = joi()
    .any()
    .custom((value: unknown, helpers) => {
      const wrong = jsonProblem(value);
      return wrong === undefined ? value : mustError(helpers, wrong);
    });
  // `any` includes null; `member` allows null again if the field is not required.
  return schema.invalid(null);
}

const cleanText = 'not hold NUL characters or lone surrogates';
const unclean: Problem = { code: 'unsafe_characters', problem: cleanText };

/**
 * NUL ends a text in SQLite's functions, and a lone surrogate has no UTF-8 form: such texts would not be read back
 * unchanged.
 */
function isClean(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0');
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function characters(value: string): number {
  let count = 0;
  for (const _ of value) count++;
  return count;
}
