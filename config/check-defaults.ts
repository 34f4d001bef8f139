import { defaultDocument } from './documents.ts';
import { fieldTypes, validation } from './fields.ts';
import { problemText } from './invalid-body.ts';
import type { Field } from './model.ts';
import { fieldsOfObject } from './nesting.ts';
import { at, report, type Spot, warn } from './problems.ts';
import type { FieldSchema, Json } from './schema.ts';
import { compileShapeValue } from './shape.ts';

/** Checks the default of a field. Sets `makeDefault` of the field, and the normalised default of the schema. */
export function checkDefault(spot: Spot, field: Field, schema: FieldSchema): void {
  const given = at(spot, 'defaultValue');
  const { value: input } = given;
  if (input === undefined || input === null) {
    const made = defaultOfParts(field);
    if (made) field.makeDefault = made;
    return;
  }
  const readValue = compileDefault(field);
  if (typeof input === 'function') {
    field.makeDefault = () => {
      const { value, problem } = readValue(input());
      if (problem) throw new Error(`The default of ${spot.path} ${problem.message}`);
      return value;
    };
    return;
  }

  const { value, problem } = readValue(input);
  if (problem) {
    report({ ...given, path: [given.path, ...problem.path].join('.') }, problem.message);
    return;
  }
  schema.defaultValue = value;
  field.defaultValue = value;
  // Every document gets its own copy, because a hook may change the value that it receives.
  field.makeDefault = typeof value === 'object' ? () => structuredClone(value) : () => value;
  if (schema.unique) warn(spot, 'every document has the same default, and the field is unique');
}

type Default = { value: Json; problem?: { path: (string | number)[]; message: string } };

function compileDefault(field: Field): (value: unknown) => Default {
  const valueSchema = fieldTypes[field.type].schema(field).prefs(validation);
  const shape = compileShapeValue(field);
  return (input) => {
    if (input === undefined || input === null) return { value: shape(null) };
    const { value, error } = valueSchema.validate(input);
    const [detail] = error?.details ?? [];
    if (detail) return { value: null, problem: { path: detail.path, message: problemText(detail) } };
    return { value: shape(value) };
  };
}

/**
 * A missing object is made from the defaults of its fields, if there are any. If a required field has no default, no
 * object is made: a body that does not send the object would be refused.
 */
function defaultOfParts(field: Field): (() => Json) | undefined {
  const fields = fieldsOfObject(field);
  if (!fields?.some(({ makeDefault }) => makeDefault)) return undefined;
  if (fields.some(({ required, makeDefault }) => required && !makeDefault)) return undefined;
  return () => defaultDocument(fields);
}
