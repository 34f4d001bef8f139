import { type FieldType, typeFacts } from './field-types.ts';
import type { Field } from './model.ts';
import { isObject, type Json, type JsonObject } from './schema.ts';

/** A field, with its functions or as plain data: both nest alike. */
type Nesting<F> = {
  type: FieldType;
  fields?: readonly F[];
  blocks?: readonly Block<F>[];
};

/** A list of fields inside a field; the slug of a block, null where all objects of the field have the same fields. */
export type Part<F> = { slug: string | null; fields: readonly F[] };

/** A list of fields of which an object says by its `blockType` that they are its own. */
export type Block<F> = { slug: string; fields: readonly F[] };

/** An object inside a value: the fields that are its own, and where it stands, as a dotted path. */
export type Inside<F> = { fields: readonly F[]; values: JsonObject; path: string };

/** The lists of fields inside a field; empty for a type that does not nest. */
export function partsOf<F>({ type, fields = [], blocks = [] }: Nesting<F>): readonly Part<F>[] {
  const { inside } = typeFacts[type];
  if (inside === 'blocks') return blocks;
  return inside === 'fields' ? [{ slug: null, fields }] : [];
}

/** Those of {@link partsOf} that have slugs. */
export function blocksOf<F>(field: Nesting<F>): Block<F>[] {
  return partsOf(field).flatMap(({ slug, fields }) => (slug === null ? [] : [{ slug, fields }]));
}

/** True for a type that nests. */
export function isNesting({ type }: { type: FieldType }): boolean {
  return typeFacts[type].inside !== undefined;
}

/** The fields whose values stand in the one object that a field holds; null where it holds something else. */
export function fieldsOfObject<F>(field: Nesting<F>): readonly F[] | null {
  return typeFacts[field.type].isList ? null : (partsOf(field)[0]?.fields ?? null);
}

/** All fields one level down. Blocks may have fields of one name. */
export function fieldsInside<F>(field: Nesting<F>): F[] {
  return partsOf(field).flatMap(({ fields }) => fields);
}

/** The fields inside a field as other ones, in the options that declare them; empty for a type that does not nest. */
export function withParts<F, G>(
  field: Nesting<F>,
  change: (fields: readonly F[]) => G[],
): { fields?: G[]; blocks?: { slug: string; fields: G[] }[] } {
  const { inside } = typeFacts[field.type];
  if (inside === 'blocks')
    return { blocks: (field.blocks ?? []).map(({ slug, fields }) => ({ slug, fields: change(fields) })) };
  return inside === 'fields' ? { fields: change(field.fields ?? []) } : {};
}

/** The member by which an object says of which block it is. */
const tag = 'blockType';

/** The fields beside a field's own that a filter may name in its objects. */
export function tagFields(field: Nesting<unknown>): Field[] {
  const options = blocksOf(field).map(({ slug }) => ({ label: slug, value: slug }));
  return options.length === 0 ? [] : [{ name: tag, type: 'select', options }];
}

/** The member by which an object of a part says of which it is, if it does. */
export function tagOf({ slug }: Pick<Part<unknown>, 'slug'>): { [tag]?: string } {
  return slug === null ? {} : { [tag]: slug };
}

/** The slug of the block that an object says it is; null where it says nothing. */
export function slugOf(values: JsonObject): string | null {
  const slug = values[tag];
  return typeof slug === 'string' ? slug : null;
}

/**
 * The objects inside a value, of lists each in its place. The value may be of another type than the field's, which may
 * have changed since: its objects are found as deep as lists stand in lists.
 *
 * @param path of the value.
 */
export function objectsIn<F>(field: Nesting<F>, value: Json, path = ''): Inside<F>[] {
  const parts = partsOf(field);
  if (parts.length === 0) return [];
  const found: Inside<F>[] = [];
  const visit = (one: Json, at: string): void => {
    if (Array.isArray(one)) for (const [index, item] of one.entries()) visit(item, `${at}.${index}`);
    else if (isObject(one)) {
      const part = parts.find(({ slug }) => slug === null || slug === slugOf(one));
      found.push({ fields: part?.fields ?? [], values: one, path: at });
    }
  };
  visit(value, path);
  return found;
}

/** A copy of a value with each of {@link objectsIn} changed. */
export function mapObjects<F>(field: Nesting<F>, value: Json, change: (inside: Inside<F>) => JsonObject): Json {
  const inside = objectsIn(field, value);
  return inside.length === 0 ? value : replaced(value, inside.map(change).values());
}

/** As {@link mapObjects}; all objects are changed at the same time. */
export async function mapObjectsAsync<F>(
  field: Nesting<F>,
  value: Json,
  change: (inside: Inside<F>) => Promise<JsonObject>,
): Promise<Json> {
  const inside = objectsIn(field, value);
  return inside.length === 0 ? value : replaced(value, (await Promise.all(inside.map(change))).values());
}

/** The value with other objects in the place of its own, in their order. */
function replaced(value: Json, objects: Iterator<JsonObject, undefined>): Json {
  if (Array.isArray(value)) return value.map((item) => replaced(item, objects));
  return isObject(value) ? (objects.next().value ?? value) : value;
}

/**
 * Prepares a change of the object or of each object of the list that a field holds. Other values, and objects of a part
 * that is configured no longer, stay as they are.
 *
 * @param compile prepares the change of the objects of one part; null where nothing is to be changed in them.
 * @returns null where nothing is to be changed at all.
 */
export function compileInside<F>(
  field: Nesting<F>,
  compile: (part: Part<F>) => ((values: JsonObject) => JsonObject) | null,
): ((value: Json) => Json) | null {
  const changes = new Map(partsOf(field).map((part) => [part.slug, compile(part)]));
  if (![...changes.values()].some((change) => change !== null)) return null;
  const same = changes.get(null);
  const one = (value: Json) => {
    if (!isObject(value)) return value;
    const change = same ?? changes.get(slugOf(value));
    return change ? change(value) : value;
  };
  return (value) => (Array.isArray(value) ? value.map(one) : one(value));
}
