import { type DataField, dataFields, isList, type Json, type JsonObject } from './schema.ts';
import { mediaPath } from './uploads.ts';

type Shape<T> = (value: T) => Json;

/**
 * Prepares the stable shape of an answer: every field present in the order of the configuration, null or [] where there
 * is no value, nested values likewise, unknown keys and joins left out. A stored value of another type than the field's
 * (its type has changed since) is passed through. Never throws and never changes its argument.
 */
export function compileShape(fields: readonly DataField[]): (values: JsonObject) => JsonObject {
  const members = fields
    .filter(({ type }) => type !== 'join')
    .map((field) => ({ name: field.name, shape: compileShapeValue(field) }));

  return (values) => {
    const result: JsonObject = {};
    for (const { name, shape } of members) result[name] = shape(Object.hasOwn(values, name) ? values[name] : undefined);
    return result;
  };
}

/** A document of an answer: the server's own members, then every field in the order of the configuration. */
export type DocumentShape = (id: string, values: JsonObject) => JsonObject;

/**
 * Prepares the documents of a collection from their values.
 *
 * @param uploadSlug the slug of an upload collection, whose documents have the URL of their file; null elsewhere.
 */
export function compileDocument(fields: readonly DataField[], uploadSlug: string | null): DocumentShape {
  const shape = compileShape(fields);
  return (id, values) => {
    const { createdAt = null, updatedAt = null } = values;
    const document: JsonObject = { id, createdAt, updatedAt, ...shape(values) };
    if (uploadSlug === null || typeof document.filename !== 'string' || document.sha256 === null) return document;
    return { ...document, url: mediaPath(uploadSlug, id, document.filename) };
  };
}

/** Prepares what is answered of a global from its values: it has no id. */
export function compileGlobal(fields: readonly DataField[]): DocumentShape {
  const shape = compileShape(fields);
  return (_slug, values) => {
    const { createdAt = null, updatedAt = null } = values;
    return { createdAt, updatedAt, ...shape(values) };
  };
}

/** Prepares the stable shape of one field's value; undefined is a missing one. */
export function compileShapeValue(field: DataField): (value: Json | undefined) => Json {
  const empty = isList(field) ? () => [] : () => null;
  const shape = compileNested(field);
  if (!shape) return (value) => value ?? empty();
  return (value) => (value === undefined || value === null ? empty() : shape(value));
}

function compileNested(field: DataField): Shape<Json> | undefined {
  if (field.type === 'object') return onObject(compileShape(dataFields(field.fields ?? [])));
  if (field.type === 'array') return onItems(onObject(compileShape(dataFields(field.fields ?? []))));
  if (field.type === 'blocks') return onItems(onObject(compileBlock(field.blocks ?? [])));
  return undefined;
}

function compileBlock(blocks: NonNullable<DataField['blocks']>): (item: JsonObject) => JsonObject {
  const shapes = new Map<Json, (values: JsonObject) => JsonObject>();
  for (const { slug, fields } of blocks) shapes.set(slug, compileShape(dataFields(fields)));

  return (item) => {
    const blockType = Object.hasOwn(item, 'blockType') ? (item.blockType ?? null) : null;
    const shape = shapes.get(blockType);
    // A kind of block that is configured no longer: its data is all there is to know about it.
    return shape ? { blockType, ...shape(item) } : item;
  };
}

function onObject(shape: (values: JsonObject) => JsonObject): Shape<Json> {
  return (value) => (typeof value === 'object' && value !== null && !Array.isArray(value) ? shape(value) : value);
}

function onItems(shape: Shape<Json>): Shape<Json> {
  return (value) => (Array.isArray(value) ? value.map(shape) : value);
}
