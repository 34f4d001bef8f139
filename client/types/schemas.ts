import type { CollectionAdmin, GlobalAdmin, RichTextOptions, ShownDrafts, ShownField } from '../../config/schema.ts';

export type { FieldType } from '../../config/field-types.ts';
export type { Operator } from '../../config/operators.ts';
export type { CollectionAdmin, FieldAdmin, GlobalAdmin, RichTextFeature } from '../../config/schema.ts';

/** A configured field, without functions. Options that are not set are absent. */
export type FieldSchema = ShownField;

/** A configured collection. `access` is present for users: their rights. */
export type CollectionSchema = {
  slug: string;
  /** The first slug of the collection, under which its streams are recorded. */
  category: string;
  labels: { singular: string; plural: string } | null;
  auth: boolean;
  upload: false | { maxFileSize: number; mimeTypes?: string[] };
  /** The options of drafts; absent without drafts. */
  drafts?: ShownDrafts;
  history: 'public' | null;
  requireReason: boolean;
  admin: CollectionAdmin;
  fields: FieldSchema[];
  access?: { read: boolean; create: boolean; update: boolean; delete: boolean } & DraftRights;
};

/** A configured global. */
export type GlobalSchema = {
  slug: string;
  label: string | null;
  admin: GlobalAdmin;
  fields: FieldSchema[];
  /** The options of drafts; absent without drafts. */
  drafts?: ShownDrafts;
  access?: { read: boolean; update: boolean } & DraftRights;
};

/** The rights to drafts; absent without drafts. */
type DraftRights = { readDrafts?: boolean; publish?: boolean };

/** A right to the history. */
export type AuditScope = 'headers' | 'payloads' | 'export';

/**
 * The whole configuration. `limits` and `version` are present for callers with a credential, `user` too: `audit` lists
 * their rights to the history, `keys` is true if they may manage API keys, `erase` if they may erase some documents.
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
 * An index that slow reads lacked: the index of a field, given by its path, or null for the index of words that `q`
 * searches. `slowest` is in milliseconds.
 */
export type MissingIndex = { collection: string; field: string | null; reads: number; slowest: number; lastAt: string };
