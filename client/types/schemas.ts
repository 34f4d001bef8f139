import type { CollectionAdmin, GlobalAdmin, RichTextOptions, ShownField } from '../../config/schema.ts';

export type { FieldType } from '../../config/field-types.ts';
export type { Operator } from '../../config/operators.ts';
export type { CollectionAdmin, FieldAdmin, GlobalAdmin, RichTextFeature } from '../../config/schema.ts';

/** A field as it is configured, without functions. Options that are not set are absent. */
export type FieldSchema = ShownField;

/** A collection as it is configured; `access` is there for users. */
export type CollectionSchema = {
  slug: string;
  /** The slug that it began with: its streams are recorded under it. */
  category: string;
  labels: { singular: string; plural: string } | null;
  auth: boolean;
  upload: false | { maxFileSize: number; mimeTypes?: string[] };
  history: 'public' | null;
  requireReason: boolean;
  admin: CollectionAdmin;
  fields: FieldSchema[];
  access?: { read: boolean; create: boolean; update: boolean; delete: boolean };
};

/** A global as it is configured. */
export type GlobalSchema = {
  slug: string;
  label: string | null;
  admin: GlobalAdmin;
  fields: FieldSchema[];
  access?: { read: boolean; update: boolean };
};

/** A part of the history that a caller may see. */
export type AuditScope = 'headers' | 'payloads' | 'export';

/**
 * All that is configured; `user`, `limits` and `version` are for callers with a credential; `keys`: they manage API
 * keys; `erase`: they may erase some documents.
 */
export type Schemas = {
  collections: CollectionSchema[];
  globals: GlobalSchema[];
  admin: { title: string; logo: string | null } | null;
  richText: RichTextOptions | null;
  user?: { audit: AuditScope[]; keys: boolean; erase: boolean };
  limits?: { body: number; bulkBody: number };
  version?: string;
  missingIndexes?: MissingIndex[];
};

/**
 * An index that reads were without which took long: of a field, by its path, or with null of the words that `q` looks
 * for. `slowest` are milliseconds.
 */
export type MissingIndex = { collection: string; field: string | null; reads: number; slowest: number; lastAt: string };
