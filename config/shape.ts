import { isList } from './field-types.ts';
import { compileInside, tagOf } from './nesting.ts';
import { type DataField, dataFields, type Json, type JsonObject } from './schema.ts';
import { mediaPath } from './uploads.ts';

/**
 * Compiles the function that gives values the stable shape of answers: every field in the order of the configuration,
 * null or [] for missing values, nested values likewise, without unknown keys and joins. If the type of a field has
 * changed, an older value of another type passes through unchanged. The function never throws and never changes its
 * argument.
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

/**
 * Makes a document of an answer: the members that the server assigns, then every field in the order of the
 * configuration.
 */
export type DocumentShape = (id: string, values: JsonObject) => JsonObject;

/**
 * Compiles the function that makes the documents of a collection from their values.
 *
 * @param uploadSlug the slug of an upload collection, whose documents get the URL of their file; null for other
 * collections.
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

/** Compiles the function that makes the answer of a global from its values. A global has no id. */
export function compileGlobal(fields: readonly DataField[]): DocumentShape {
  const shape = compileShape(fields);
  return (_slug, values) => {
    const { createdAt = null, updatedAt = null } = values;
    return { createdAt, updatedAt, ...shape(values) };
  };
}

/** Compiles the function that gives the value of one field its stable shape; undefined is a missing value. */
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
