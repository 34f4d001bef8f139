import Bourne from '@hapi/bourne';
import type { Field } from '../../config/model.ts';
import type { FieldType, Json } from '../../config/schema.ts';

/** How a text becomes a value; undefined when it is none. `must` ends the sentence "must …". */
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

/** Only the form that a text must have: whether the value is right is for the validator to say. */
const readings: Record<FieldType, Reading | null> = {
  text: asText,
  textarea: asText,
  richText: asJson,
  email: asText,
  url: asText,
  number: asNumber,
  boolean: asBoolean,
  date: asText,
  datetime: asText,
  time: asText,
  select: asText,
  radio: asText,
  multiSelect: asList,
  relationship: asText,
  upload: asText,
  object: asObject,
  array: asList,
  blocks: asList,
  json: asJson,
  join: null,
  row: null,
};

/** How a text becomes a value of a field; null for a field that has none of its own. */
export function readingOf({ type, hasMany }: Field): Reading | null {
  return hasMany ? asList : readings[type];
}

/** Whether the values of a field are texts in JSON. */
export function isReadAsJson(field: Field): boolean {
  return readingOf(field)?.read === readJson;
}

/** The value of a text in JSON; undefined when it is none, or holds the key `__proto__`. */
export function readJson(text: string): Json | undefined {
  try {
    return Bourne.parse(text);
  } catch {
    return undefined;
  }
}
