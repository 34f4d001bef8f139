import type { AdminConfig } from './define-admin.ts';
import type { FieldType } from './field-types.ts';

/** A JSON value, as it comes out of `JSON.parse`. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/**
 * One field as plain data: what the configuration declares, without its functions. Options that are not set are
 * absent, so that two configurations that mean the same give the same JSON.
 */
export type FieldSchema = {
  /** Absent on `row` only. */
  name?: string;
  type: FieldType;
  label?: string;
  required?: true;
  unique?: true;
  index?: true;
  /** Callers who see only what read hooks make of the value may filter and sort by what is stored. */
  queryable?: true;
  /** A constant default; a default function is not data and stands only in the model. */
  defaultValue?: Json;
  options?: { label: string; value: string }[];
  relationTo?: string;
  hasMany?: true;
  min?: number;
  max?: number;
  integer?: true;
  minLength?: number;
  maxLength?: number;
  /** The source of a regular expression (flag `u`) that must match the whole value. */
  pattern?: string;
  fields?: FieldSchema[];
  blocks?: { slug: string; label?: string; fields: FieldSchema[] }[];
  /** `join`: the collection whose field `on` points here. */
  collection?: string;
  on?: string;
  /** `join`: how many of them stand in a document, and in which order. */
  limit?: number;
  sort?: string;
  richText?: RichTextOptions;
  renamedFrom?: string;
  admin?: FieldAdmin;
};

/** A field as `/api/schemas` shows it. */
export type ShownField = Omit<FieldSchema, 'fields' | 'blocks'> & {
  fields?: ShownField[];
  blocks?: { slug: string; label?: string; fields: ShownField[] }[];
  /** Whether a missing value gets a default. Absent on `row` only. */
  hasDefault?: boolean;
  /** The rights of the user; absent for other callers, and on `row`. */
  access?: { read: boolean; create: boolean; update: boolean };
};

/** The features of the editor of rich text. */
export type RichTextOptions = { features: RichTextFeature[] };

/** The features of a rich text editor, as the nodes and marks of ProseMirror that they make are called. */
export const richTextFeatures = [
  'bold',
  'italic',
  'underline',
  'strike',
  'code',
  'link',
  'heading',
  'bulletList',
  'orderedList',
  'blockquote',
  'codeBlock',
  'horizontalRule',
  'image',
] as const;

export type RichTextFeature = (typeof richTextFeatures)[number];

/** Hints to the admin application about a field. */
export type FieldAdmin = Omit<AdminConfig, 'condition'> & { condition?: JsonObject };

/** Hints to the admin application about a global. `preview` is a URL with `{token}` in it. */
export type GlobalAdmin = { group?: string; description?: string; hidden?: true; preview?: string };

/** Hints to the admin application about a collection. */
export type CollectionAdmin = GlobalAdmin & {
  useAsTitle?: string;
  searchFields?: string[];
  icon?: string;
  pageSize?: number;
  defaultSort?: string;
  defaultColumns?: string[];
};

/** A field that holds data: anything but `row`, which only lays out the fields inside it. */
export type DataField = FieldSchema & { name: string };

declare const categories: unique symbol;

/**
 * The name under which the streams of a collection are recorded, which no rename changes: the slug that it began with.
 * Read tables, unique values and the vault know it by this name. That of a global is `globals`.
 */
export type Category = string & { readonly [categories]: true };

/** A collection as plain data. */
export type CollectionSchema = {
  slug: string;
  /** The slug that it had before. */
  renamedFrom?: string;
  /** Absent where it is the slug. Not the author's: it follows from the schemas of the log. */
  category?: Category;
  labels?: { singular: string; plural: string };
  fields: FieldSchema[];
  auth?: true;
  upload?: { maxFileSize: number; mimeTypes?: string[] };
  history?: 'public';
  requireReason?: true;
  admin?: CollectionAdmin;
};

/** A global as plain data. */
export type GlobalSchema = { slug: string; label?: string; fields: FieldSchema[]; admin?: GlobalAdmin };

/** The whole normalised schema: what `schema.changed` records and what the read tables are made from. */
export type Schema = { collections: CollectionSchema[]; globals: GlobalSchema[] };

/**
 * The rules and hooks of a configuration by their names, in the order of these: the SHA-256 of each one's source text
 * as hexadecimal digits, and the author's words. `schema.changed` records them beside the schema.
 */
export type Rules = { [name: string]: { sha256: string; description?: string } };

/** The category of a collection. */
export function categoryOf({ slug, category }: Pick<CollectionSchema, 'slug' | 'category'>): Category {
  return category ?? (slug as Category);
}

/** The category of globals. */
export const globalsCategory = 'globals' as Category;

/** True for what has members, which lists have not. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A member of an object; undefined where it only inherits one, as every object does `constructor`. */
export function memberOf(values: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** The fields that hold data, with those inside `row` lifted to where their values are. */
export function dataFields(fields: readonly FieldSchema[]): DataField[] {
  const result: DataField[] = [];
  for (const field of fields) {
    if (field.type === 'row') result.push(...dataFields(field.fields ?? []));
    else if (isNamed(field)) result.push(field);
  }
  return result;
}

function isNamed(field: FieldSchema): field is DataField {
  return field.name !== undefined;
}
