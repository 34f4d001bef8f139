import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../config/schema.ts';

/** The change of one field; null where it had no value. */
export type FieldChange = { field: string; before: Json; after: Json };

/** The fields that the server sets by itself, and that say nothing about a change. */
const ownFields: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt']);

/**
 * The top-level fields in which two states of a document differ; null is no document. No value and `[]` are the same.
 */
export function changesBetween(before: JsonObject | null, after: JsonObject | null): FieldChange[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .filter((name) => !ownFields.has(name))
    .map((field) => ({ field, before: fieldOf(before, field), after: fieldOf(after, field) }))
    .filter(({ before: old, after: now }) => !isDeepStrictEqual(emptyAsNull(old), emptyAsNull(now)));
}

/**
 * The value of a field, null where it is missing. Names come from documents and may be those of any object's members.
 */
export function fieldOf(document: JsonObject | null, field: string): Json {
  return document && Object.hasOwn(document, field) ? (document[field] ?? null) : null;
}

function emptyAsNull(value: Json): Json {
  return Array.isArray(value) && value.length === 0 ? null : value;
}
