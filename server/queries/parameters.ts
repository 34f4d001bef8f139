import { cutField, DomainError, type FieldError, inQuery, invalidField, invalidFields } from '../../config/errors.ts';
import type { ErrorPlace } from '../../config/field-error-codes.ts';
import type { JsonObject } from '../../config/schema.ts';
import { didYouMean, show, showAll } from '../../config/suggest.ts';

/** A query string, parsed: a text under each name, a list of texts under a name that came several times. */
export type Query = Record<string, unknown>;

/**
 * A query parameter: how it is read, and its OpenAPI description, declared together so that both agree.
 *
 * @template C the context that its reader needs beside the text.
 */
export type Parameter<T = unknown, C = unknown> = {
  /** A parameter object of OpenAPI 3.0, without `name` and `in`. */
  told: ParameterDescription;
  /** @throws DomainError `validation_failed` naming the parameter. `given` is undefined if it is missing. */
  read: (given: unknown, name: string, context: C) => T;
};

type ParameterDescription = JsonObject & { description: string; schema: JsonObject };

/** The parameters of a route, by name. */
type Table<C = unknown> = Record<string, Parameter<unknown, C>>;

/** The values of the parameters of a table. */
export type Values<P> = { [N in keyof P]: P[N] extends { read: (...given: never[]) => infer T } ? T : never };

/** A query after reading: the values of the valid parameters, and the errors of the others. */
export type ParsedQuery<P> = { values: Partial<Values<P>>; errors: FieldError[] };

/**
 * Reads a query by the table of its route. @throws DomainError `validation_failed` naming every parameter that is wrong
 * or unknown.
 */
export function readQuery<C, P extends Table<C>>(table: P, query: Query, context: C): Values<P> {
  return settle(askedOf(table, query, context));
}

/**
 * As {@link readQuery}, for a route with more checks before it refuses: it adds to the errors, then calls {@link
 * settle}.
 */
export function askedOf<C, P extends Table<C>>(table: P, query: Query, context: C): ParsedQuery<P> {
  const errors = unknownParameters(query, Object.keys(table));
  const values: Partial<Values<P>> = {};
  for (const name in table) {
    try {
      values[name] = table[name]?.read(query[name], name, context) as Values<P>[typeof name];
    } catch (error) {
      addTo(errors, error);
    }
  }
  return { values, errors };
}

/** The values of a query. @throws DomainError `validation_failed` naming everything that is wrong. */
export function settle<P>({ values, errors }: ParsedQuery<P>): Values<P> {
  refuse(errors);
  return values as Values<P>;
}

/** Checks the query of a route that takes no parameters. */
export function rejectQuery(query: Query): void {
  refuse(unknownParameters(query, []));
}

/** The number of errors of a query at which reading ends: each may have a suggestion, which costs time. */
export const maxQueryErrors = 50;

/** Whether a name is that of the parameter `where`: alone, or with a path in brackets. */
export function isWhereParameter(name: string): boolean {
  return name === 'where' || name.startsWith('where[');
}

/** The former names of `next`, by which a page continues. */
const formerNames = ['after', 'before'];

/** The errors of unknown names. Names that begin with `_` pass: front ends add them to get past caches. */
function unknownParameters(query: Query, allowed: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  for (const name of Object.keys(query)) {
    if (name.startsWith('_') || allowed.includes(name)) continue;
    if (allowed.includes('where') && isWhereParameter(name)) continue;
    if (errors.length === maxQueryErrors) break;
    const field = cutField(name, 100);
    if (formerNames.includes(name) && allowed.includes('next')) {
      errors.push({ ...inQuery(field, 'unknown_parameter'), message: `${field} is called next` });
      continue;
    }
    const known = allowed.length > 0 ? `; allowed: ${showAll(allowed)}` : '; this route takes none';
    errors.push({
      ...inQuery(field, 'unknown_parameter'),
      message: `${field} is not a query parameter${didYouMean(name, allowed)}${known}`,
    });
  }
  return errors;
}

/** Adds the errors of a refusal to `errors`. @throws any other error again. */
export function addTo(errors: FieldError[], error: unknown): void {
  if (!(error instanceof DomainError && error.code === 'validation_failed')) throw error;
  errors.push(...error.errors);
}

/** @throws DomainError `validation_failed` with these errors, if there are any. */
export function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidFields(errors);
}

/** The bounds of a whole number: a number above `most` is not refused, but read as `most`. */
type Bounds = { least: number; most?: number };

