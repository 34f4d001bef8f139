import type Joi from 'joi';
import { DomainError } from './errors.ts';
import { isList } from './field-types.ts';
import { objectSchema, validation, type WriteMode } from './fields.ts';
import { InvalidBody } from './invalid-body.ts';
import { joi } from './joi.ts';
import type { AuthOptions, Field } from './model.ts';
import { newPassword } from './passwords.ts';
import type { JsonObject } from './schema.ts';
import { compileShape, compileShapeValue } from './shape.ts';

/** The members that the server assigns. In a body it is ignored, so that a document read can be sent back. */
const assigned = ['id', 'createdAt', 'updatedAt'] as const;

/**
 * Beyond this number of values, or members of one object, only the first wrong one is told: to list all would cost more
 * than to take it.
 */
const maxValues = 20_000;
const maxMembers = 1000;

/**
 * Checks the bodies of writes to one collection or global. Those of an auth collection may carry a `password`, which is
 * judged with the rest and left out of what is given back.
 */
export type Validator = {
  /**
   * The whole new document: defaults where a value is missing, every field present, in the order of the configuration.
   *
   * @throws InvalidBody with every wrong field (at most 100), whose hints may name every field.
   */
  create: (input: unknown) => JsonObject;
  /**
   * The given fields only, each replaced whole: inside one, `required` and defaults hold as on create.
   *
   * @throws InvalidBody with every wrong field (at most 100), whose hints may name every field.
   */
  update: (input: unknown) => JsonObject;
};

/** Compiles the validator once; using it costs microseconds. */
export function compileValidator(target: { fields: readonly Field[]; auth?: AuthOptions | null }): Validator {
  const fields = target.fields.filter(({ type, isServerMade }) => type !== 'join' && !isServerMade);
  const validateCreate = compileBody(bodySchema(target, 'create'));
  const validateUpdate = compileBody(bodySchema(target, 'update'));
  const shape = compileShape(fields);
  const members = fields.map((field) => ({ name: field.name, shape: compileShapeValue(field) }));

  function create(input: unknown): JsonObject {
    return shape(validateCreate(input));
  }

  function update(input: unknown): JsonObject {
    const values = validateUpdate(input);
    const result: JsonObject = {};
    for (const { name, shape } of members) {
      if (Object.hasOwn(values, name) && values[name] !== undefined) result[name] = shape(values[name]);
    }
    return result;
  }

  return { create, update };
}

/**
 * Prepares the check of a body against a schema made by {@link objectSchema}.
 *
 * @typeParam T what passes the schema.
 * @returns a function that gives the body as it is to be used, or throws InvalidBody with every wrong field (at most
 * 100).
 */
export function compileBody<T = JsonObject>(schema: Joi.ObjectSchema<T>): (input: unknown) => T {
  // Most bodies are right, and one that is not is looked at again, wholly.
  const first = schema.prefs({ ...validation, abortEarly: true });
  const all = schema.prefs(validation);

  return (input) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      throw new DomainError('invalid', 'the body must be a JSON object');
    }
    const { value, error } = first.validate(input);
    if (!error) return value;
    throw refusal((isLarge(input) ? error : (all.validate(input).error ?? error)).details);
  };
}

/** The schema of a body that has no fields, but these members; all of them may be told to every caller. */
export function schemaOfMembers(members: Record<string, Joi.Schema>): Joi.ObjectSchema {
  return objectSchema([], 'create', members, Object.keys(members));
}

/** As {@link compileBody}, for a body of such members. */
export function compileMembers<T>(members: Record<string, Joi.Schema>): (input: unknown) => T {
  return compileBody<T>(schemaOfMembers(members));
}

/** A document that was not written yet, as a global is before its first PATCH: its defaults, null and []. */
export function defaultDocument(fields: readonly Field[]): JsonObject {
  const result: JsonObject = {};
  for (const field of fields) {
    if (field.type !== 'join') result[field.name] = field.makeDefault?.() ?? (isList(field) ? [] : null);
  }
  return result;
}

function bodySchema(target: Parameters<typeof compileValidator>[0], mode: WriteMode): Joi.ObjectSchema {
  const fields = target.fields.filter(({ isServerMade }) => !isServerMade);
  const made = target.fields.filter(({ isServerMade }) => isServerMade).map(({ name }) => name);
  const ignored = Object.fromEntries([...assigned, ...made].map((name) => [name, joi().any()]));
  return target.auth
    ? objectSchema(fields, mode, { ...ignored, password: newPassword() }, ['password'])
    : objectSchema(fields, mode, ignored);
}

function isLarge(input: object): boolean {
  const pending: unknown[] = [input];
  for (const value of pending) {
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value) && Object.keys(value).length > maxMembers) return true;
    const items = Object.values(value);
    if (pending.length + items.length > maxValues) return true;
    for (const item of items) pending.push(item);
  }
  return false;
}

function refusal(details: readonly Joi.ValidationErrorItem[]): Error {
  // A default function that fails is a fault of the configuration, not of the caller.
  const fault = details.find(({ type }) => type === 'any.default');
  return fault ? fault.context?.error : new InvalidBody(details);
}
