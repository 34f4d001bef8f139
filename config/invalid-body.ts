import type Joi from 'joi';
import { cutField, DomainError, type Fault, type FieldError, inBody, type Problem } from './errors.ts';
import type { FieldErrorCode } from './field-error-codes.ts';
import type { Field } from './model.ts';
import { didYouMean, show, showAll } from './suggest.ts';

const maxErrors = 100;
const maxNamed = 5;

/**
 * The error for an invalid body, `validation_failed`. It is the only error that may name fields which the caller has
 * not named.
 */
export class InvalidBody extends DomainError {
  readonly #details: readonly Joi.ValidationErrorItem[];

  constructor(details: readonly Joi.ValidationErrorItem[], mayName?: MayName) {
    const errors = errorsOf(details, mayName);
    super('validation_failed', summary(errors), errors);
    this.#details = details;
  }

  /** True if the body has an unknown member, for which the message may have a hint. */
  get hasHints(): boolean {
    return this.#details.some(({ type }) => type === 'object.unknown');
  }

  /** The same error, with hints that name only the fields that `mayName` allows. */
  withHints(mayName: MayName): InvalidBody {
    return new InvalidBody(this.#details, mayName);
  }
}

function errorsOf(details: readonly Joi.ValidationErrorItem[], mayName?: MayName): FieldError[] {
  const errors = new Map<string, FieldError>();
  for (const detail of details) {
    if (errors.size === maxErrors) break;
    const field = cutField(detail.path.join('.'));
    if (!errors.has(field))
      errors.set(field, { ...faultOf(field, detail), message: `${field} ${problemText(detail, mayName)}` });
  }
  return [...errors.values()];
}

function summary(errors: readonly FieldError[]): string {
  const [first] = errors;
  if (errors.length === 1 && first) return first.message;
  const names = errors.slice(0, maxNamed).map(({ field }) => field);
  const more = errors.length > maxNamed ? ` and ${errors.length - maxNamed} more` : '';
  const count = errors.length === maxErrors ? `${maxErrors} or more` : errors.length;
  return `${count} fields are wrong: ${names.join(', ')}${more}`;
}

type Context = Joi.Context;

/** The codes of joi's codes. `must` and `secret` are ours and carry theirs, see {@link mustError}. */
const codes: Record<string, FieldErrorCode> = {
  'any.required': 'required',
  'any.unknown': 'misplaced',
  'object.unknown': 'unknown_field',
  'any.only': 'not_allowed',
  'string.base': 'type',
  'string.empty': 'required',
  'string.email': 'format',
  'number.base': 'type',
  'number.infinity': 'type',
  'number.unsafe': 'unsafe_number',
  'number.integer': 'type',
  'number.min': 'min',
  'number.max': 'max',
  'boolean.base': 'type',
  'array.base': 'type',
  'array.unique': 'duplicate',
  'object.base': 'type',
};

/** How many allowed values an entry has at most: a choice may have thousands. */
export const maxAllowed = 50;

function faultOf(field: string, { type, context = {} }: Joi.ValidationErrorItem): Fault {
  const { code, limit, value, key, valids } = context;
  if (code !== undefined) return inBody(field, code, limit === undefined ? {} : { limit });
  // As in the text: a member of an object refuses null only if it is required.
  if (value === null && typeof key === 'string') return inBody(field, 'required');
  const allowed = type === 'any.only' ? words(valids) : [];
  const parameters = {
    ...(type === 'number.min' || type === 'number.max' ? { limit } : {}),
    ...(allowed.length > 0 && allowed.length <= maxAllowed ? { allowed } : {}),
  };
  return inBody(field, codes[type] ?? 'invalid', parameters);
}

/** The error of a schema of ours: the value "must …". @param kind `secret`: the message does not show the value. */
export function mustError(
  helpers: Joi.CustomHelpers,
  { problem: must, code, limit }: Problem,
  kind: 'must' | 'secret' = 'must',
): Joi.ErrorReport {
  return helpers.error(kind, { must, code, limit });
}

/** The messages of joi's codes. The code `must` is ours and carries its text. */
const musts: Record<string, (context: Context) => string> = {
  must: ({ must }) => must,
  'any.only': ({ valids }) => `be one of ${showAll(words(valids))}`,
  'string.base': ({ must }) => must ?? 'be a text',
  'string.empty': () => 'not be empty',
  'string.email': () => 'be an e-mail address',
  'number.base': () => 'be a number',
  'number.infinity': () => 'be a finite number',
  'number.unsafe': () => `be between ${Number.MIN_SAFE_INTEGER} and ${Number.MAX_SAFE_INTEGER}`,
  'number.integer': () => 'be a whole number',
  'number.min': ({ limit }) => `be at least ${limit}`,
  'number.max': ({ limit }) => `be at most ${limit}`,
  'boolean.base': () => 'be true or false',
  'array.base': () => 'be a list',
  'array.unique': () => 'not be listed twice',
  'object.base': () => 'be an object',
};

/** Whether a hint may name a field: a hint must not disclose a field that the caller may not read. */
type MayName = (field: Field) => boolean;

const anyField: MayName = () => true;

/** The text of a problem, without the name of the field: `must be a text, got 3`. */
export function problemText({ type, context = {} }: Joi.ValidationErrorItem, mayName: MayName = anyField): string {
  const { value, key } = context;
  if (type === 'any.required') return 'is required';
  if (type === 'any.unknown') return 'may not be given here';
  if (type === 'object.unknown') return `is not a field${didYouMean(key, namesOf(context, mayName))}`;
  // The value is not shown, because it may be a secret.
  if (type === 'secret') return `must ${context.must}`;
  // A member of an object refuses null only if it is required. An item of a list always refuses null.
  if (value === null && typeof key === 'string') return 'is required, got null';

  const must = musts[type]?.(context) ?? 'be valid';
  const hint = type === 'any.only' ? didYouMean(value, words(context.valids)) : '';
  return `must ${must}, got ${show(value)}${hint}`;
}

function namesOf({ allowed, words = [] }: Context, mayName: MayName): string[] {
  const fields: readonly Field[] = allowed;
  return [...words, ...fields.filter(mayName).map(({ name }) => name)];
}

/** The allowed values of a choice, without the null of a field that is not required. */
function words(valids: unknown[]): string[] {
  return valids.filter((valid) => typeof valid === 'string');
}
