import { isList } from './field-types.ts';
import { compileInside, tagOf } from './nesting.ts';
import { type DataField, dataFields, type Json, type JsonObject } from './schema.ts';
import { mediaPath } from './uploads.ts';

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
  const holdsList = isList(field);
  const empty = holdsList ? () => [] : () => null;
  const shape = compileInside(field, (part) => {
    const tag = tagOf(part);
    const inside = compileShape(dataFields(part.fields));
    return (values) => ({ ...tag, ...inside(values) });
  });
  if (!shape) return (value) => value ?? empty();
  return (value) => {
    if (value === undefined || value === null) return empty();
    return Array.isArray(value) === holdsList ? shape(value) : value;
  };
}
