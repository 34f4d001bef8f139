import { compileInside, slugOf } from '../../config/nesting.ts';
import {
  type DataField,
  dataFields,
  type FieldSchema,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
} from '../../config/schema.ts';
import { readTime } from '../../config/times.ts';
import { type EventType, isCreation, splitStream } from './catalogue.ts';
import type { Header } from './envelope.ts';
import { type Epoch, followNames, keyedFields, type Renames } from './lineage.ts';

/**
 * Brings the data of an old event to today's names, and its times of day to their one form. Renames come from the log's
 * history of schemas, not from the configuration: so an author may drop `renamedFrom` once it has taken effect, and may
 * later use a name anew.
 */
export type Upcaster = {
  upcast: (key: string, header: Header, data: JsonObject) => JsonObject;
  /** Equal for two upcasters that do the same with one log; part of the name of the read file. */
  fingerprint: string;
};

/**
 * The key of the schema that a stream's data follows: the category of a collection, or `globals/<slug>`, the whole
 * stream name of a global.
 */
export function schemaKey(stream: string): string {
  const [category] = splitStream(stream);
  return category === 'globals' ? stream : category;
}

/** @param epochs in the order of their positions, the schema of today last. */
export function compileUpcaster(epochs: readonly Epoch[]): Upcaster {
  const { steps } = followNames(epochs);
  const last = new Map(epochs.flatMap(({ schema }) => keyedFields(schema).map(({ key, fields }) => [key, fields])));
  const times = new Map([...last].map(([key, fields]) => [key, compileTimes(fields)]));

  function upcast(key: string, { position, type }: Header, data: JsonObject): JsonObject {
    let result = data;
    for (const step of steps) {
      const renames = step.position > position ? step.renames.get(key) : undefined;
      if (renames) result = renameData(renames, { type, position }, result);
    }
    const bring = times.get(key);
    return bring ? onFields(type, result, bring) : result;
  }

  // Without the positions, which belong to one log: the last may not be known yet.
  const renamed = steps.map(({ renames }) => renames);
  return { upcast, fingerprint: JSON.stringify(renamed, (_key, value) => (value instanceof Map ? [...value] : value)) };
}

/**
 * The field of the former schema whose values a field of the new schema takes, on the same level; undefined if it takes
 * none.
 *
 * @param old the fields of that level in the former schema, by name.
 */
export function previousOf(field: DataField, old: ReadonlyMap<string, DataField>): DataField | undefined {
  const { name, renamedFrom } = field;
  // Only the change that brings the new name renames; the option may stay in the configuration for ever.
  const isRenamed = renamedFrom !== undefined && old.has(renamedFrom) && !old.has(name);
  return old.get(isRenamed ? renamedFrom : name);
}

/**
 * Changes the fields in `data`: a created document's `data` is its fields, a restored one has them as `document`, an
 * update in `set`.
 */
function onFields(type: EventType, data: JsonObject, change: (values: JsonObject) => JsonObject): JsonObject {
  if (isCreation(type)) return change(data);
  const result = { ...data };
  if (isObject(data.document)) result.document = change(data.document);
  if (isObject(data.set)) result.set = change(data.set);
  return result;
}

type TypeAndPosition = Pick<Header, 'type' | 'position'>;

function renameData(renames: Renames, { type, position }: TypeAndPosition, data: JsonObject): JsonObject {
  const result = onFields(type, data, (values) => renameFields(renames, position, values));
  if (isCreation(type) || !Array.isArray(data.unset)) return result;
  return { ...result, unset: data.unset.map((name) => renames.names.get(String(name)) ?? name) };
}

function renameFields(renames: Renames, position: number, values: JsonObject): JsonObject {
  const result: JsonObject = {};
  const taken = new Set(renames.names.values());
  for (const [key, value] of Object.entries(values)) {
    const name = renames.names.get(key) ?? key;
    // These are values of a removed field, under a name that another field has now.
    if (name === key && taken.has(key) && position < (renames.since.get(key) ?? Number.POSITIVE_INFINITY)) continue;
    const inside = renames.inside.get(name);
    result[name] = inside ? renameValue(inside, position, value) : value;
  }
  return result;
}

function renameValue(renames: Renames, position: number, value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => renameValue(renames, position, item));
  if (!isObject(value)) return value;
  if (!renames.blocks) return renameFields(renames, position, value);
  const block = renames.blocks.get(slugOf(value) ?? '');
  return block ? renameFields(block, position, value) : value;
}

type Conversion<T> = (value: T) => T;

/**
 * Prepares the function that brings the times of day among these fields to their one form, which older events do not
 * have. Null if no field is a time. Other values, and the argument itself, stay as they are.
 */
function compileTimes(fields: readonly FieldSchema[]): Conversion<JsonObject> | null {
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

function bringValue(field: FieldSchema): Conversion<Json> | null {
  if (field.type === 'time') return (value) => (typeof value === 'string' ? (readTime(value) ?? value) : value);
  return compileInside(field, ({ fields }) => compileTimes(fields));
}
