import { affinityOf, type FieldType } from './field-types.ts';
import type { Field } from './model.ts';
import { fieldsOfObject } from './nesting.ts';
import { textOfRich } from './rich-text.ts';
import {
  type CollectionSchema,
  type DataField,
  dataFields,
  type FieldSchema,
  isObject,
  type Json,
  type JsonObject,
  memberOf,
} from './schema.ts';
import { didYouMean, show, showAll } from './suggest.ts';

/** A field whose text is searched. `path` leads to it through objects. */
export type TextField = { path: readonly string[]; isRich: boolean };

/** The types that `admin.searchFields` may name. */
const textTypes: ReadonlySet<FieldType> = new Set(['text', 'textarea', 'richText', 'email', 'url']);

/** The types that are searched if there is no `admin.searchFields`. */
const plainTypes: ReadonlySet<FieldType> = new Set(['text', 'textarea', 'email']);

/** The fields of an uploaded file that are not worth searching. */
const ofFiles: ReadonlySet<string> = new Set(['mimeType', 'sha256', 'url']);

/** The fields of a collection that `q` searches: those in `admin.searchFields`, else all plain text fields. */
export function searchedFields({ fields, admin, upload }: CollectionSchema): TextField[] {
  const all = textFieldsIn(dataFields(fields), []);
  const named = admin?.searchFields;
  const searched = named
    ? named.flatMap((name) => all.filter(({ path }) => path.join('.') === name))
    : all.filter(({ type, path }) => plainTypes.has(type) && !(upload && ofFiles.has(path.join('.'))));
  return searched.map(({ path, type }) => ({ path, isRich: type === 'richText' }));
}

function textFieldsIn(fields: readonly DataField[], before: readonly string[]): { path: string[]; type: FieldType }[] {
  return fields.flatMap((field) => {
    const path = [...before, field.name];
    const inside = fieldsOfObject<FieldSchema>(field);
    if (inside) return textFieldsIn(dataFields(inside), path);
    return textTypes.has(field.type) ? [{ path, type: field.type }] : [];
  });
}

/** The value at a path through objects; undefined if the path leads to no value. */
export function valueIn(document: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = document;
  for (const name of path) value = isObject(value) ? memberOf(value, name) : undefined;
  return value;
}

/** The text of a field in a document; empty if the value is not a text. */
export function textIn(document: JsonObject, { path, isRich }: TextField): string {
  const value = valueIn(document, path);
  if (isRich) return textOfRich(value);
  return typeof value === 'string' ? value : '';
}

/** The fields on a path through objects, from the outermost to the innermost; empty if the path leads to no field. */
export function fieldsOn(fields: readonly Field[], [name, ...rest]: readonly string[]): Field[] {
  const field = fields.find((one) => one.name === name);
  if (!field) return [];
  if (rest.length === 0) return [field];
  const inside = fieldsOn(fieldsOfObject<Field>(field) ?? [], rest);
  return inside.length > 0 ? [field, ...inside] : [];
}

/** The reason why a path cannot be in the `searchFields` of a collection with these fields; null if it can. */
export function searchProblem(path: string, fields: readonly Field[]): string | null {
  return pathProblem(path.split('.'), fields, toSearch);
}

/** The reason why a path cannot be the `useAsTitle` of a collection with these fields; null if it can. */
export function titleProblem(path: string, fields: readonly Field[]): string | null {
  return pathProblem(path.split('.'), fields, asTitle);
}

/**
 * A use of fields. `may` decides which fields are suitable; `what` ends the sentence "is not a field …", `must` the
 * sentence "is not …".
 */
type Use = { may: (field: Field) => boolean; what: string; must: string };

const toSearch: Use = { may: ({ type }) => textTypes.has(type), what: 'to search in', must: 'a text' };

const asTitle: Use = {
  may: (field) => !field.relationTo && ['TEXT', 'REAL'].includes(affinityOf(field) ?? ''),
  what: 'to use as a title',
  must: 'a text or a number',
};

function pathProblem(path: readonly string[], fields: readonly Field[], { may, what, must }: Use): string | null {
  let level = fields;
  for (const [index, name] of path.entries()) {
    const names = level.filter((one) => may(one) || fieldsOfObject<Field>(one)).map((one) => one.name);
    const allowed = names.length > 0 ? `; allowed: ${showAll(names)}` : '';
    const field = level.find((one) => one.name === name);
    const inside = field && fieldsOfObject<Field>(field);
    const isEnd = index === path.length - 1;
    if (!field || !(isEnd || inside)) {
      const where = index === 0 ? '' : ` of ${show(path.slice(0, index).join('.'))}`;
      return `${show(name)} is not a field${where} ${what}${didYouMean(name, names)}${allowed}`;
    }
    if (isEnd) return may(field) ? null : `${show(path.join('.'))} is not ${must}${allowed}`;
    level = inside ?? [];
  }
  return null;
}