/** A whole number from `least`; if it is missing, `otherwise`, or null. */
export function count(bounds: Bounds & ({ otherwise: number } | RequiredForm), description: string): Parameter<number>;
export function count(bounds: Bounds, description: string): Parameter<number | null>;
export function count(
  { least, most, otherwise, isRequired }: Bounds & { otherwise?: number; isRequired?: true },
  description: string,
): Parameter<number | null> {
  const capped = most === undefined ? description : `${description}; above ${most} is ${most}.`;
  const schema = { type: 'integer', minimum: least, maximum: Number.MAX_SAFE_INTEGER, ...defaultOf(otherwise) };
  return {
    told: { description: capped, ...required(isRequired), schema },
    read(given, name) {
      if (given === undefined && !isRequired) return otherwise ?? null;
      return Math.min(readInteger(given, name, { least }), most ?? Number.MAX_SAFE_INTEGER);
    },
  };
}

type RequiredForm = { isRequired: true };

/** A text that is not empty; null if it is missing. `must` ends the sentence "must …". */
export function text(description: string, form: RequiredForm & TextForm): Parameter<string>;
export function text(description: string, form?: TextForm): Parameter<string | null>;
export function text(
  description: string,
  { must = 'be given once and not be empty', pattern, isRequired }: TextForm & { isRequired?: true } = {},
): Parameter<string | null> {
  const form = pattern === undefined ? { minLength: 1 } : { pattern: pattern.source };
  return {
    told: { description, ...required(isRequired), schema: { type: 'string', ...form } },
    read(given, name) {
      if (given === undefined && !isRequired) return null;
      if (typeof given === 'string' && given !== '') return given;
      throw invalidField(
        inQuery(name, given === undefined || given === '' ? 'required' : 'type'),
        `must ${must}, ${cameOf(given)}`,
      );
    },
  };
}

/** `pattern` is only for the description: a {@link checked} parameter tests it, with a better message. */
type TextForm = { must?: string; pattern?: RegExp };

/** `true` or `false`. */
export function flag(otherwise: boolean, description: string): Parameter<boolean> {
  return {
    told: { description, schema: { type: 'boolean', ...defaultOf(otherwise) } },
    read(given, name) {
      if (given === undefined) return otherwise;
      if (given === 'true' || given === 'false') return given === 'true';
      throw invalidField(
        inQuery(name, 'type'),
        `must be true or false, ${cameOf(given)}${didYouMean(given, ['true', 'false'])}`,
      );
    },
  };
}

/** One of some words. */
export function oneOf<W extends string>(words: readonly W[], otherwise: W, description: string): Parameter<W> {
  return {
    told: { description, schema: { type: 'string', enum: [...words], ...defaultOf(otherwise) } },
    read(given, name) {
      if (given === undefined) return otherwise;
      const found = words.find((word) => word === given);
      if (found !== undefined) return found;
      throw invalidField(
        inQuery(name, 'not_allowed', { allowed: words }),
        `must be one of ${showAll(words)}, got ${show(given)}${didYouMean(given, words)}`,
      );
    },
  };
}

/** A text that another reader reads, since it needs more than the text: `readQuery` returns it as received. */
export function describedOnly(description: string, schema: JsonObject = {}): Parameter {
  return { told: { description, schema: { type: 'string', ...schema } }, read: (given) => given };
}

/** The same parameter with a check of its value, if there is a value. @param check throws as `read` does. */
export function checked<T, C>(
  { told, read }: Parameter<T, C>,
  check: (value: NonNullable<T>, name: string, context: C) => void,
): Parameter<T, C> {
  return {
    told,
    read(given, name, context) {
      const value = read(given, name, context);
      if (value !== null && value !== undefined) check(value, name, context);
      return value;
    },
  };
}

/** The same parameter with a longer description. */
export function tell<T, C>({ told, read }: Parameter<T, C>, more: JsonObject): Parameter<T, C> {
  return { told: { ...told, ...more }, read };
}

/** Reads a whole number from `least`. @throws DomainError `validation_failed` naming the parameter. */
export function readInteger(
  text: unknown,
  name: string,
  { least, place = 'query' }: { least: number; place?: ErrorPlace },
): number {
  const number = Number(text);
  if (typeof text === 'string' && /^\d+$/.test(text) && number >= least && Number.isSafeInteger(number)) return number;
  const isLess = typeof text === 'string' && /^-?\d+$/.test(text) && number < least;
  const code = text === undefined ? 'required' : isLess ? 'min' : 'type';
  const fault = { field: name, in: place, code, ...(isLess ? { limit: least } : {}) } as const;
  throw invalidField(fault, `must be one whole number from ${least}, ${cameOf(text)}`);
}

function cameOf(text: unknown): string {
  if (text === undefined) return 'it is missing';
  return `got ${Array.isArray(text) ? `${text.length} values` : show(text)}`;
}

function required(isRequired: true | undefined): JsonObject {
  return isRequired ? { required: true } : {};
}

function defaultOf(value: string | number | boolean | undefined): JsonObject {
  return value === undefined ? {} : { default: value };
}
