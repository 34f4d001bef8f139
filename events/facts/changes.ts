import { isDeepStrictEqual } from 'node:util';
import type { Json, JsonObject } from '../../config/schema.ts';

/** The change of one field; null if it had no value. */
export type FieldChange = { field: string; before: Json; after: Json };

/** The fields that the server sets, which say nothing about a change. */
const ownFields: ReadonlySet<string> = new Set(['id', 'createdAt', 'updatedAt']);

/** The top-level fields in which two states of a document differ; null means no document. No value equals `[]`. */
export function changesBetween(before: JsonObject | null, after: JsonObject | null): FieldChange[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .filter((name) => !ownFields.has(name))
    .map((field) => ({ field, before: fieldOf(before, field), after: fieldOf(after, field) }))
    .filter(({ before: old, after: now }) => !isDeepStrictEqual(emptyAsNull(old), emptyAsNull(now)));
}

/** The value of a field, null if it is missing. Names come from documents and may be names of members of any object. */
export function fieldOf(document: JsonObject | null, field: string): Json {
  return document && Object.hasOwn(document, field) ? (document[field] ?? null) : null;
}

function emptyAsNull(value: Json): Json {
  return Array.isArray(value) && value.length === 0 ? null : value;
}
