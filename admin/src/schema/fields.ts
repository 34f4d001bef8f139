import type { FieldSchema } from '../../../client/index.ts';

/** A field as `/api/schemas` describes it. */
export type Field = FieldSchema;

/** A block that `blocks` may hold. */
export type Block = NonNullable<Field['blocks']>[number];

/** A field that holds data: anything but `row`. */
export type DataField = Field & { name: string };

/** The fields that hold data; fields inside a `row` are lifted to the level where their values are. */
export function dataFields(fields: readonly Field[]): DataField[] {
  return fields.flatMap((field) => (field.type === 'row' ? dataFields(field.fields ?? []) : [field as DataField]));
}

/** The label of a field; without one, its name in words: `publishedAt` is "Published at". */
export function labelOf(field: Pick<Field, 'name' | 'label'>): string {
  return field.label ?? inWords(field.name ?? '');
}

/** A name of the configuration as people would write it. */
export function inWords(name: string): string {
  const words = name
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim()
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/**
 * The field at a dotted path through objects; indexes of lists are left out or numbers. Undefined if there is no such
 * field.
 */
export function fieldAt(fields: readonly Field[], path: string): DataField | undefined {
  let level = dataFields(fields);
  let found: DataField | undefined;
  for (const part of path.split('.')) {
    if (/^\d+$/.test(part)) continue;
    found = level.find(({ name }) => name === part);
    if (found === undefined) return undefined;
    level = dataFields(found.fields ?? found.blocks?.flatMap((block) => block.fields) ?? []);
  }
  return found;
}

/** The value at a dotted path; undefined if a part of the path is missing. */
export function valueAt(document: unknown, path: string): unknown {
  let value = document;
  for (const part of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
