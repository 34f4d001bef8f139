import type Joi from 'joi';
import { relaxed } from './draft-fields.ts';
import { invalidBody } from './errors.ts';
import { isList } from './field-types.ts';
import { objectSchema, validation, type WriteMode } from './fields.ts';
import { InvalidBody } from './invalid-body.ts';
import { joi } from './joi.ts';
import type { AuthOptions, DraftOptions, Field } from './model.ts';
import { newPassword } from './passwords.ts';
import type { JsonObject } from './schema.ts';
import { compileShape, compileShapeValue } from './shape.ts';

/**
 * The members that the server assigns. They are ignored in a body, so that a document can be sent back as it was read.
 */
const assigned = ['id', 'createdAt', 'updatedAt'] as const;

/**
 * In a body with more values, or more members in one object, only the first wrong value is reported: a list of all
 * would cost more than an accepted body.
 */
const maxValues = 20_000;
const maxMembers = 1000;

/**
 * Checks the bodies of writes to one collection or global. A body for an auth collection may have a `password`, which
 * is checked with the rest and left out of the result.
 */
export type Validator = {
  /**
   * The whole new document: every field in the order of the configuration, with defaults for missing values.
   *
   * @throws InvalidBody with every wrong field (at most 100). Its hints may name any field.
   */
  create: (input: unknown) => JsonObject;
  /**
   * Only the given fields. Each replaces the whole old value, so inside it `required` and defaults apply as on create.
   *
   * @throws InvalidBody with every wrong field (at most 100). Its hints may name any field.
   */
  update: (input: unknown) => JsonObject;
};

/** Compiles the validator. Compile once: a check then takes microseconds. */
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

/** Compiles the validator of drafts, which may lack what a public document needs, unless `validates` is set. */
export function compileDraftValidator(target: { fields: readonly Field[] }, { validates }: DraftOptions): Validator {
  return compileValidator(validates ? target : { fields: relaxed(target.fields) });
}

/**
 * Prepares the check of a body against a schema made by {@link objectSchema}.
 *
 * @typeParam T the type of a valid body.
 * @returns a function that returns the normalised body, or throws InvalidBody with every wrong field (at most 100).
 */
export function compileBody<T = JsonObject>(schema: Joi.ObjectSchema<T>): (input: unknown) => T {
  // Most bodies are valid. An invalid one is checked a second time, to find all of its problems.
  const first = schema.prefs({ ...validation, abortEarly: true });
  const all = schema.prefs(validation);

  return (input) => {
    if (typeof input !== 'object' || input === null || Array.isArray(input)) {
      throw invalidBody('type', 'the body must be a JSON object');
    }
    const { value, error } = first.validate(input);
    if (!error) return value;
    throw refusal((isLarge(input) ? error : (all.validate(input).error ?? error)).details);
  };
}

/** The schema of a body with these members and no fields. Hints may name the members to every caller. */
export function schemaOfMembers(members: Record<string, Joi.Schema>): Joi.ObjectSchema {
  return objectSchema([], 'create', { members, words: Object.keys(members) });
}

/** As {@link compileBody}, for a body with these members and no fields. */
export function compileMembers<T>(members: Record<string, Joi.Schema>): (input: unknown) => T {
  return compileBody<T>(schemaOfMembers(members));
}

/**
 * The values of a document that was not written yet, such as a global before its first PATCH: defaults, null and [].
 */
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
    ? objectSchema(fields, mode, { members: { ...ignored, password: newPassword() }, words: ['password'] })
    : objectSchema(fields, mode, { members: ignored });
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
  // If a default function throws, the configuration is at fault, not the caller.
  const fault = details.find(({ type }) => type === 'any.default');
  return fault ? fault.context?.error : new InvalidBody(details);
}
