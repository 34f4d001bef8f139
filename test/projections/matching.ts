import { isList } from '../../config/field-types.ts';
import type { Field } from '../../config/model.ts';
import type { Json, JsonObject } from '../../config/schema.ts';
import { blockType, type Condition, caseless, type End, fieldsOf, type Level, own, type Slug } from './filters.ts';

// The answers of a plain filter, sort by sort and value by value, to the filters of `filters.ts`.

/** The filter as the parameters of a query, as hapi gives them. */
export function asBrackets(object: JsonObject, prefix = 'where'): [string, string | string[]][] {
  return Object.entries(object).flatMap(([key, value]): [string, string | string[]][] => {
    const name = `${prefix}[${key}]`;
    if (key === 'in' || key === 'not_in') {
      const texts = (value as Json[]).map(String);
      if (texts.every((text) => !text.includes(','))) return [[name, texts.join(',')]];
      return [[name, texts.length > 1 ? texts : [...texts, ...texts]]];
    }
    if (Array.isArray(value))
      return value.flatMap((item, index) => asBrackets(item as JsonObject, `${name}[${index}]`));
    return value !== null && typeof value === 'object' ? asBrackets(value, name) : [[name, String(value)]];
  });
}

/** Documents, and which of them the caller may read. */
export type World = {
  things: readonly JsonObject[];
  others: readonly JsonObject[];
  isShown: (doc: JsonObject, slug: string) => boolean;
};
type Reached = { value: Json; field: Field };

/** Every value that a path reaches in a document. */
function reached(world: World, values: JsonObject, fields: readonly Field[], names: readonly string[]): Reached[] {
  const [name = '', ...rest] = names;
  const field = fields.find((one) => one.name === name);
  if (!field) return [];
  const value = values[name] ?? null;
  if (rest.length === 0) return [{ value, field }];
  if (field.relationTo) {
    const pointed = (Array.isArray(value) ? value : [value]).flatMap((id) => {
      const found = world[field.relationTo as Slug].find((one) => one.id === id);
      return found && world.isShown(found, field.relationTo as Slug) ? [found] : [];
    });
    return pointed.flatMap((one) => reached(world, one, [...own, ...fieldsOf(field.relationTo ?? '')], rest));
  }
  if (field.type === 'object') return reached(world, (value ?? {}) as JsonObject, field.fields ?? [], rest);
  return ((value ?? []) as JsonObject[]).flatMap((item) => {
    const block = field.blocks?.find(({ slug }) => slug === item.blockType);
    return reached(world, item, block ? [blockType, ...block.fields] : (field.fields ?? []), rest);
  });
}

const missing: Json[] = [];

/** The values that a path reaches in a thing, of the type at which the path ends. */
export function reachedAt(world: World, doc: JsonObject, { path, field }: End): Json[] {
  const all = reached(world, doc, [...own, ...fieldsOf('things')], path.split('.'));
  const wanted = all.filter((one) => one.field.type === field.type).map(({ value }) => value);
  // A list inside an object that is null has no entries, and is not there.
  return isList(field) ? wanted.map((value) => value ?? missing) : wanted;
}

const opposite: Record<string, string> = { not_equals: 'equals', not_in: 'in' };

/** A value as documents keep it: a time without seconds if they are 0. */
function asKept(value: Json, { field }: End): Json {
  if (Array.isArray(value)) return value.map((one) => asKept(one, { field } as End));
  return field.type === 'time' && String(value).endsWith(':00') ? String(value).slice(0, 5) : value;
}

function meets(world: World, doc: JsonObject, { end, operator, value: asked }: Condition): boolean {
  const values = reachedAt(world, doc, end);
  const value = asKept(asked, end);
  if (!end.isMany) return holds(values[0] ?? (isList(end.field) ? missing : null), operator, value);
  if (operator === 'exists' && value === false) return !values.some((one) => holds(one, 'exists', true));
  const positive = opposite[operator];
  if (positive) return !values.some((one) => holds(one, positive, value));
  return values.some((one) => holds(one, operator, value));
}

function holds(value: Json, operator: string, wanted: Json): boolean {
  const entries = Array.isArray(value) ? value : [value];
  switch (operator) {
    case 'exists':
      return (value !== null && value !== missing) === wanted;
    case 'equals':
      return value === wanted;
    case 'not_equals':
      return value !== wanted;
    case 'in':
      return entries.some((one) => (wanted as Json[]).includes(one));
    case 'not_in':
      return !entries.some((one) => (wanted as Json[]).includes(one));
    case 'contains':
      return entries.includes(wanted);
    case 'like':
      return typeof value === 'string' && caseless(value).includes(caseless(String(wanted)));
  }
  if (value === null || wanted === null) return false;
  if (operator === 'greater_than') return value > wanted;
  if (operator === 'less_than') return value < wanted;
  return operator === 'greater_than_equal' ? value >= wanted : value <= wanted;
}

/** Whether a document meets a filter. */
export function matches(world: World, doc: JsonObject, { conditions, or, and }: Level): boolean {
  const said = new Set<string>();
  for (const one of conditions) {
    const key = `${one.end.path} ${one.operator}`;
    if (!said.has(key) && !meets(world, doc, one)) return false;
    said.add(key);
  }
  return (
    (or.length === 0 || or.some((one) => matches(world, doc, one))) && and.every((one) => matches(world, doc, one))
  );
}

export type Key = { end: End; isDescending: boolean };

/** The order of two documents by a sort: nulls last, ties by id in the direction of the first key. */
export function compare(world: World, keys: readonly Key[], a: JsonObject, b: JsonObject): number {
  for (const { end, isDescending } of keys) {
    const [one = null] = reachedAt(world, a, end);
    const [other = null] = reachedAt(world, b, end);
    if (one === null && other === null) continue;
    if (one === null || other === null) return one === null ? 1 : -1;
    const order =
      typeof one === 'string'
        ? Buffer.compare(Buffer.from(caseless(one)), Buffer.from(caseless(String(other))))
        : Number(one) - Number(other);
    if (order !== 0) return isDescending ? -order : order;
  }
  const order = String(a.id) < String(b.id) ? -1 : 1;
  return keys[0]?.isDescending === false ? order : -order;
}
