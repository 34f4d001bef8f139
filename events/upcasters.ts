import { compileInside, partsOf, slugOf } from '../config/nesting.ts';
import {
  type DataField,
  dataFields,
  type FieldSchema,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
  type Schema,
} from '../config/schema.ts';
import { readTime } from '../config/times.ts';
import { type EventType, globalStream, splitStream } from './catalogue.ts';
import type { Header } from './envelope.ts';

/** A schema and the position from which it held: the position of its `schema.changed`. */
export type Epoch = { position: number; schema: Schema };

/**
 * Brings the data of an old event to the names of today, and its times of day to their one form. Renames come from the log's own
 * history of schemas, not from the configuration, so an author may drop `renamedFrom` once it has taken effect, and a name may
 * later be used anew.
 */
export type Upcaster = {
  upcast: (key: string, header: Header, data: JsonObject) => JsonObject;
  /** Equal for two upcasters that do the same with one log: part of what names the read file. */
  fingerprint: string;
};

type Renames = {
  /** Old name → new name, on this level. */
  names: Map<string, string>;
  /** By new name: what is renamed inside the field. */
  inside: Map<string, Renames>;
  /** By slug, for objects that say of which part of the field they are. */
  blocks?: Map<string, Renames>;
};

type Step = { position: number; renames: Map<string, Renames> };

/** The key of the schema that a stream's data follows: a collection's slug, or `globals/<slug>`, which is a global's whole stream name. */
export function schemaKey(stream: string): string {
  const [category] = splitStream(stream);
  return category === 'globals' ? stream : category;
}

/** @param epochs in the order of their positions, the schema of today last. */
export function compileUpcaster(epochs: readonly Epoch[]): Upcaster {
  const steps: Step[] = [];
  // By key, the fields as last declared: a collection may be away for a while and come back with other names.
  const known = new Map<string, readonly FieldSchema[]>();
  for (const { position, schema } of epochs) {
    const renames = new Map<string, Renames>();
    for (const [key, fields] of fieldsByKey(schema)) {
      const found = renamesOf(known.get(key) ?? [], fields);
      if (found) renames.set(key, found);
      known.set(key, fields);
    }
    if (renames.size > 0) steps.push({ position, renames });
  }
  const times = new Map([...known].map(([key, fields]) => [key, compileTimes(fields)]));

  function upcast(key: string, { position, type }: Header, data: JsonObject): JsonObject {
    let result = data;
    for (const step of steps) {
      const renames = step.position > position ? step.renames.get(key) : undefined;
      if (renames) result = renameData(renames, type, result);
    }
    const bring = times.get(key);
    return bring ? onFields(type, result, bring) : result;
  }

  // Not the positions, which are those of one log: the last may not be known yet.
  const renamed = steps.map(({ renames }) => renames);
  return { upcast, fingerprint: JSON.stringify(renamed, (_key, value) => (value instanceof Map ? [...value] : value)) };
}

type KeyedFields = [key: string, fields: readonly FieldSchema[]];

/** The fields of collections and globals, by what their streams follow: as {@link schemaKey}. */
export function fieldsByKey({ collections, globals }: Schema): KeyedFields[] {
  return [
    ...collections.map(({ slug, fields }): KeyedFields => [slug, fields]),
    ...globals.map(({ slug, fields }): KeyedFields => [globalStream(slug), fields]),
  ];
}

function renamesOf(before: readonly FieldSchema[], after: readonly FieldSchema[]): Renames | undefined {
  const old = new Map(dataFields(before).map((field) => [field.name, field]));
  const renames: Renames = { names: new Map(), inside: new Map() };
  for (const field of dataFields(after)) {
    const { name } = field;
    const previous = previousOf(field, old);
    if (previous && previous.name !== name) renames.names.set(previous.name, name);
    const inside = previous && renamesInside(previous, field);
    if (inside) renames.inside.set(name, inside);
  }
  return renames.names.size + renames.inside.size > 0 ? renames : undefined;
}

/**
 * The field that had the values of one that a new schema has, on the same level of the schema before; undefined where none had.
 *
 * @param old the fields of that level by their names.
 */
export function previousOf(field: DataField, old: ReadonlyMap<string, DataField>): DataField | undefined {
  const { name, renamedFrom } = field;
  // Only the change that brings the new name renames; the option may stay in the configuration for ever.
  const isRenamed = renamedFrom !== undefined && old.has(renamedFrom) && !old.has(name);
  return old.get(isRenamed ? renamedFrom : name);
}

function renamesInside(before: FieldSchema, after: FieldSchema): Renames | undefined {
  const old = new Map(partsOf(before).map(({ slug, fields }) => [slug, fields]));
  const blocks = new Map<string, Renames>();
  for (const { slug, fields } of partsOf(after)) {
    const renames = renamesOf(old.get(slug) ?? [], fields);
    if (renames && slug === null) return renames;
    if (renames && slug !== null) blocks.set(slug, renames);
  }
  return blocks.size > 0 ? { names: new Map(), inside: new Map(), blocks } : undefined;
}

/** `data` of a created document is its fields, a restored one has them as `document`; an update names them in `set`. */
function onFields(type: EventType, data: JsonObject, change: (values: JsonObject) => JsonObject): JsonObject {
  if (type === 'document.created') return change(data);
  const result = { ...data };
  if (isObject(data.document) && type.endsWith('.restored')) result.document = change(data.document);
  if (isObject(data.set)) result.set = change(data.set);
  return result;
}

function renameData(renames: Renames, type: EventType, data: JsonObject): JsonObject {
  const result = onFields(type, data, (values) => renameFields(renames, values));
  if (type === 'document.created' || !Array.isArray(data.unset)) return result;
  return { ...result, unset: data.unset.map((name) => renames.names.get(String(name)) ?? name) };
}

function renameFields(renames: Renames, values: JsonObject): JsonObject {
  const result: JsonObject = {};
  const taken = new Set(renames.names.values());
  for (const [key, value] of Object.entries(values)) {
    const name = renames.names.get(key) ?? key;
    // The values of a removed field, under the name that another field has now.
    if (name === key && taken.has(key)) continue;
    const inside = renames.inside.get(name);
    result[name] = inside ? renameValue(inside, value) : value;
  }
  return result;
}

function renameValue(renames: Renames, value: Json): Json {
  if (Array.isArray(value)) return value.map((item) => renameValue(renames, item));
  if (!isObject(value)) return value;
  if (!renames.blocks) return renameFields(renames, value);
  const block = renames.blocks.get(slugOf(value) ?? '');
  return block ? renameFields(block, value) : value;
}

type Bring<T> = (value: T) => T;

/**
 * Prepares how the values of these fields are brought to the one form of times of day, in which they have been recorded only
 * since there is one. Null where no field is a time. Any other value is left as it is, and so is the argument.
 */
function compileTimes(fields: readonly FieldSchema[]): Bring<JsonObject> | null {
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
