import { compileInside } from '../config/nesting.ts';
import { dataFields, type FieldSchema, type Json, type JsonObject, memberOf } from '../config/schema.ts';
import { readTime } from '../config/times.ts';

type Bring<T> = (value: T) => T;

/**
 * Prepares how the values of these fields are brought to the one form of times of day, in which they have been recorded only
 * since there is one. Null where no field is a time. Any other value is left as it is, and so is the argument.
 */
export function compileTimes(fields: readonly FieldSchema[]): Bring<JsonObject> | null {
  const members = dataFields(fields).flatMap((field) => {
    const bring = bringValue(field);
    return bring ? [{ name: field.name, bring }] : [];
  });
  if (members.length === 0) return null;

  return (values) => {
    const result = { ...values };
    for (const { name, bring } of members) {
      const value = memberOf(values, name);
      if (value !== undefined) result[name] = bring(value);
    }
    return result;
  };
}

function bringValue(field: FieldSchema): Bring<Json> | null {
  if (field.type === 'time') return (value) => (typeof value === 'string' ? (readTime(value) ?? value) : value);
  return compileInside(field, ({ fields }) => compileTimes(fields));
}
