import { jsonProblem } from '../config/fields.ts';
import type { Collection, Field } from '../config/model.ts';
import type { FieldType, Json, JsonObject } from '../config/schema.ts';
import { didYouMean } from '../config/suggest.ts';
import { UsageError } from './settings.ts';

/** How the text of an argument becomes a value; undefined when it is none. `must` ends the sentence "must …". */
type Reading = { read: (text: string) => Json | undefined; must: string };

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

/** Only the form that the argument must have: whether the value is right is for the service to say. */
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

/** What has a way of its own into a command, with the sentence that says which. */
const elsewhere: Record<string, string> = {
  email: 'is given with --email',
  password: 'is never an argument, which others on this machine can see: it is asked for, or read from standard input',
};

/**
 * Reads arguments of the form `name=value` as values of a collection's fields.
 *
 * @throws UsageError with every one that is wrong. The values are not shown.
 */
export function readFields({ slug, fields }: Collection, args: readonly string[]): JsonObject {
  const values = new Map<string, Json>();
  const problems: string[] = [];
  for (const argument of args) {
    const end = argument.indexOf('=');
    const name = argument.slice(0, end);
    try {
      if (end < 1) throw new UsageError('must have the form name=value');
      if (values.has(name)) throw new UsageError('is given twice');
      values.set(name, readField(slug, fields, name, argument.slice(end + 1)));
    } catch (error) {
      problems.push(`--field ${end < 1 ? '' : `${name} `}${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new UsageError(problems.join('\n'));
  return Object.fromEntries(values);
}

function readField(slug: string, fields: readonly Field[], name: string, text: string): Json {
  const sentence = Object.hasOwn(elsewhere, name) ? elsewhere[name] : undefined;
  if (sentence) throw new UsageError(sentence);
  const field = fields.find((one) => one.name === name);
  const reading = field?.hasMany ? asList : field && readings[field.type];
  if (!reading) {
    const names = fields.filter(({ type }) => readings[type]).map((one) => one.name);
    throw new UsageError(`is not a field of ${slug} that can be given${didYouMean(name, names)}`);
  }
  const value = reading.read(text);
  if (value === undefined) throw new UsageError(`must ${reading.must}`);
  return value;
}

function readJson(text: string): Json | undefined {
  try {
    const value = JSON.parse(text);
    // What cannot be written as it was read would arrive as something else.
    return jsonProblem(value) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
}
