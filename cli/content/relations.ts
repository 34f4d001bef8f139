import { affinityOf } from '../../config/field-types.ts';
import type { Collection, Field } from '../../config/model.ts';
import { mapObjectsAsync } from '../../config/nesting.ts';
import { isObject, type Json, type JsonObject, memberOf } from '../../config/schema.ts';
import { show, showAll } from '../../config/suggest.ts';
import type { JsonDocument } from './documents.ts';

/**
 * A document that a row names by an id: its id here; `later` if it has yet to be imported; why it is left out, or why
 * the row is refused.
 */
export type RowReference = { id: string } | { later: true } | { leftOut: string } | { problem: string };

/** The ways from what a row says about another document to that document's id here. */
export type RelationLookup = {
  collections: ReadonlyMap<string, Collection>;
  byId: (slug: string, id: string) => Promise<RowReference>;
  find: (slug: string, field: string, value: Json) => Promise<JsonDocument | null>;
};

/**
 * The values of a row with the ids of this service. `later` are its fields that name documents that have yet to be
 * imported, `notes` a line for each that is left out, `problems` one for each that is not found.
 */
export type ResolvedRow = {
  values: JsonObject;
  later: Set<string>;
  notes: string[];
  problems: string[];
};

/** The fields by whose value a document of a collection can be found. */
export function uniqueFieldsOf({ fields }: Collection): string[] {
  return fields.filter((field) => field.unique && affinityOf(field) !== null).map(({ name }) => name);
}

/**
 * Finds the documents that a row names in its relationships, by their ids or by `{ "field": value }` with a unique
 * field.
 */
export async function resolveRelations(
  fields: readonly Field[],
  values: JsonObject,
  finding: RelationLookup,
): Promise<ResolvedRow> {
  const later = new Set<string>();
  const notes: string[] = [];
  const problems: string[] = [];
  const resolved = await resolveIn(fields, values, '');
  return { values: resolved, later, notes, problems };

  async function resolveIn(inside: readonly Field[], given: JsonObject, prefix: string): Promise<JsonObject> {
    const changed = new Map(Object.entries(given));
    for (const field of inside) {
      const value = memberOf(given, field.name);
      if (value === undefined || value === null) continue;
      const path = prefix + field.name;
      changed.set(field.name, await resolveField(field, value, path));
    }
    return Object.fromEntries(changed);
  }

  async function resolveField(field: Field, value: Json, path: string): Promise<Json> {
    const target = field.relationTo === undefined ? undefined : finding.collections.get(field.relationTo);
    if (!target) {
      return mapObjectsAsync(field, value, (inside) =>
        resolveIn(inside.fields, inside.values, `${path}${inside.path}.`),
      );
    }
    if (!Array.isArray(value)) return (await resolveOne(target, value, path)) ?? null;
    const ids: Json[] = [];
    for (const [index, one] of value.entries()) {
      const id = await resolveOne(target, one, `${path}.${index}`);
      if (id !== undefined) ids.push(id);
    }
    return ids;
  }

  /** Undefined for a document that is left out. */
  async function resolveOne(target: Collection, value: Json, path: string): Promise<Json | undefined> {
    if (typeof value === 'string') return resolveId(target, value, path);
    if (!isObject(value)) return value;
    const [field = '', ...others] = Object.keys(value);
    const unique = uniqueFieldsOf(target);
    if (others.length > 0 || !unique.includes(field)) {
      const ways = unique.length > 0 ? `, or an object with one of ${showAll(unique)}` : '';
      problems.push(`${path} must be the id of a document of ${target.slug}${ways}, got an object`);
      return value;
    }
    const found = await finding.find(target.slug, field, value[field] ?? null);
    if (!found)
      problems.push(`${path}: there is no document of ${target.slug} with the ${field} ${show(value[field])}`);
    return found?.id ?? value;
  }

  async function resolveId({ slug }: Collection, id: string, path: string): Promise<Json | undefined> {
    const found = await finding.byId(slug, id);
    if ('id' in found) return found.id;
    if ('later' in found) later.add(path.split('.')[0] ?? path);
    else if ('problem' in found) problems.push(`${path} ${found.problem}`);
    else {
      notes.push(`${path} ${found.leftOut}`);
      return undefined;
    }
    return id;
  }
}
