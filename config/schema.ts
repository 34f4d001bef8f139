import type { AdminConfig } from './define-admin.ts';
import type { FieldType } from './field-types.ts';

/** A JSON value, as `JSON.parse` returns it. */
export type Json = null | boolean | number | string | Json[] | JsonObject;

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

/**
 * A field as plain data, without its functions. Options that are not set are absent, so that two configurations with
 * the same meaning give the same JSON.
 */
export type FieldSchema = {
  /** Absent only for a `row`. */
  name?: string;
  type: FieldType;
  label?: string;
  required?: true;
  unique?: true;
  index?: true;
  /** Callers may filter and sort by the stored value, although a read hook shows them another value. */
  queryable?: true;
  /** A constant default. A default function is not data, so only the model has it. */
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
  /** For a `join`: the collection whose field `on` points to the document. */
  collection?: string;
  on?: string;
  /** For a `join`: the maximum number of documents in its list, and their order. */
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
  /** Whether a missing value gets a default. Absent only for a `row`. */
  hasDefault?: boolean;
  /** The rights of the user; absent for other callers, and for a `row`. */
  access?: { read: boolean; create: boolean; update: boolean };
};

/** The features of a rich text editor. */
export type RichTextOptions = { features: RichTextFeature[] };

/** The features of a rich text editor, named after the nodes and marks of ProseMirror that they make. */
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

/** A field that holds data: any field but a `row`, which only arranges its fields. */
export type DataField = FieldSchema & { name: string };

declare const categories: unique symbol;

/**
 * The name under which the streams of a collection are recorded: its first slug, which no rename changes. Read tables,
 * unique values and the vault use this name too. The category of a global is `globals`.
 */
export type Category = string & { readonly [categories]: true };

/** A collection as plain data. */
export type CollectionSchema = {
  slug: string;
  /** The previous slug of the collection. */
  renamedFrom?: string;
  /** Absent if it equals the slug. Authors do not write it: it follows from the schemas in the log. */
  category?: Category;
  labels?: { singular: string; plural: string };
  fields: FieldSchema[];
  auth?: true;
  upload?: { maxFileSize: number; mimeTypes?: string[] };
  drafts?: DraftsSchema;
  history?: 'public';
  requireReason?: true;
  admin?: CollectionAdmin;
};

/** A global as plain data. */
export type GlobalSchema = {
  slug: string;
  label?: string;
  fields: FieldSchema[];
  drafts?: DraftsSchema;
  admin?: GlobalAdmin;
};

/**
 * The options of drafts; true for the defaults. `validate`: drafts are validated like public documents. `publishedAt`:
 * the field that gets the time of the first publication.
 */
export type DraftsSchema = true | { validate?: true; publishedAt?: string };

/** The options of drafts as `/api/schemas` shows them. */
export type ShownDrafts = { validate: boolean; publishedAt: string | null };

/** The whole normalised schema. `schema.changed` records it, and the read tables are made from it. */
export type Schema = { collections: CollectionSchema[]; globals: GlobalSchema[] };

/**
 * The rules and hooks of a configuration, by name and sorted by name: the SHA-256 of each source text in hexadecimal
 * digits, and the description. `schema.changed` records them beside the schema.
 */
export type Rules = { [name: string]: { sha256: string; description?: string } };

/** The category of a collection. */
export function categoryOf({ slug, category }: Pick<CollectionSchema, 'slug' | 'category'>): Category {
  return category ?? (slug as Category);
}

/** The category of globals. */
export const globalsCategory = 'globals' as Category;

/** True for an object that is not a list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of an object; undefined for an inherited one such as `constructor`. */
export function memberOf(values: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

/** The fields that hold data. The fields of a `row` are lifted to the level of their values. */
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
