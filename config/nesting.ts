import { type FieldType, typeFacts } from './field-types.ts';
import type { Field } from './model.ts';
import { isObject, type Json, type JsonObject } from './schema.ts';

/** A field, with its functions or as plain data. Both nest in the same way. */
type Nesting<F> = {
  type: FieldType;
  fields?: readonly F[];
  blocks?: readonly Block<F>[];
};

/**
 * A list of fields inside a field. `slug` is the slug of a block, null if all objects of the field have the same
 * fields.
 */
export type Part<F> = { slug: string | null; fields: readonly F[] };

/** The list of fields of a block. An object names its block in `blockType`. */
export type Block<F> = { slug: string; fields: readonly F[] };

/** An object inside a value, with its fields and its place as a dotted path. */
export type Inside<F> = { fields: readonly F[]; values: JsonObject; path: string };

/** The lists of fields inside a field; empty for a type that does not nest. */
export function partsOf<F>({ type, fields = [], blocks = [] }: Nesting<F>): readonly Part<F>[] {
  const { inside } = typeFacts[type];
  if (inside === 'blocks') return blocks;
  return inside === 'fields' ? [{ slug: null, fields }] : [];
}

/** The parts of a field that have slugs, see {@link partsOf}. */
export function blocksOf<F>(field: Nesting<F>): Block<F>[] {
  return partsOf(field).flatMap(({ slug, fields }) => (slug === null ? [] : [{ slug, fields }]));
}

/** True for a type that nests. */
export function isNesting({ type }: { type: FieldType }): boolean {
  return typeFacts[type].inside !== undefined;
}

/** The fields of the single object that is the value of a field; null if its value is anything else. */
export function fieldsOfObject<F>(field: Nesting<F>): readonly F[] | null {
  return typeFacts[field.type].isList ? null : (partsOf(field)[0]?.fields ?? null);
}

/** All fields one level down. Several blocks may have a field with the same name. */
export function fieldsInside<F>(field: Nesting<F>): F[] {
  return partsOf(field).flatMap(({ fields }) => fields);
}

/** The changed inner fields of a field, under the options that declare them; empty for a type that does not nest. */
export function withParts<F, G>(
  field: Nesting<F>,
  change: (fields: readonly F[]) => G[],
): { fields?: G[]; blocks?: { slug: string; fields: G[] }[] } {
  const { inside } = typeFacts[field.type];
  if (inside === 'blocks')
    return { blocks: (field.blocks ?? []).map(({ slug, fields }) => ({ slug, fields: change(fields) })) };
  return inside === 'fields' ? { fields: change(field.fields ?? []) } : {};
}

/** The member in which an object names its block. */
const tag = 'blockType';

/** The fields that a filter may name in the objects of a field, beside the declared ones. */
export function tagFields(field: Nesting<unknown>): Field[] {
  const options = blocksOf(field).map(({ slug }) => ({ label: slug, value: slug }));
  return options.length === 0 ? [] : [{ name: tag, type: 'select', options }];
}

/** The member in which an object of a part names its block; empty if the part is not a block. */
export function tagOf({ slug }: Pick<Part<unknown>, 'slug'>): { [tag]?: string } {
  return slug === null ? {} : { [tag]: slug };
}

/** The slug of the block that an object names; null if it names none. */
export function slugOf(values: JsonObject): string | null {
  const slug = values[tag];
  return typeof slug === 'string' ? slug : null;
}

/**
 * The objects inside a value, in the order of its lists. The type of the field may have changed since the value was
 * written, so objects are also found in lists of lists, at any depth.
 *
 * @param path the path of the value.
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

/** A copy of a value in which each of {@link objectsIn} is changed. */
export function mapObjects<F>(field: Nesting<F>, value: Json, change: (inside: Inside<F>) => JsonObject): Json {
  const inside = objectsIn(field, value);
  return inside.length === 0 ? value : replaced(value, inside.map(change).values());
}

/** As {@link mapObjects}, but asynchronous: all objects are changed concurrently. */
export async function mapObjectsAsync<F>(
  field: Nesting<F>,
  value: Json,
  change: (inside: Inside<F>) => Promise<JsonObject>,
): Promise<Json> {
  const inside = objectsIn(field, value);
  return inside.length === 0 ? value : replaced(value, (await Promise.all(inside.map(change))).values());
}

/** The value with its objects replaced by others, in order. */
function replaced(value: Json, objects: Iterator<JsonObject, undefined>): Json {
  if (Array.isArray(value)) return value.map((item) => replaced(item, objects));
  return isObject(value) ? (objects.next().value ?? value) : value;
}

/**
 * Compiles a change of the object, or of each object in the list, that is the value of a field. Other values, and
 * objects of a block that is no longer configured, stay unchanged.
 *
 * @param compile makes the change for the objects of one part; null if they stay unchanged.
 * @returns null if the change would do nothing at all.
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
