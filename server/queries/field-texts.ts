import Bourne from '@hapi/bourne';
import { affinityOf, type FieldType, isList, typeFacts } from '../../config/field-types.ts';
import { isNesting } from '../../config/nesting.ts';
import type { Json } from '../../config/schema.ts';

/** The reader of a text as a value; undefined for a text of another form. `must` ends the sentence "must …". */
type Reading = { read: (text: string) => Json | undefined; must: string };

/** A field, with its functions or as plain data. */
type TypedField = { type: FieldType; hasMany?: true };

const asText: Reading = { read: (text) => text, must: 'be a text' };
const asNumber: Reading = {
  read: (text) =>
    /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text)) ? Number(text) : undefined,
  must: 'be a number',
};
const asBoolean: Reading = { read: (text) => ({ true: true, false: false })[text], must: 'be true or false' };
const asJson: Reading = { read: readJson, must: 'be JSON' };
const asList: Reading = { read: readJson, must: 'be a list in JSON, for example ["a","b"]' };
const asObject: Reading = { read: readJson, must: 'be an object in JSON, for example {"a":1}' };

const readings = { TEXT: asText, REAL: asNumber, INTEGER: asBoolean };

/**
 * The reader of a text as a value of a field. It checks only the form of the text: the validator checks the value. Null
 * for a field that has no value.
 */
export function readingOf(field: TypedField): Reading | null {
  const column = affinityOf(field);
  if (field.type === 'join') return null;
  if (column) return readings[column];
  if (isList(field)) return asList;
  if (isNesting(field)) return asObject;
  return typeFacts[field.type].isJson ? asJson : null;
}

/** Whether the values of a field are strings in JSON. */
export function isReadAsJson(field: TypedField): boolean {
  return readingOf(field)?.read === readJson;
}

/** The value of a text in JSON; undefined for a text that is not JSON, or has the key `__proto__`. */
export function readJson(text: string): Json | undefined {
  try {
    return Bourne.parse(text);
  } catch {
    return undefined;
  }
}
