import Bourne from '@hapi/bourne';
import { affinityOf, isList, typeFacts } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import { isNesting } from '../../config/nesting.ts';
import type { Json } from '../../config/schema.ts';

/** The reader of a text as a value; undefined for a text of another form. `must` ends the sentence "must …". */
export type Reading = { read: (text: string) => Json | undefined; must: string };

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
 * How a text becomes a value of a field: the form of the text alone, the validator judges the value. Null for a field without a value
 * of its own.
 */
export function readingOf(field: Field): Reading | null {
  const column = affinityOf(field);
  if (field.type === 'join') return null;
  if (column) return readings[column];
  if (isList(field)) return asList;
  if (isNesting(field)) return asObject;
  return typeFacts[field.type].isJson ? asJson : null;
}

/** Whether the values of a field are texts in JSON. */
export function isReadAsJson(field: Field): boolean {
  return readingOf(field)?.read === readJson;
}

/** The value of a text in JSON; undefined for a text that is not JSON, or holds the key `__proto__`. */
export function readJson(text: string): Json | undefined {
  try {
    return Bourne.parse(text);
  } catch {
    return undefined;
  }
}
