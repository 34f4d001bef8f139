/** One page of a list. */
export type Page<Document> = {
  docs: Document[];
  total: number;
  limit: number;
  page: number;
  totalPages: number;
  hasNextPage: boolean;
  hasPrevPage: boolean;
  nextPage: number | null;
  prevPage: number | null;
};

/** The answer to a login. */
export type Login<User> = { token: string; user: User };

/** Whether what was asked for is on its way. */
export type Success = { success: boolean; message: string };

/** The cause of an event. */
export type Actor = { type: 'user' | 'apiKey' | 'system' | 'anonymous'; id?: string };

/** One version of a document or global; `reason` and `changed` are for who may see payloads. */
export type Version = {
  version: number;
  position: number;
  type: string;
  recordedAt: string;
  actor: Actor;
  reason?: string | null;
  changed?: string[];
  erased?: true;
};

/** Where a document or global stands: its newest version, and the position of that in the log. */
export type StreamState = { stream: string; exists: boolean; erased: boolean; version: number; position: number };

/** Versions, oldest first; `next` is the `after` of the next ones, null at the end. */
export type Versions = { versions: Version[]; next: number | null };

/** The state that a restore goes back to: a version, or the state when the log stood at a position. */
export type RestoreSource = { version: number } | { position: number };

/** The effect that a restore would have. */
export type RestorePlan = {
  source: { version: number; position: number };
  diff: { field: string; before: unknown; after: unknown }[];
  dangling: { field: string; id: string }[];
  conflicts: { field: string; id?: string }[];
};

/** A field as it is configured, without functions. */
export type FieldSchema = { name?: string; type: string; fields?: FieldSchema[]; [option: string]: unknown };

/** A collection as it is configured; `access` is there for users. */
export type CollectionSchema = {
  slug: string;
  labels: { singular?: string; plural?: string } | null;
  auth: boolean;
  upload: false | { maxFileSize: number; mimeTypes?: string[] };
  fields: FieldSchema[];
  access?: { read: boolean; create: boolean; update: boolean; delete: boolean };
};

/** A global as it is configured. */
export type GlobalSchema = {
  slug: string;
  label: string | null;
  fields: FieldSchema[];
  access?: { read: boolean; update: boolean };
};

/** All that is configured. */
export type Schemas = { collections: CollectionSchema[]; globals: GlobalSchema[] };
