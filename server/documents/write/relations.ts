import { isDeepStrictEqual } from 'node:util';
import { inBody, invalidFields } from '../../../config/errors.ts';
import type { Field } from '../../../config/model.ts';
import { objectsIn } from '../../../config/nesting.ts';
import { type Json, type JsonObject, memberOf } from '../../../config/schema.ts';
import { show } from '../../../config/suggest.ts';
import type { App, Call, Target } from '../../app.ts';

const maxErrors = 100;

/**
 * Refuses ids of documents that do not exist, at any depth. The id of a document that is deleted later stays, so a
 * field that does not change is not checked: a document that was read can be sent back.
 *
 * @param before the document that is changed; null for a new one.
 * @throws DomainError `validation_failed` naming each field, nested ones by dotted path.
 */
export function checkRelations({ app, target }: Call, values: JsonObject, before: JsonObject | null): void {
  const changed = target.model.fields.filter(
    ({ name }) => !before || !isDeepStrictEqual(memberOf(values, name), memberOf(before, name)),
  );
  const errors = danglingIn(app, changed, values).map(({ field, id, slug }) => {
    return {
      ...inBody(field, 'reference_not_found'),
      message: `${field} must be the id of a document of ${slug}, got ${show(id)}`,
    };
  });
  if (errors.length > 0) throw invalidFields(errors);
}

/** An id that refers to no document: the path of the field, and the collection that it refers to. */
type Dangling = { field: string; id: Json; slug: string };

/** The ids in a document that refer to no document, at any depth: at most 100. */
export function danglingIn(app: App, fields: readonly Field[], values: JsonObject): Dangling[] {
  const found: Dangling[] = [];
  walk({ fields, values }, '', (slug, value, path) => {
    const target = app.collections.get(slug);
    const isList = Array.isArray(value);
    for (const [index, id] of (isList ? value : [value]).entries()) {
      if (found.length >= maxErrors || (target && isThere(target, String(id)))) continue;
      found.push({ field: isList ? `${path}.${index}` : path, id, slug });
    }
  });
  return found;
}

/** Whether there is a document, public or not. */
function isThere({ documents, draftDocuments }: Target, id: string): boolean {
  return documents.exists(id) || draftDocuments?.exists(id) === true;
}

/** The ids by which a document refers to others, at any depth: the collection and the path of each. */
export function relationsIn(fields: readonly Field[], values: JsonObject): { slug: string; id: Json; path: string }[] {
  const found: { slug: string; id: Json; path: string }[] = [];
  walk({ fields, values }, '', (slug, value, path) => {
    for (const id of Array.isArray(value) ? value : [value]) found.push({ slug, id, path });
  });
  return found;
}

type Visit = (slug: string, value: Json, path: string) => void;

/** Fields, and an object with their values. */
type Level = { fields: readonly Field[]; values: JsonObject };

/** Visits the value of every field that points to documents. */
function walk({ fields, values }: Level, prefix: string, visit: Visit): void {
  for (const field of fields) {
    const value = memberOf(values, field.name);
    if (value === undefined || value === null) continue;
    const path = prefix + field.name;
    if (field.relationTo) visit(field.relationTo, value, path);
    for (const inside of objectsIn(field, value, path)) walk(inside, `${inside.path}.`, visit);
  }
}
